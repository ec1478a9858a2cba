import { parseArgs } from 'node:util';
import { nearestName } from '#domain/nearest-name.ts';
import type { Reelwright } from '../clients/typescript/src/index.ts';
import { UsageError } from './exit-codes.ts';
import type { Input } from './input.ts';
import type { Output } from './output.ts';
import type { Env, Server } from './settings.ts';

/** An option: a flag, or one that takes a value, whose name help shows. */
export interface OptionRow {
  /** The name of its value; without one it is a flag. */
  readonly value?: string;
  /** Whether it may be given several times. */
  readonly isMany?: boolean;
  readonly short?: string;
  /** Its values, where they are words of a list. */
  readonly words?: readonly string[];
  readonly doc: string;
}

/** The words that a shell completes by asking the service or the configuration file (`reelwright complete`). */
export const completed = ['jobs', 'media', 'rollouts', 'servers'] as const;
export type Completed = (typeof completed)[number];

/** The means of a command; the service is only looked up when a command asks for it. */
export interface Context {
  readonly args: readonly string[];
  readonly options: Options;
  readonly env: Env;
  readonly input: Input;
  readonly output: Output;
  /** Aborted by Ctrl-C. */
  readonly signal: AbortSignal;
  readonly server: () => Promise<Server>;
  readonly client: () => Promise<Reelwright>;
}

/** A row of the table of commands. */
export interface Command {
  /** One word, or two with a blank between them. */
  readonly name: string;
  /** Its arguments, as help shows them. */
  readonly args: string;
  readonly argsMin: number;
  readonly argsMax: number;
  /** The kind of its first argument, where a shell can complete it. */
  readonly completes?: Completed;
  /** Whether help and completion leave it out. */
  readonly isHidden?: boolean;
  /** One sentence. */
  readonly doc: string;
  /** Further lines of its help. */
  readonly more?: string;
  /** An example, without the `reelwright ` before it. */
  readonly example: string;
  readonly options: Readonly<Record<string, OptionRow>>;
  /** The exit code, when it is not 0. */
  readonly run: (context: Context) => Promise<number | void>;
}

/** Options of every command. */
export const sharedOptions: Readonly<Record<string, OptionRow>> = {
  json: { doc: 'print one JSON document; errors are JSON on standard error' },
  server: { value: 'NAME', short: 'S', doc: 'a server of the configuration file, in place of its default' },
  help: { short: 'h', doc: 'print this text' },
};

/** The options of a call by name. */
export class Options {
  readonly #values: Readonly<Record<string, unknown>>;

  constructor(values: Readonly<Record<string, unknown>>) {
    this.#values = values;
  }

  text(name: string): string | undefined {
    const value = this.#values[name];
    return typeof value === 'string' ? value : undefined;
  }

  all(name: string): readonly string[] {
    const value = this.#values[name];
    return Array.isArray(value) ? (value as string[]) : [];
  }

  flag(name: string): boolean {
    return this.#values[name] === true;
  }

  /** @throws UsageError that names the option when it is not a whole number in the bounds */
  whole(name: string, min: number, max: number): number | undefined {
    const given = this.text(name);
    if (given === undefined) return undefined;
    const value = /^-?\d{1,15}$/.test(given) ? Number(given) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new UsageError(`--${name}: expected a whole number from ${min} to ${max}, found ${JSON.stringify(given)}`);
  }

  /** @throws UsageError that names the option when it is not one of these */
  word<Word extends string>(name: string, words: readonly Word[]): Word | undefined {
    const given = this.text(name);
    const found = words.find((word) => word === given);
    if (given === undefined || found !== undefined) return found;
    const near = nearestName(given, words);
    const hint = near === null ? '' : `; did you mean ${near}?`;
    throw new UsageError(`--${name}: expected one of ${words.join(', ')}, found ${JSON.stringify(given)}${hint}`);
  }
}

/** A command that was named, with what follows its name. */
export interface Call {
  readonly command: Command;
  readonly rest: readonly string[];
}

/** Commands whose help is asked for: all of them, those of a group, or one. */
export interface HelpCall {
  readonly helpOf: readonly Command[];
}

/** The command that the arguments name, or the help that they ask for. @throws UsageError for an unknown command */
export function findCommand(argv: readonly string[], commands: readonly Command[]): Call | HelpCall {
  const [first = '--help', second = ''] = argv;
  if (first === 'help') return { helpOf: namedBy(argv.slice(1), commands) };
  if (first === '--help' || first === '-h') return { helpOf: commands };
  const command =
    commands.find(({ name }) => name === `${first} ${second}`) ?? commands.find(({ name }) => name === first);
  if (command !== undefined) return { command, rest: argv.slice(command.name.split(' ').length) };
  const isHelp = second === '' || second === '--help' || second === '-h';
  const group = namedBy(isHelp ? [first] : [first, second], commands);
  return { helpOf: group };
}

/** The commands of a name: one, or those of a group. @throws UsageError with the nearest name where there is none */
function namedBy(words: readonly string[], commands: readonly Command[]): readonly Command[] {
  const named = words.filter((word) => !word.startsWith('-')).join(' ');
  if (named === '') return commands;
  const found = commands.filter(({ name }) => name === named || name.startsWith(`${named} `));
  if (found.length > 0) return found;
  const names = commands
    .filter(({ isHidden }) => isHidden !== true)
    .flatMap(({ name }) => [name, name.split(' ')[0] ?? '']);
  const [first = ''] = words;
  const near = nearestName(named, names) ?? nearestName(first, names);
  throw new UsageError(`no command ${named}${near === null ? '; see reelwright --help' : `; did you mean ${near}?`}`);
}

/** The arguments and options of a call. @throws UsageError that says what is wrong */
export function readCall({ command, rest }: Call): { readonly args: readonly string[]; readonly options: Options } {
  const rows = { ...command.options, ...sharedOptions };
  const options = Object.fromEntries(
    Object.entries(rows).map(([name, { value, isMany = false, short }]) => [
      name,
      { type: value === undefined ? 'boolean' : 'string', multiple: isMany, ...(short === undefined ? {} : { short }) },
    ]),
  ) as NonNullable<Parameters<typeof parseArgs>[0]>['options'] & object;
  try {
    const { values, positionals } = parseArgs({ args: [...rest], options, allowPositionals: true });
    return { args: positionals, options: new Options(values) };
  } catch (error) {
    throw new UsageError(`${command.name}: ${unknownOption(error as Error, Object.keys(rows))}`);
  }
}

/** @throws UsageError unless the command takes so many arguments */
export function checkArgs({ name, args, argsMin, argsMax }: Command, given: readonly string[]): void {
  if (given.length >= argsMin && given.length <= argsMax) return;
  const expected = args === '' ? 'no argument' : args;
  throw new UsageError(`${name}: expected ${expected}, found ${given.length === 0 ? 'nothing' : given.join(' ')}`);
}

function unknownOption({ message }: Error, names: readonly string[]): string {
  const [, given] = /Unknown option '-*([^'=]+)/.exec(message) ?? [];
  if (given === undefined) return message.split('. ')[0] ?? message;
  const near = nearestName(given, names);
  return `no option --${given}${near === null ? `; see reelwright … --help` : `; did you mean --${near}?`}`;
}

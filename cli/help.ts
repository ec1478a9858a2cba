import { type Command, type OptionRow, sharedOptions } from './command.ts';

// `--help`: of the program, and of each command with its example.

export function helpOf(command: Command): string {
  const { name, args, doc, more, example, options } = command;
  return [
    `usage: reelwright ${[name, args].filter(Boolean).join(' ')} [options]`,
    '',
    doc,
    ...(more === undefined ? [] : ['', more]),
    '',
    'options:',
    ...columns(Object.entries({ ...options, ...sharedOptions }).map(([option, row]) => [formOf(option, row), row.doc])),
    '',
    'example:',
    `  reelwright ${example}`,
    '',
  ].join('\n');
}

/** The help of one command, or a list of several. */
export function helpOfAll(commands: readonly Command[]): string {
  const [first] = commands;
  return commands.length === 1 && first !== undefined ? helpOf(first) : helpOfProgram(commands);
}

export function helpOfProgram(commands: readonly Command[]): string {
  const shown = commands.filter(({ isHidden }) => isHidden !== true);
  return [
    'usage: reelwright COMMAND [options]',
    '',
    'commands:',
    ...columns(shown.map(({ name, args, doc }) => [`${name} ${args}`.trimEnd(), doc])),
    '',
    'The service is the one that `reelwright login` has saved, or REELWRIGHT_URL with REELWRIGHT_API_KEY.',
    '`reelwright COMMAND --help` shows its options and an example; docs/guides/cli.md has the exit codes.',
    '',
  ].join('\n');
}

function formOf(name: string, { value, short }: OptionRow): string {
  return `${short === undefined ? '    ' : `-${short}, `}--${name}${value === undefined ? '' : ` ${value}`}`;
}

function columns(rows: readonly (readonly [string, string])[]): string[] {
  const width = Math.max(...rows.map(([first]) => first.length));
  return rows.map(([first, second]) => `  ${first.padEnd(width)}  ${second}`);
}

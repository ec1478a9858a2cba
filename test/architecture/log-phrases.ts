import type { SourceFile } from '../../testing/imports.ts';

// Finds the log calls of a source file and their phrases by reading the text; the files are formatted by prettier.

export type LogLevel = 'info' | 'warn' | 'error' | 'fatal';

/** One log call of the source. */
export interface LogCall {
  readonly place: string;
  readonly level: LogLevel;
  /** More than one where the call chooses; empty where the phrase is no string literal. */
  readonly phrases: readonly string[];
}

const call = /\blog(?:ger)?\??\.(info|warn|error|fatal)\(/gi;

/** Every call of a logger above the level `debug`. */
export function logCallsOf({ path, text }: SourceFile): LogCall[] {
  return [...text.matchAll(call)].map((match) => {
    const begin = match.index + match[0].length;
    const line = text.slice(0, match.index).split('\n').length;
    return { place: `${path}:${line}`, level: match[1] as LogLevel, phrases: phrasesOf(argumentsAt(text, begin)) };
  });
}

/** The arguments of a call, separated at its own commas. */
function argumentsAt(text: string, begin: number): string[] {
  const found = [''];
  let depth = 0;
  let quote = '';
  for (let index = begin; index < text.length; index += 1) {
    const character = text.charAt(index);
    const isEscaped = text.charAt(index - 1) === '\\';
    if (quote !== '') {
      if (character === quote && !isEscaped) quote = '';
    } else if ('\'"`'.includes(character)) quote = character;
    else if ('([{'.includes(character)) depth += 1;
    else if (')]}'.includes(character)) depth -= 1;
    if (depth < 0) return found;
    if (character === ',' && depth === 0 && quote === '') found.push('');
    else found[found.length - 1] += character;
  }
  return found;
}

/** The phrases of the last argument: a string, or a choice between strings. Nothing for a template with variables. */
function phrasesOf(args: readonly string[]): string[] {
  const last = args.findLast((argument) => argument.trim() !== '') ?? '';
  const chosen = /\?\s*(?<a>'(?:[^'\\]|\\.)*')\s*:\s*(?<b>'(?:[^'\\]|\\.)*')\s*$/.exec(last)?.groups;
  const literals = chosen === undefined ? [last.trim()] : [chosen['a'] ?? '', chosen['b'] ?? ''];
  return literals.flatMap((literal) =>
    /^(['"]).*\1$/s.test(literal) ? [literal.slice(1, -1).replaceAll("\\'", "'")] : [],
  );
}

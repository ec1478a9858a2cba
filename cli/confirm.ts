import { createInterface } from 'node:readline/promises';
import type { Context } from './command.ts';
import { UsageError } from './exit-codes.ts';

interface Question {
  /** The word that a person has to type. */
  readonly expected: string;
  /** The purpose that it confirms, such as `to delete it`. */
  readonly purpose: string;
  /** The text of the refusal, such as `nothing was deleted`. */
  readonly otherwise: string;
}

/** Asks on a terminal unless there is `--yes`. @throws UsageError unless a person types what is expected */
export async function confirm({ options, output, signal }: Context, question: Question): Promise<void> {
  if (options.flag('yes')) return;
  const { expected, purpose, otherwise } = question;
  const refused = new UsageError(`${otherwise}: expected ${expected} as confirmation, or --yes`);
  if (!output.isWatched || !process.stdin.isTTY) throw refused;
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    if ((await terminal.question(`Type ${expected} ${purpose}: `, { signal })) !== expected) throw refused;
  } finally {
    terminal.close();
  }
}

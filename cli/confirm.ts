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
export async function confirm({ options, input, output, signal }: Context, question: Question): Promise<void> {
  if (options.flag('yes')) return;
  const { expected, purpose, otherwise } = question;
  const refused = new UsageError(`${otherwise}: expected ${expected} as confirmation, or --yes`);
  if (!output.isWatched || !input.isTerminal) throw refused;
  if ((await input.ask(`Type ${expected} ${purpose}: `, signal)) !== expected) throw refused;
}

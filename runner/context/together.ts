import type { StepContext } from './step-context.ts';

type Part<T = unknown> = (context: StepContext) => Promise<T>;
type ResultsOf<Parts extends readonly Part[]> = { [Index in keyof Parts]: Awaited<ReturnType<Parts[Index]>> };

/** Runs parts of a step at once. The failure of one stops the others, and is thrown once all have ended. */
export async function together<const Parts extends readonly Part[]>(
  context: StepContext,
  ...parts: Parts
): Promise<ResultsOf<Parts>> {
  const failed = new AbortController();
  const signal = AbortSignal.any([context.signal, failed.signal]);
  const run = async (part: Part): Promise<unknown> => {
    try {
      return await part({ ...context, signal });
    } catch (error) {
      // The first failure is the reason; what the others then throw follows from it.
      failed.abort(error);
      throw error;
    }
  };
  const all = parts.map(run);
  await Promise.allSettled(all);
  failed.signal.throwIfAborted();
  return (await Promise.all(all)) as ResultsOf<Parts>;
}

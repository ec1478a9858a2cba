import { ReelwrightError } from '../clients/typescript/src/index.ts';
import type { Context } from './command.ts';
import { idText } from './job-id.ts';
import { bar } from './progress.ts';

/** A job whose state did not allow what was asked. */
export interface Refusal {
  readonly job_id: string;
  readonly code: string;
  readonly detail: string;
}

/** Acts on one job after the other, with a bar. Jobs that refuse are named and returned; any other error ends it. */
export async function forEachJob(
  { output, signal }: Pick<Context, 'output' | 'signal'>,
  jobs: readonly { readonly job_id: string }[],
  act: (id: string) => Promise<unknown>,
): Promise<readonly Refusal[]> {
  const refused: Refusal[] = [];
  for (const [index, { job_id: id }] of jobs.entries()) {
    signal.throwIfAborted();
    output.bar(`${bar(index / jobs.length)} ${index} of ${jobs.length}`);
    try {
      await act(id);
    } catch (error) {
      // What became of a job meanwhile is no reason to leave the others.
      if (!(error instanceof ReelwrightError) || ![404, 409].includes(error.status)) throw error;
      refused.push({ job_id: id, code: error.code, detail: error.detail });
      output.note(`${idText(id, output)}: ${error.detail}`);
    }
  }
  return refused;
}

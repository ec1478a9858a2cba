import { z } from 'zod';
import { warningSchema } from '../job-types/shared-results.ts';
import { jobErrorSchema } from '../job-error.ts';
import { jobPhaseSchema } from '../jobs/status.ts';
import { parseJson } from '../parse-json.ts';
import { stepRunsSchema } from './unit-run.ts';

/**
 * Reports: one JSON object a line on a step's stdout. Progress may be lost. A step that fails says why in its last
 * line, `result`, and by its exit code.
 */
export const reportSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('phase'), phase: jobPhaseSchema }),
  /** `fraction` of the phase that is done, 0–1. */
  z.object({ type: z.literal('progress'), phase: jobPhaseSchema, fraction: z.number().min(0).max(1) }),
  z.object({ type: z.literal('warning'), warning: warningSchema }),
  /** `steps`: what the runner has run so far, of which the last one runs; what is known of one that is killed. */
  z.object({ type: z.literal('used'), steps: stepRunsSchema }),
  /** `steps`: what the runner ran. */
  z.object({ type: z.literal('result'), error: jobErrorSchema.nullable(), steps: stepRunsSchema }),
]);
export type Report = z.infer<typeof reportSchema>;

/** Reads one line of a step's stdout; null for anything that is no report (a tool's chatter loses nothing). */
export function parseReport(line: string): Report | null {
  if (!line.startsWith('{')) return null;
  try {
    return reportSchema.safeParse(parseJson(line)).data ?? null;
  } catch {
    return null;
  }
}

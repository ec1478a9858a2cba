import { z } from 'zod';
import { boundedText } from '../text.ts';

/**
 * The plan of a retry of a `video:full` job (C15.12): one new job for each failed retryable stage, so that what is
 * `ready` is not made again.
 */
export const retryPlanSchema = z.object({
  allowed: z.boolean().describe('Whether a retry makes a job.'),
  strategy: z.literal('retry_tasks').describe('Only what failed is made again.'),
  job_types: z
    .array(z.enum(['video:cover', 'video:preview', 'video:transcode']))
    .max(3)
    .describe('The types of the jobs that a retry makes.'),
  stages: z
    .array(z.enum(['cover', 'preview', 'transcode']))
    .max(3)
    .describe('The stages that they make again.'),
  reason: boundedText(1000).describe('Why a retry does so, or why it is not allowed, for people.'),
});
export type RetryPlan = z.infer<typeof retryPlanSchema>;

/** The job type that redoes each stage. */
export const jobTypeOfStage = { cover: 'video:cover', preview: 'video:preview', transcode: 'video:transcode' } as const;

type Stage = keyof typeof jobTypeOfStage;
interface StageOutcome {
  readonly status: 'ready' | 'failed';
  readonly retryable?: boolean | undefined;
}

function refuse(reason: string): RetryPlan {
  return { allowed: false, strategy: 'retry_tasks', job_types: [], stages: [], reason };
}

/** The plan for what became of the stages; nothing is allowed when the source itself is at fault or nothing failed. */
export function planRetry(stages: Readonly<Record<Stage | 'source', StageOutcome>>): RetryPlan {
  const failed = (Object.keys(jobTypeOfStage) as Stage[]).filter((stage) => stages[stage].status === 'failed');
  if (stages.source.status === 'failed' && stages.source.retryable !== true)
    return refuse('A retry cannot help: the source is at fault. Upload it again.');
  if (failed.length === 0) return refuse('No stage failed.');
  const again = failed.filter((stage) => stages[stage].retryable === true);
  if (again.length === 0) return refuse('No failed stage can end differently with the same source.');
  return {
    allowed: true,
    strategy: 'retry_tasks',
    job_types: again.map((stage) => jobTypeOfStage[stage]),
    stages: again,
    reason: `Failed and worth another try: ${again.join(', ')}.`,
  };
}

import { z } from 'zod';
import type { PoolQueue } from '#domain/jobs/pool-queue.ts';
import { queueNames } from '#domain/jobs/routing.ts';
import { waitingReasonSchema } from '#domain/jobs/waiting.ts';
import { answers } from '#platform/http/route-doc.ts';
import { count, jobIdField, time } from './fields.ts';

const poolSchema = z.object({
  name: z
    .string()
    .describe('The RunnerPool.')
    .meta({ examples: ['default'] }),
  queue: z
    .enum(queueNames)
    .nullable()
    .describe('The queue that it serves; null for a pool that only some jobs ask for.'),
  running: count.describe('How many jobs run.').meta({ examples: [2] }),
  waiting: count.describe('How many of the counted jobs wait.').meta({ examples: [3] }),
  oldest_waiting_at: time.nullable().describe('When the oldest waiting job was accepted; null where none waits.'),
  reasons: z
    .array(
      waitingReasonSchema.extend({
        jobs: count.describe('How many jobs wait for it.').meta({ examples: [3] }),
        job_id: jobIdField.describe('The oldest of them.'),
      }),
    )
    .describe('Why they wait, what most of them wait for first.'),
});
export const poolListSchema = z
  .object({
    pools: z.array(poolSchema).describe('The pools of the queues, then others that jobs ask for.'),
    counted_max: count.describe('Counting stops at this many waiting jobs per queue.').meta({ examples: [2_000] }),
  })
  .register(answers, { id: 'PoolList' });

/** A pool as callers see it. */
export function poolToWire({
  name,
  queue,
  running,
  waiting,
  oldestWaitingAt,
  reasons,
}: PoolQueue): z.output<typeof poolSchema> {
  return {
    name,
    queue,
    running,
    waiting,
    oldest_waiting_at: oldestWaitingAt?.toISOString() ?? null,
    reasons: reasons.map(({ code, message, jobs, jobId }) => ({ code, message, jobs, job_id: jobId })),
  };
}

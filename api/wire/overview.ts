import { z } from 'zod';
import { jobErrorCodes } from '#domain/errors.ts';
import type { PoolQueue } from '#domain/jobs/pool-queue.ts';
import { answers } from '#platform/http/route-doc.ts';
import { countedMax, type Overview } from '#platform/postgres/overview.ts';
import { count, time } from './fields.ts';

const jobs = (status: string, example: number) =>
  count.describe(`How many of them are ${status} now.`).meta({ examples: [example] });

/** The answer of `GET /api/overview`. */
export const overviewSchema = z
  .object({
    at: time.describe('When it was read.'),
    jobs: z
      .object({
        queued: jobs('queued', 3),
        processing: jobs('running', 2),
        completed: jobs('completed', 120),
        failed: jobs('failed', 4),
        cancelled: jobs('cancelled', 1),
      })
      .describe('The jobs that were submitted in the last 24 hours.'),
    failures: z
      .array(
        z.object({
          code: z.enum(jobErrorCodes).describe('The code of the error.'),
          jobs: count.describe('How many of these jobs failed with it.').meta({ examples: [4] }),
        }),
      )
      .describe('The failed ones among them by code, the most first.'),
    minutes_made: z
      .number()
      .min(0)
      .describe('Minutes of the streams that they made, of the newest of each type.')
      .meta({ examples: [512.5] }),
    running: count.describe('How many jobs run in all pools.').meta({ examples: [2] }),
    oldest_waiting_at: time.nullable().describe('When the oldest waiting job was accepted; null where none waits.'),
    media: count.describe('How many media there are.').meta({ examples: [1_204] }),
    bytes_stored: count.describe('Bytes of the objects of the largest of them.').meta({ examples: [183_224_019] }),
    counted_max: z
      .object({
        jobs: count.describe('Of a status or code so many jobs are counted.').meta({ examples: [10_000] }),
        streams: count.describe('The lengths of so many streams of each type are added up.').meta({ examples: [500] }),
        media: count.describe('So many media are counted.').meta({ examples: [100_000] }),
      })
      .describe('Where counting stops: a number that reaches it stands for it or more.'),
  })
  .register(answers, { id: 'Overview' });

export function overviewToWire(
  overview: Overview,
  pools: readonly PoolQueue[],
  at: Date,
): z.output<typeof overviewSchema> {
  const waiting = pools.flatMap(({ oldestWaitingAt }) => oldestWaitingAt ?? []);
  const oldest = waiting.toSorted((one, other) => one.getTime() - other.getTime())[0];
  return {
    at: at.toISOString(),
    jobs: overview.jobs,
    failures: [...overview.failures],
    minutes_made: Math.round(overview.madeSec / 6) / 10,
    running: pools.reduce((sum, { running }) => sum + running, 0),
    oldest_waiting_at: oldest?.toISOString() ?? null,
    media: overview.media,
    bytes_stored: overview.mediaBytes,
    counted_max: countedMax,
  };
}

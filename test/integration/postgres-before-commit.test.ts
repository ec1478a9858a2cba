import { describe, expect, test } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import type { LockedJob } from '#platform/postgres/job-end.ts';
import { claimedJob, count, failure } from './postgres-fixtures.ts';
import { describeStores } from './postgres-servers.ts';

const init = 'videos/ab/movie/0123456789abcdef/video/r64_h264/init.mp4';
const results = { streaming: { protocol: 'hls' }, video_tracks: [{ init }] } as unknown as JobResults;
const completed = { status: 'completed', results, error: null } as const;

const rejecting = () => Promise.reject(new Error('storage is away'));

describeStores('finish with a callback before its commit', (stores) => {
  describe('the callback', () => {
    test('the callback runs once for the current attempt, while the job has not ended', async () => {
      const job = await claimedJob(stores.jobs);
      const calls: LockedJob[] = [];
      const ended = await stores.jobs.finish({
        ...failure(job.id, 1, completed),
        beforeCommit: async (locked) => {
          calls.push(locked);
          expect((await stores.jobs.find(job.id))?.status).toBe('processing');
        },
      });
      expect(ended?.status).toBe('completed');
      expect(calls).toEqual([{ hasNewerStream: false }]);
    });

    test('a callback that throws leaves the job unfinished and writes no webhook event', async () => {
      const job = await claimedJob(stores.jobs, { callbackUrl: 'https://example.com/hook' });
      await expect(stores.jobs.finish({ ...failure(job.id, 1, completed), beforeCommit: rejecting })).rejects.toThrow(
        'storage is away',
      );
      expect((await stores.jobs.find(job.id))?.status).toBe('processing');
      expect(await count(stores.database, 'webhook_events')).toBe(0);
    });

    test('a cancellation during the callback waits for it and then finds the job completed', async () => {
      const job = await claimedJob(stores.jobs);
      const order: string[] = [];
      let cancellation: Promise<unknown> | undefined;
      await stores.jobs.finish({
        ...failure(job.id, 1, completed),
        beforeCommit: async () => {
          cancellation = stores.jobs
            .finish(failure(job.id, 1, { status: 'cancelled' }))
            .then((ended) => order.push(`cancelled: ${ended !== null}`));
          await expect
            .poll(async () => {
              const { rows } = await stores.database.pool.query(
                `select from pg_stat_activity where wait_event_type = 'Lock' and datname = current_database()`,
              );
              return rows.length;
            })
            .toBe(1);
          order.push('published');
        },
      });
      await cancellation;
      expect(order).toEqual(['published', 'cancelled: false']);
    });

    test('an older job of a hash sees that a newer one has published its stream, also one that commits at the same time', async () => {
      const older = await claimedJob(stores.jobs);
      const newer = await claimedJob(stores.jobs, { hash: older.hash, source: 'uploads/newer.mp4' });
      const seen: [string, boolean][] = [];
      const finish = (id: string, name: string) =>
        stores.jobs.finish({
          ...failure(id, 1, completed),
          beforeCommit: ({ hasNewerStream }) => Promise.resolve(void seen.push([name, hasNewerStream])),
        });
      let olderEnd: Promise<unknown> | undefined;
      await stores.jobs.finish({
        ...failure(newer.id, 1, completed),
        beforeCommit: async () => {
          olderEnd = finish(older.id, 'older');
          await expect
            .poll(async () => {
              const { rows } = await stores.database.pool.query(
                `select from pg_locks where locktype = 'advisory' and not granted`,
              );
              return rows.length;
            })
            .toBe(1);
        },
      });
      await olderEnd;
      expect(seen).toEqual([['older', true]]);
    });
  });
});

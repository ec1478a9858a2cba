import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import {
  splitKey,
  chunkResultKey,
  chunkSourceKey,
  imageKey,
  masterKey,
  resultManifestKey,
  revisionOf,
  videoFolder,
  videoKey,
  workRoot,
} from '#domain/media/object-keys.ts';
import { masterPath } from '#domain/media/revision-layout.ts';
import { cleanupTask } from '../../controller/upkeep/cleanup.ts';
import { removeUnused } from '../../controller/upkeep/remove-objects.ts';
import { unfinishedMax } from '#platform/postgres/deletion-fence.ts';
import { openRig, type Rig } from '../../testing/controller-rig.ts';

const contentType = 'application/octet-stream';

describe.skipIf(!inject('postgres'))('cleanup of final jobs', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await openRig();
  });
  afterEach(async () => {
    await rig.close();
  });

  const keys = async () => {
    const found: string[] = [];
    for await (const { key } of rig.media.list('')) found.push(key);
    return found;
  };
  const put = (key: string, body = 'x') => rig.media.put(key, body, { contentType });

  /** A job at its second attempt whose two revisions and working objects are there. */
  async function twoAttempts() {
    const id = await rig.submit('ok', { ticket: false, type: 'video:transcode' });
    await rig.jobs.nextAttempt({ jobId: id, attempt: 1, countsAsFailure: true, delayMs: 0 });
    await rig.jobs.claim({ jobId: id, attempt: 2, owner: 'the test', leaseMs: 60_000 });
    const { hash } = await rig.find(id);
    const inRevision = (attempt: number) => videoKey(hash, revisionOf(id, attempt), 'video/r64_h264/init.mp4');
    for (const attempt of [1, 2]) await put(inRevision(attempt));
    await put(`${workRoot(id)}/chunk-1`);
    return { id, hash, inRevision };
  }

  async function end(id: string, results: unknown, error: ReturnType<typeof jobErrorOf> | null, attempt = 2) {
    await rig.jobs.finish({
      jobId: id,
      attempt,
      status: error === null ? 'completed' : 'failed',
      results: results as JobResults | null,
      error,
      eventId: randomUUID(),
      now: new Date(),
    });
    await rig.database.pool.query(`update jobs set finished_at = now() - interval '1 minute' where id = $1`, [id]);
  }

  /** A job that failed after one chunk of its chunked encode. */
  async function failedInChunks() {
    const rev = '0123456789abcdef';
    const { id, hash } = await twoAttempts();
    const record = chunkResultKey(rev, 0);
    await put(splitKey(id), JSON.stringify({ v: 1, rev, chunk_frames: [150] }));
    await put(record);
    await end(id, null, jobErrorOf('storage_error', 2));
    return { id, hash, record };
  }

  /** One round. */
  const sweep = (graceMs = 1_000) => cleanupTask({ ...rig, graceMs }).work(new AbortController().signal);

  it('cleanup keeps the objects that a completed job names and removes earlier revisions and working objects', async () => {
    const { id, inRevision } = await twoAttempts();
    await end(id, { video_tracks: [{ init: inRevision(2) }] }, null);
    await sweep();
    expect(await keys()).toEqual([inRevision(2)]);
  });

  it('deletions under locks leave most connections of the database to others', async () => {
    const released = Promise.withResolvers<void>();
    const hashes = Array.from({ length: 24 }, (_, n) => `video ${n % 12}`);
    const deletions = hashes.map((hash) => rig.fence.underLock(hash, () => released.promise));
    await expect(rig.database.pool.query('select 1')).resolves.toMatchObject({ rowCount: 1 });
    released.resolve();
    await Promise.all(deletions);
  });

  it('a process that was frozen after it asked who uses a page of objects removes none of it', async () => {
    onTestFinished(() => void vi.useRealTimers());
    const { id, hash, inRevision } = await twoAttempts();
    const prefix = videoFolder(hash, revisionOf(id, 1));
    const before = await keys();
    vi.useFakeTimers({ toFake: ['performance'] });
    const removal = (frozenMs: number) => {
      const isUsed = () => {
        vi.advanceTimersByTime(frozenMs);
        return Promise.resolve(false);
      };
      return removeUnused({ hash, prefix, isUsed }, rig);
    };
    await expect(removal(21_000)).rejects.toThrow('the lock of the hash was taken 21000 ms ago');
    expect(await keys()).toEqual(before);
    expect(await removal(15_000)).toBe(1);
    expect(await keys()).not.toContain(inRevision(1));
  });

  it('cleanup removes every revision of a job that failed without results', async () => {
    const { id, hash } = await twoAttempts();
    await put(imageKey(hash, revisionOf(id, 1), { variant: 'thumb', format: 'webp' }));
    await end(id, null, jobErrorOf('storage_error', 2));
    await sweep();
    expect(await keys()).toEqual([]);
  });

  it('cleanup removes the unfinished chunked encode of a failed job, unless another job may continue it, and keeps one that a job finished', async () => {
    const rev = '0123456789abcdef';
    const { id, hash } = await twoAttempts();
    await put(splitKey(id), JSON.stringify({ v: 1, rev, chunk_frames: [150, 150, 150] }));
    const [record, segment, master] = [chunkResultKey(rev, 0), 'video/r64_h264/seg_1.m4s', masterPath].map((key) =>
      key.startsWith('work/') ? key : videoKey(hash, rev, key),
    ) as [string, string, string];
    for (const key of [record, segment]) await put(key);
    await end(id, null, jobErrorOf('storage_error', 2));
    const retry = await rig.submit('retry', { ticket: false, type: 'video:transcode', hash });
    await sweep();
    expect(await keys()).toEqual(expect.arrayContaining([record, segment]));
    await rig.jobs.claim({ jobId: retry, attempt: 1, owner: 'the test', leaseMs: 60_000 });
    await end(retry, null, jobErrorOf('storage_error', 1), 1);
    await put(master);
    await rig.database.pool.query('update jobs set cleanup_after = null, stream_rev = case when id = $1 then $2 end', [
      retry,
      rev,
    ]);
    await sweep();
    expect((await keys()).toSorted()).toEqual([master, segment].toSorted());
  });

  it.each([
    ['removes', 'was cancelled before it said so', []],
    ['keeps', 'said so', [masterPath, 'video/r64_h264/seg_1.m4s']],
  ])('cleanup %s a chunked encode whose last part was written by a job that %s', async (_does, _when, left) => {
    const rev = '0123456789abcdef';
    const { id, hash } = await twoAttempts();
    await put(splitKey(id), JSON.stringify({ v: 1, rev, chunk_frames: [150] }));
    for (const path of [masterPath, 'video/r64_h264/seg_1.m4s']) await put(videoKey(hash, rev, path));
    if (left.length > 0) await put(resultManifestKey(id, 2), '{}');
    await end(id, null, jobErrorOf('cancelled', 2));
    await sweep();
    const kept = (await keys()).filter((key) => key.includes(rev));
    expect(kept.toSorted()).toEqual(left.map((path) => videoKey(hash, rev, path)).toSorted());
  });

  it('cleanup removes the chunked encodes of earlier attempts, which other tools or settings had made', async () => {
    const { id, hash } = await twoAttempts();
    const [rev, earlier] = ['0123456789abcdef', 'fedcba9876543210'];
    await put(splitKey(id), JSON.stringify({ v: 1, rev, earlier: [earlier], chunk_frames: [150] }));
    for (const each of [rev, earlier]) {
      await put(chunkSourceKey(each, 0));
      await put(videoKey(hash, each, 'video/r64_h264/seg_1.m4s'));
    }
    await end(id, null, jobErrorOf('internal', 2));
    await sweep();
    expect(await keys()).toEqual([]);
  });

  it('a chunked encode loses no further chunk once an equal job is submitted during its cleanup', async () => {
    const [rev, records] = ['0123456789abcdef', 2_500];
    const { id, hash } = await twoAttempts();
    await put(splitKey(id), JSON.stringify({ v: 1, rev, chunk_frames: [150] }));
    for (let chunk = 0; chunk < records; chunk++) await put(chunkResultKey(rev, chunk));
    await end(id, null, jobErrorOf('storage_error', 2));
    const remove = rig.media.delete.bind(rig.media);
    rig.media.delete = async (doomed) => {
      await remove(doomed);
      if (doomed.includes(chunkResultKey(rev, 0)))
        await rig.submit('retry', { ticket: false, type: 'video:full', hash });
    };
    await sweep();
    expect((await keys()).filter((key) => key.startsWith(`work/${rev}/`))).toHaveLength(records - 1_000);
    expect(await keys()).toContain(splitKey(id));
  });

  it('a chunked encode stays until an equal job has ended so long ago that no worker writes for it', async () => {
    const { id, hash, record } = await failedInChunks();
    const equal = await rig.submit('equal', { ticket: false, type: 'video:full', hash });
    await rig.jobs.claim({ jobId: equal, attempt: 1, owner: 'the test', leaseMs: 60_000 });
    await end(equal, null, jobErrorOf('storage_error', 1), 1);
    const endedAgo = (interval: string) =>
      rig.database.pool.query(
        `update jobs set cleanup_after = null,
           finished_at = now() - case when id = $1 then interval '1 hour' else $2::interval end`,
        [id, interval],
      );
    await endedAgo('20 minutes');
    await sweep(30 * 60_000);
    expect(await keys()).toContain(record);
    await endedAgo('40 minutes');
    await sweep(30 * 60_000);
    expect(await keys()).toEqual([]);
  });

  it('of a hash with too many unfinished jobs to look at, no chunked encode is removed', async () => {
    const { hash, record } = await failedInChunks();
    await rig.database.pool.query(
      `insert into jobs (id, type, hash, source, options, idempotency_key, queue)
       select gen_random_uuid(), 'image:thumbnail', $1, 'ok', '{}', 'image ' || n, 'default'
       from generate_series(0, $2::int) as n`,
      [hash, unfinishedMax],
    );
    await sweep();
    expect(await keys()).toContain(record);
    await rig.database.pool.query(`delete from jobs where idempotency_key = 'image 0'`);
    await rig.database.pool.query('update jobs set cleanup_after = null');
    await sweep();
    expect(await keys()).toEqual([]);
  });

  it.each(['waits', 'has just ended'])(
    'a hash that is always in use is cleaned up: no job of another source or type that %s defers a chunked encode',
    async (state) => {
      const { id, hash } = await failedInChunks();
      await rig.submit('another', { ticket: false, type: 'video:transcode', hash, sourceEtag: '"another"' });
      await rig.submit('image', { ticket: false, type: 'image:thumbnail', hash });
      if (state !== 'waits')
        await rig.database.pool.query(`update jobs set status = 'cancelled', finished_at = now() where id <> $1`, [id]);
      await sweep(30_000);
      expect(await keys()).toEqual([]);
    },
  );

  it('cleanup keeps the revision that the top master playlist names, also when its job failed', async () => {
    const { id, hash, inRevision } = await twoAttempts();
    const master = `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n${revisionOf(id, 1)}/video/r64_h264/playlist.m3u8\n`;
    await put(masterKey(hash), master);
    await end(id, null, jobErrorOf('storage_error', 2));
    await sweep();
    expect((await keys()).toSorted()).toEqual([inRevision(1), masterKey(hash)].toSorted());
  });

  it('cleanup keeps a revision with a result manifest, since it may have been public', async () => {
    const { id, inRevision } = await twoAttempts();
    await put(resultManifestKey(id, 1), '{}');
    await end(id, { video_tracks: [{ init: inRevision(2) }] }, null);
    await sweep();
    expect((await keys()).toSorted()).toEqual([inRevision(1), inRevision(2)].toSorted());
  });

  it('cleanup touches neither running jobs nor jobs that ended within the grace time', async () => {
    const running = await twoAttempts();
    const ended = await twoAttempts();
    await end(ended.id, null, jobErrorOf('storage_error', 2));
    const before = await keys();
    await sweep(3_600_000);
    expect(await keys()).toEqual(before);
    expect(before).toHaveLength(6);
    expect(await rig.find(running.id)).toMatchObject({ status: 'processing' });
  });
});

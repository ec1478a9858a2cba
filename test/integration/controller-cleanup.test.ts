import { randomUUID } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import {
  filmKey,
  filmRecordKey,
  imageKey,
  masterKey,
  resultManifestKey,
  revisionOf,
  videoKey,
  workRoot,
} from '#domain/media/object-keys.ts';
import { masterPath } from '#domain/media/revision-layout.ts';
import { cleanupComponent } from '../../controller/cleanup.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { openRig, type Rig, until } from '../../testing/controller-rig.ts';

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

  const componentOf = (graceMs: number) =>
    cleanupComponent({ ...rig, metrics: new Metrics(), everyMs: 60_000, graceMs });

  async function sweep(graceMs = 1_000) {
    const component = componentOf(graceMs);
    await component.start();
    if (graceMs < 60_000)
      await until(
        () => rig.cleanup.backlog(graceMs),
        (jobs) => jobs === 0,
      );
    else await new Promise((resolve) => setTimeout(resolve, 300));
    await component.stop(AbortSignal.timeout(1_000));
  }

  it('cleanup keeps the objects that a completed job names and removes earlier revisions and working objects', async () => {
    const { id, inRevision } = await twoAttempts();
    await end(id, { video_tracks: [{ init: inRevision(2) }] }, null);
    await sweep();
    expect(await keys()).toEqual([inRevision(2)]);
  });

  it('cleanup removes every revision of a job that failed without results', async () => {
    const { id, hash } = await twoAttempts();
    await put(imageKey(hash, revisionOf(id, 1), { variant: 'thumb', format: 'webp' }));
    await end(id, null, jobErrorOf('storage_error', 2));
    await sweep();
    expect(await keys()).toEqual([]);
  });

  it('cleanup removes the unfinished film of a failed job, unless another job may continue it, and keeps a finished one', async () => {
    const rev = '0123456789abcdef';
    const { id, hash } = await twoAttempts();
    await put(filmKey(id), JSON.stringify({ v: 1, rev, chunk_frames: [150, 150, 150] }));
    const [record, segment, master] = [filmRecordKey(rev, 0), 'video/r64_h264/seg_1.m4s', masterPath].map((key) =>
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
    await sweep();
    expect((await keys()).toSorted()).toEqual([master, segment].toSorted());
  });

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

  it('a job whose cleanup fails delays no other job, and one round cleans up any number of jobs', async () => {
    const bad = await twoAttempts();
    await end(bad.id, null, jobErrorOf('storage_error', 2));
    // More than two pages of jobs that ended later.
    await rig.database.pool.query(
      `insert into jobs (id, type, hash, source, options, idempotency_key, queue, status, attempt, finished_at)
       select gen_random_uuid(), type, 'h' || n, source, options, 'key ' || n, queue, status, 1,
         finished_at + interval '1 second'
       from jobs, generate_series(1, 250) n where id = $1`,
      [bad.id],
    );
    const remove = rig.media.delete.bind(rig.media);
    rig.media.delete = (doomed) =>
      doomed.some((key) => key.includes(bad.id)) ? Promise.reject(new Error('object locked')) : remove(doomed);
    const component = componentOf(1_000);
    await component.start();
    await until(
      () => rig.cleanup.backlog(1_000),
      (jobs) => jobs === 1,
    );
    await component.stop(AbortSignal.timeout(1_000));
    expect((await keys()).filter((key) => key.includes(bad.id))).toHaveLength(1);
    const { rows } = await rig.database.pool.query(
      'select cleanup_attempts, cleanup_after > now() as is_later from jobs where id = $1',
      [bad.id],
    );
    expect(rows).toEqual([{ cleanup_attempts: 1, is_later: true }]);
  });
});

import { createHash, randomUUID } from 'node:crypto';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, inject, it, vi } from 'vitest';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { KnownProblem } from '#domain/errors.ts';
import { exitCodes } from '#domain/exit-codes.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import type { Job } from '#domain/jobs/job.ts';
import { masterKey, resultManifestKey, revisionOf, videoKey } from '#domain/media/object-keys.ts';
import { manifestJson, type ManifestObject, type ResultManifest } from '#domain/work/manifest.ts';
import { revisionOfMaster } from '#domain/media/master-playlist.ts';
import { cancelJob } from '#jobs/submission/cancel.ts';
import { completeAttempt, completeByEarlierAttempt } from '#jobs/completion/complete-attempt.ts';
import { concludeAttempt } from '#jobs/completion/conclude-attempt.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { openRig, type Rig } from '../../testing/controller-rig.ts';
import { thumbnailResults } from '../contract/results.ts';

type Outcome = Omit<ResultManifest, 'objects'>;
type ManifestChanges = Partial<Outcome> & { readonly objects?: readonly ManifestObject[] };

describe.skipIf(!inject('postgres'))('the completion of an attempt', () => {
  let rig: Rig;
  let job: Job;
  beforeEach(async () => {
    rig = await openRig();
    const id = await rig.submit('ok', { ticket: false, callbackUrl: 'https://hooks.example/' });
    job = (await rig.jobs.claim({ jobId: id, attempt: 1, owner: 'the test', leaseMs: 60_000 })) as Job;
  });
  afterEach(async () => {
    vi.restoreAllMocks();
    await rig.close();
  });

  const complete = () => completeAttempt({ job, attempt: job.attempt }, dependenciesOf(rig));

  /** The manifest of a cover whose one object is there, with what a test changes of it. */
  async function leave({ objects, ...changes }: ManifestChanges = {}, body = 'cover'): Promise<void> {
    const rev = revisionOf(job.id, job.attempt);
    const key = videoKey(job.hash, rev, 'cover.jpg');
    if (body !== '') await rig.media.put(key, body, { contentType: 'image/jpeg' });
    const outcome: Outcome = {
      job_id: job.id,
      attempt: job.attempt,
      type: job.type,
      hash: job.hash,
      rev,
      status: 'completed',
      results: { key, format: 'jpg', size: 5, width: 2, height: 2, timestamp_sec: 0 },
      error: null,
      tool_version: '0.1.0',
      ...changes,
    };
    const cover = { key, size: 5, sha256: createHash('sha256').update('cover').digest('hex') };
    const manifest = manifestJson(outcome, objects ?? [cover]);
    await rig.media.put(resultManifestKey(job.id, job.attempt), manifest, { contentType: 'text/plain' });
  }

  const events = async () => {
    const { rows } = await rig.database.pool.query<{ body: string }>('select body from webhook_events');
    return rows.map(({ body }) => JSON.parse(body) as { status: string });
  };

  it('a completion records the results of the manifest together with the webhook event', async () => {
    await leave();
    expect(await complete()).toMatchObject({
      outcome: 'recorded',
      job: { status: 'completed', callbackStatus: 'pending' },
    });
    expect(await events()).toMatchObject([{ status: 'completed' }]);
  });

  it('one of eight completions at once records, and there is one webhook event', async () => {
    await leave();
    const outcomes = await Promise.all(Array.from({ length: 8 }, complete));
    expect(outcomes.filter(({ outcome }) => outcome === 'recorded')).toHaveLength(1);
    expect(outcomes.filter(({ outcome }) => outcome === 'not_current')).toHaveLength(7);
    expect(await events()).toHaveLength(1);
  });

  it('storage that does not answer decides nothing: the completion throws, and records once it answers', async () => {
    await leave();
    vi.spyOn(rig.media, 'get').mockRejectedValueOnce(new KnownProblem('storage_error', 'away'));
    await expect(complete()).rejects.toThrow('away');
    expect(await rig.find(job.id)).toMatchObject({ status: 'processing', attempt: 1 });
    expect(await complete()).toMatchObject({ outcome: 'recorded', job: { status: 'completed' } });
  });

  it('a job is completed by the last earlier attempt whose output is whole', async () => {
    await leave();
    const whole = job;
    for (const attempt of [2, 3]) {
      await rig.jobs.nextAttempt({ jobId: job.id, attempt: attempt - 1, countsAsFailure: false, delayMs: 0 });
      job = (await rig.jobs.claim({ jobId: job.id, attempt, owner: 'the test', leaseMs: 60_000 })) as Job;
      if (attempt === 2) await leave({}, '');
    }
    const completion = await completeByEarlierAttempt(job, dependenciesOf(rig));
    expect(completion).toMatchObject({ outcome: 'recorded', job: { status: 'completed', attempt: 3 } });
    const { results } = await rig.find(job.id);
    expect(results).toMatchObject({ key: videoKey(job.hash, revisionOf(whole.id, 1), 'cover.jpg') });
  });

  it('the completion of an attempt that is no longer the current one records nothing', async () => {
    await leave();
    await rig.jobs.nextAttempt({ jobId: job.id, attempt: 1, countsAsFailure: false, delayMs: 0 });
    expect(await complete()).toEqual({ outcome: 'not_current' });
    expect(await rig.find(job.id)).toMatchObject({ status: 'processing', attempt: 2 });
    expect(await events()).toEqual([]);
  });

  it.each([
    ['whose object is missing', {}, '', 'does not exist'],
    ['whose object has another size', {}, 'a longer cover', 'has 14 bytes, not 5'],
    ['of another job', { job_id: '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10' }, 'cover', 'another attempt'],
    ['of another revision', { rev: '0123456789abcdef' }, 'cover', 'another attempt'],
    ['of another type', { type: 'image:thumbnail' as const, results: thumbnailResults }, 'cover', 'another attempt'],
    ['whose results do not have the shape of the type', { results: { key: 'x' } }, 'cover', 'not valid'],
    ['that completed without results', { results: null }, 'cover', 'not valid'],
    [
      'with an object outside its revision',
      { objects: [{ key: 'videos/aa/other/0123456789abcdef/x', size: 1, sha256: '0'.repeat(64) }] },
      'cover',
      'outside its revision',
    ],
  ])('the completion of a manifest %s records nothing', async (_what, changes, body, reason) => {
    await rig.media.put('videos/aa/other/0123456789abcdef/x', 'x', { contentType: 'text/plain' });
    await leave(changes, body);
    expect(await complete()).toMatchObject({
      outcome: 'not_whole',
      reason: expect.stringContaining(reason) as string,
    });
    expect(await rig.find(job.id)).toMatchObject({ status: 'processing' });
  });

  it('a completion without a manifest, or with a broken one, records nothing', async () => {
    expect(await complete()).toMatchObject({ outcome: 'not_whole', reason: 'the attempt left no result manifest' });
    await rig.media.put(resultManifestKey(job.id, 1), '{"v":1', { contentType: 'text/plain' });
    expect(await complete()).toMatchObject({ outcome: 'not_whole' });
    expect(await events()).toEqual([]);
  });

  it('the completion of an output that is larger than any may be fails for good, and says so', async () => {
    await rig.media.put(resultManifestKey(job.id, 1), Buffer.alloc(65 * 1024 * 1024, ' '), {
      contentType: 'text/plain',
    });
    const completion = await complete();
    expect(completion).toMatchObject({ outcome: 'not_whole', error: { code: 'limit_exceeded', retryable: false } });
  });

  it('C12.12: a completion is repeated after a crash between the top master playlist and the transaction', async () => {
    const id = await rig.submit('ok', { ticket: false, type: 'video:transcode' });
    const worker = rig.startWorker();
    // The scripted runner leaves a whole revision; the first recording fails as if the process had ended there.
    const finish = rig.jobs.finish.bind(rig.jobs);
    let crashes = 1;
    rig.jobs.finish = (final) => (crashes-- > 0 ? Promise.reject(new Error('crash')) : finish(final));
    expect(await rig.finished(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
    expect(crashes).toBeLessThan(0);
    const { hash } = await rig.find(id);
    expect(await rig.media.head(masterKey(hash))).not.toBeNull();
    await worker.stop();
  });

  it('the completion of a failed manifest records its error and publishes nothing', async () => {
    await leave({ status: 'failed', results: null, error: jobErrorOf('corrupt_input', 1) });
    expect(await complete()).toMatchObject({
      outcome: 'recorded',
      job: { status: 'failed', error: { code: 'corrupt_input' } },
    });
    expect(await rig.media.head(masterKey(job.hash))).toBeNull();
  });

  const conclude = (failures: number, isOutage = false, end: AttemptEnd = { kind: 'done' }, isOfOtherVersion = false) =>
    concludeAttempt(
      { job: { ...job, failures }, end, units: [], isOfOtherVersion },
      {
        ...dependenciesOf(rig),
        queue: rig.queue,
        source: rig.source,
        log: createLogger({ level: 'silent', name: 'test' }),
        clock: () => new Date(),
        storageWatch: { isOutage: () => Promise.resolve(isOutage) },
        random: () => 0,
        attemptsMax: 3,
      },
    );

  it.each<[string, AttemptEnd, number]>([
    ['that is to be followed by another one', { kind: 'failed', exitCode: 1, error: null }, 0],
    ['that is the last one', { kind: 'failed', exitCode: 1, error: null }, 2],
    ['that was interrupted', { kind: 'disrupted' }, 0],
  ])('the end of an attempt %s changes nothing once it is not the current one', async (_what, end, failures) => {
    await rig.jobs.nextAttempt({ jobId: job.id, attempt: 1, countsAsFailure: false, delayMs: 0 });
    const next = await rig.find(job.id);
    expect(await conclude(failures, false, end)).toEqual({ kind: 'not_current' });
    expect(await rig.find(job.id)).toEqual(next);
    expect(await events()).toEqual([]);
  });

  it('a fault of the source ends its job while the storage is away, too', async () => {
    const end = { kind: 'failed', exitCode: exitCodes.permanent, error: jobErrorOf('corrupt_input', 1) } as const;
    expect(await conclude(0, true, end)).toMatchObject({ kind: 'ended', job: { error: { code: 'corrupt_input' } } });
  });

  it.each<[string, AttemptEnd]>([
    ['that left no manifest which this version reads', { kind: 'done' }],
    ['that failed by itself', { kind: 'failed', exitCode: 1, error: null }],
  ])('an attempt of another version %s costs no try, and is a disruption', async (_, end) => {
    expect(await conclude(2, false, end, true)).toMatchObject({ kind: 'again', countsAsFailure: false });
    expect(await rig.find(job.id)).toMatchObject({ attempt: 2, disruptions: 1 });
  });

  /** The end of a runner that found no source. */
  const missed = {
    kind: 'failed',
    exitCode: exitCodes.permanent,
    error: jobErrorOf('source_not_found', 1),
  } as const;

  it('C22.10: a source that is missing to the runner alone fails its attempt, and one that is missing its job', async () => {
    await rig.source.put(job.source, 'bytes', { contentType: 'video/mp4' });
    expect(await conclude(0, false, missed)).toMatchObject({ kind: 'again', countsAsFailure: true });
    await rig.source.delete([job.source]);
    job = await rig.find(job.id);
    expect(await conclude(0, true, missed)).toMatchObject({
      kind: 'ended',
      job: { error: { code: 'source_not_found' } },
    });
  });

  it('C22.10: a source that cannot be looked at is not missing, and costs nothing while the storage is away', async () => {
    vi.spyOn(rig.source, 'head').mockRejectedValue(new KnownProblem('storage_error'));
    expect(await conclude(2, true, missed)).toMatchObject({ kind: 'again', countsAsFailure: false });
  });

  const leaveFailed = (code: 'resource_exhausted' | 'storage_error' | 'corrupt_input') =>
    leave({ status: 'failed', results: null, error: jobErrorOf(code, 1) });

  describe('an attempt whose manifest says that it failed', () => {
    it('counts as a failure, and another follows, where the error need not last', async () => {
      await leaveFailed('resource_exhausted');
      expect(await conclude(1)).toMatchObject({ kind: 'again', countsAsFailure: true, code: 'resource_exhausted' });
      expect(await rig.find(job.id)).toMatchObject({ status: 'processing', attempt: 2 });
      expect(await events()).toEqual([]);
      // The next worker looks for the end of an earlier attempt, and finds none.
      const next = await rig.find(job.id);
      expect(await completeByEarlierAttempt(next, dependenciesOf(rig))).toBeNull();
    });

    it('ends the job with what it made after the last try', async () => {
      await leaveFailed('resource_exhausted');
      expect(await conclude(2)).toMatchObject({ kind: 'ended', job: { status: 'failed' } });
      expect(await events()).toMatchObject([{ status: 'failed' }]);
    });

    it('costs nothing while the storage is away, also at the last try', async () => {
      await leaveFailed('storage_error');
      expect(await conclude(2, true)).toMatchObject({ kind: 'again', countsAsFailure: false });
    });

    it('ends the job at once by a fault of the source', async () => {
      await leaveFailed('corrupt_input');
      expect(await conclude(0)).toMatchObject({ kind: 'ended', job: { error: { code: 'corrupt_input' } } });
    });
  });

  describe('the completion of a stream', () => {
    const masterText = '#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nvideo/r360_h264/playlist.m3u8\n';

    /** A transcode job that is claimed, and its whole revision with a result manifest. */
    async function transcoded(hash: string, { objects, ...changes }: ManifestChanges = {}): Promise<Job> {
      const id = await rig.submit('ok', { type: 'video:transcode', hash, ticket: false });
      const claimed = (await rig.jobs.claim({ jobId: id, attempt: 1, owner: 'the test', leaseMs: 60_000 })) as Job;
      const rev = revisionOf(id, 1);
      const key = videoKey(hash, rev, 'master.m3u8');
      await rig.media.put(key, masterText, { contentType: 'application/vnd.apple.mpegurl' });
      const outcome: Outcome = {
        job_id: id,
        attempt: 1,
        type: 'video:transcode',
        hash,
        rev,
        status: 'completed',
        results: transcodeResults(hash, rev),
        error: null,
        tool_version: '0.1.0',
        ...changes,
      };
      const master = { key, size: masterText.length, sha256: createHash('sha256').update(masterText).digest('hex') };
      const manifest = manifestJson(outcome, objects ?? [master]);
      await rig.media.put(resultManifestKey(id, 1), manifest, { contentType: 'application/json' });
      return claimed;
    }

    it('the completion of the current attempt publishes its top master playlist', async () => {
      const claimed = await transcoded('published');
      expect(await completeFirst(rig, claimed)).toMatchObject({ outcome: 'recorded' });
      expect(await publicRevision(rig, 'published')).toBe(revisionOf(claimed.id, 1));
    });

    it.each([
      ['another master playlist', { results: transcodeResults('other', 'r') }, 'the results name another'],
      ['no master playlist of the revision', { objects: [] }, 'the revision has no master playlist'],
    ])('a stream whose manifest names %s is not published', async (_what, changes, reason) => {
      const claimed = await transcoded('misnamed', changes);
      expect(await completeFirst(rig, claimed)).toMatchObject({
        outcome: 'not_whole',
        reason: expect.stringContaining(reason) as string,
      });
      expect(await publicRevision(rig, 'misnamed')).toBeNull();
    });

    it('one of a cancellation and a completion at once wins, and a cancelled job has no public stream', async () => {
      for (let round = 0; round < 10; round++) {
        const hash = `race-${round}`;
        const claimed = await transcoded(hash);
        const cancelling = cancelJob({ ...rig, randomUuid: () => randomUUID() }, claimed.id);
        await Promise.allSettled([completeFirst(rig, claimed), cancelling]);
        const { status } = await rig.find(claimed.id);
        const isPublic = (await publicRevision(rig, hash)) !== null;
        expect({ status, isPublic }).toEqual({ status, isPublic: status === 'completed' });
      }
    });

    it('a stream is published beside later jobs of its hash that have none', async () => {
      const stream = await transcoded('first-stream');
      const more = { hash: 'first-stream', ticket: false } as const;
      await rig.submit('waits', { ...more, type: 'video:full' });
      const cover = await rig.submit('cover', { ...more, type: 'video:cover' });
      await rig.jobs.claim({ jobId: cover, attempt: 1, owner: 'the test', leaseMs: 60_000 });
      const end = {
        attempt: 1,
        status: 'completed',
        results: {} as never,
        error: null,
        eventId: randomUUID(),
      } as const;
      await rig.jobs.finish({ jobId: cover, ...end });
      expect(await completeFirst(rig, stream)).toMatchObject({ outcome: 'recorded' });
      expect(await publicRevision(rig, 'first-stream')).toBe(revisionOf(stream.id, 1));
    });
  });
});

function dependenciesOf({ jobs, media }: Rig) {
  return { jobs, media, metrics: new Metrics(), randomUuid: () => randomUUID() };
}

function completeFirst(rig: Rig, job: Job) {
  return completeAttempt({ job, attempt: 1 }, dependenciesOf(rig));
}

/** The revision that the top master playlist of a media leads into; null when it has none. */
async function publicRevision({ media }: Rig, hash: string): Promise<string | null> {
  const master = await media.get(masterKey(hash));
  return master === null ? null : revisionOfMaster(await text(master.body));
}

function transcodeResults(hash: string, rev: string) {
  const at = (path: string) => videoKey(hash, rev, `video/r360_h264/${path}`);
  const playlist = { playlist: at('playlist.m3u8'), init: at('init.mp4'), segment_count: 1 };
  return {
    streaming: {
      protocol: 'hls',
      container: 'cmaf',
      encrypted: false,
      master_playlist: masterKey(hash),
      default_audio_track_id: null,
    },
    audio_tracks: [],
    video_tracks: [
      { id: 'r360_h264', codec: 'h264', width: 640, height: 360, bitrate: 1, audio_track_ids: [], ...playlist },
    ],
    source: {
      container: 'mov',
      size: 1,
      duration_sec: 1,
      video: {
        codec: 'h264',
        width: 640,
        height: 360,
        frame_rate: 25,
        rotation: 0,
        hdr: 'none',
        pixel_format: 'yuv420p',
        interlaced: false,
      },
      audio: [],
    },
    warnings: [],
  };
}

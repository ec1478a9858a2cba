import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { jobErrorOf } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { masterKey, resultManifestKey, revisionOf, videoKey } from '#domain/media/object-keys.ts';
import { manifestJson } from '#domain/work/manifest.ts';
import { completeAttempt, recordEnd } from '#jobs/completion/complete-attempt.ts';
import { advanceRollout } from '#jobs/rollouts/advance-rollout.ts';
import type { RolloutDependencies } from '#jobs/rollouts/dependencies.ts';
import { lockedInOrder } from '#platform/postgres/row-locks.ts';
import { cleanupTask } from '../../../controller/upkeep/cleanup.ts';
import { mediaDeletionTask } from '../../../controller/upkeep/media-deletion.ts';
import { retentionTasks } from '../../../controller/upkeep/retention.ts';
import { pick } from '../random.ts';
import { purgeInMs, replaced, type Scene } from './callers.ts';
import { takeTicket } from './ground.ts';

// What workers do: attempts, whose encode is three small objects, and the periodic tasks of a controller.

/** Shorter than the longest freeze, so that another worker goes on with a job while the first still writes. */
const leaseMs = 400;

/** Takes one ticket after another until the round is over. */
export async function work(scene: Scene): Promise<void> {
  while (!scene.isOver) {
    const ticket = takeTicket(scene.ground.tickets, scene.random);
    if (ticket === undefined) await sleep(5);
    else await runAttempt(scene, ticket, scene.random());
  }
}

/** @param fate 0 ≤ fate < 1: most attempts complete, some fail, some end without a word, some are repeated */
export async function runAttempt(scene: Scene, { jobId, attempt }: Ticket, fate: number): Promise<void> {
  const { d } = scene.ground;
  try {
    const job = await d.jobs.claim({ jobId, attempt, owner: 'a worker', leaseMs });
    if (job === null) return;
    if ((job.options as { readonly encrypt: boolean }).encrypt) await d.keys.findOrCreate(job.hash);
    if (fate > 0.97) return;
    if (fate > 0.94) {
      const next = await d.jobs.nextAttempt({ jobId, attempt, countsAsFailure: true, delayMs: 0 });
      if (next !== null) await d.queue.add(next);
      return;
    }
    if (fate > 0.82) return await noteEnd(scene, job, () => fail(scene, job));
    await writeStream(scene, job);
    await noteEnd(scene, job, () => completeAttempt({ job, attempt }, d));
  } catch {
    // As after a crash: the lease lapses, and another attempt follows where the job has not ended.
  }
}

async function fail({ ground }: Scene, job: Job) {
  const { attempt } = job;
  return recordEnd({ job, attempt, results: null, error: jobErrorOf('corrupt_input', attempt) }, ground.d);
}

type Ended = { readonly outcome: string; readonly job?: { readonly status: string } };

async function noteEnd({ history }: Scene, { id, hash, attempt }: Job, end: () => Promise<Ended>): Promise<void> {
  await history.note({ kind: 'end', hash, what: `${id} ${attempt}` }, end, ({ job }) => ({
    jobId: id,
    status: job?.status ?? null,
  }));
}

/** The objects of a stream and its result manifest, as a runner writes them. */
async function writeStream({ ground, revs }: Scene, job: Job): Promise<void> {
  const { media } = ground.d;
  const { id, hash, attempt, type } = job;
  const rev = revisionOf(id, attempt);
  const contents = {
    'video/r64_h264/init.mp4': 'init',
    'video/r64_h264/playlist.m3u8': '#EXTM3U\n',
    'master.m3u8': '#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nvideo/r64_h264/playlist.m3u8\n',
  };
  const objects = Object.entries(contents).map(([path, text]) => ({
    key: videoKey(hash, rev, path),
    text,
    size: Buffer.byteLength(text),
    sha256: createHash('sha256').update(text).digest('hex'),
  }));
  for (const { key, text } of objects) await media.put(key, text, { contentType: 'text/plain' });
  const outcome = { job_id: id, attempt, type, hash, rev, status: 'completed', error: null } as const;
  const manifest = manifestJson({ ...outcome, results: resultsOf(hash, rev), tool_version: '0.1.0' }, objects);
  await media.put(resultManifestKey(id, attempt), manifest, { contentType: 'application/json' });
  revs.set(rev, id);
}

function resultsOf(hash: string, rev: string) {
  const at = (path: string) => videoKey(hash, rev, `video/r64_h264/${path}`);
  const track = { id: 'r64_h264', codec: 'h264', width: 64, height: 64, bitrate: 1, audio_track_ids: [] };
  const streaming = { protocol: 'hls', container: 'cmaf', encrypted: false, master_playlist: masterKey(hash) };
  return {
    streaming: { ...streaming, default_audio_track_id: null },
    audio_tracks: [],
    video_tracks: [{ ...track, playlist: at('playlist.m3u8'), init: at('init.mp4'), segment_count: 1 }],
    source: { container: 'mov', size: 1, duration_sec: 1, video: null, audio: [] },
    warnings: [],
  };
}

/** One round of a deletion worker. A deletion that waits is due at once, also one that another worker has claimed. */
export async function deleteDue(scene: Scene, quietMs: number): Promise<void> {
  const { ground, history } = scene;
  const { d } = ground;
  const unended = lockedInOrder('media_deletions', 'finished_at is null');
  await ground.watching.pool.query(`update media_deletions set due_at = now() where ${unended}`);
  const begin: typeof d.deletions.begin = async (given) => {
    if (given.reason !== 'expiry') return d.deletions.begin(given);
    const { hash } = given;
    return history.note(
      { kind: 'delete', hash, what: 'by time' },
      () => d.deletions.begin(given),
      async (result) =>
        result?.isNew === true ? { isNew: true, isByTime: true, purgeInMs: await purgeInMs(scene, hash) } : null,
    );
  };
  const deletions = replaced(d.deletions, { begin });
  const settings = { quietMs, turnMs: 2_000, webhookSecret: 'secret', receiptRetentionMs: null };
  await mediaDeletionTask({ ...d, deletions, ...settings }).work(new AbortController().signal);
}

/** One round of a rollout, as a worker does it; another may do the same at once. */
export async function advance(scene: Scene, id: string): Promise<void> {
  const { ground, history, jobs, revs } = scene;
  const { d } = ground;
  const insertOrFind: typeof d.jobs.insertOrFind = async (newJob) => {
    const { hash, rerunOfJobId = null, replaces = null } = newJob;
    const deed = { kind: 'accept', hash, what: `rollout's rerun of ${rerunOfJobId}` } as const;
    const made = await history.note(
      deed,
      () => d.jobs.insertOrFind(newJob),
      ({ job, isNew }) => ({ jobId: job.id, isNew, rerunOf: rerunOfJobId, replaces }),
    );
    if (made.isNew) jobs.get(hash)?.push(made.job.id);
    return made;
  };
  const publishEarlier: typeof d.library.publishEarlier = async (earlier) => {
    const { hash, rev, replaces = null } = earlier;
    return history.note(
      { kind: 'publish', hash, what: `roll back to ${rev}` },
      () => d.library.publishEarlier(earlier),
      (isDone) => (isDone ? { jobId: revs.get(rev) ?? 'unknown', undoes: replaces } : null),
    );
  };
  const dependencies: RolloutDependencies = {
    ...d,
    jobs: replaced(d.jobs, { insertOrFind }),
    library: replaced(d.library, { publishEarlier }),
  };
  await advanceRollout(id, dependencies, new AbortController().signal);
}

/** One round of the sweeper and of cleanup. */
export async function sweep({ ground }: Scene, graceMs: number): Promise<void> {
  const { d } = ground;
  const lapsed = await d.jobs.releaseLapsed();
  for (const ticket of [...lapsed, ...(await d.jobs.withoutTicket({ olderThanMs: 300, limit: 500 }))])
    await d.queue.add(ticket);
  await cleanupTask({ ...d, graceMs }).work(new AbortController().signal);
}

/** One round of the retention of replaced streams. */
export async function retire({ ground }: Scene, revisionRetentionMs: number): Promise<void> {
  const tasks = retentionTasks({ ...ground.d, revisionRetentionMs, jobRetentionMs: null });
  for (const task of tasks) await task.work(new AbortController().signal);
}

/** A rollout of the round. */
export function aRollout({ random, rollouts }: Scene): string | undefined {
  return rollouts.length === 0 ? undefined : pick(random, rollouts);
}

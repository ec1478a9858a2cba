import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobResults } from '#domain/job-types/index.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import { topMasterOf } from '#domain/media/master-playlist.ts';
import { masterKey, revisionOf, videoKey } from '#domain/media/object-keys.ts';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { rolloutPriority } from '#domain/jobs/ticket.ts';
import { rolloutRequestSchema } from '#domain/rollouts/rollout.ts';
import { advanceRollout } from '#jobs/rollouts/advance-rollout.ts';
import { createRollout } from '#jobs/rollouts/create-rollout.ts';
import type { RolloutDependencies } from '#jobs/rollouts/dependencies.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import type { NewJob } from '#platform/postgres/job-row.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { MediaStore } from '#platform/postgres/media-store.ts';
import { ProfileStore } from '#platform/postgres/profile-store.ts';
import { RolloutStore } from '#platform/postgres/rollout-store.ts';
import { openPostgresTicketQueue } from '#platform/queue/postgres-ticket-queue.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { makeFolders } from './controller-rig.ts';
import { migratedDatabase } from './databases.ts';
import { newJobOf } from './new-job.ts';

// Media in a real database and folders as buckets, whose reruns a fake executor ends: rollouts without encoding.

export type RolloutRig = Awaited<ReturnType<typeof openRolloutRig>>;

/** How a rerun ends; failed where it is null. */
export interface RerunEnd {
  readonly bytes: number;
  /** The score by VMAF; without one where it is left out. */
  readonly score?: number;
  readonly toolVersion?: string | null;
}

const ownSource = 'a.mp4';
const profiles = { small: { crf: 30 }, other: { crf: 28 }, measured: { quality: { report: true } } };

/** The dependencies of a process that works on rollouts. */
export function rolloutDependencies(
  database: Database,
  { databaseUrl, ...folders }: { readonly databaseUrl: string; readonly source: string; readonly media: string },
) {
  const log = createLogger({ level: (process.env['RIG_LOG'] as 'info' | undefined) ?? 'silent', name: 'test' });
  return {
    jobs: new JobStore(database),
    rollouts: new RolloutStore(database),
    library: new MediaStore(database),
    profiles: new ProfileStore(database),
    queue: openPostgresTicketQueue({ databaseUrl, log }),
    source: openObjectStore({ bucket: 'source', dir: folders.source }),
    media: openObjectStore({ bucket: 'media', dir: folders.media }),
    randomUuid: () => randomUUID(),
    isStorageAway: () => false,
    log,
    config: {
      maxFileSizeBytes: 1e9,
      largeVideoThresholdBytes: 1e8,
      mediaProfiles: mediaProfilesSchema.parse({ profiles }),
    },
  } satisfies RolloutDependencies;
}

/** Everything of it; `close` removes it. */
export async function openRolloutRig() {
  const folders = await makeFolders('reelwright-rollouts-');
  const testDatabase = await migratedDatabase();
  const database = openDatabase(testDatabase.url);
  const place = { databaseUrl: testDatabase.url, source: folders.source, media: folders.media };
  const d = rolloutDependencies(database, place);
  await d.source.put(ownSource, Buffer.alloc(10, 1), { contentType: 'video/mp4' });
  const query = async <Row extends object>(text: string, parameters: unknown[] = []) =>
    (await database.pool.query<Row>(text, parameters)).rows;

  /** Ends a job that is queued, as an executor would: with a stream that is played, or failed. */
  const end = async (jobId: string, result: RerunEnd | null): Promise<string> => {
    const job = await d.jobs.claim({ jobId, attempt: 1, owner: 'test', leaseMs: 60_000 });
    if (job === null) return '';
    const { hash } = job;
    const rev = revisionOf(jobId, 1);
    const master = '#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\nvideo/r64_h264/playlist.m3u8\n';
    if (result !== null) await d.media.put(videoKey(hash, rev, 'master.m3u8'), master, { contentType: 'text/plain' });
    await d.jobs.finish({
      jobId,
      attempt: 1,
      eventId: randomUUID(),
      ...(result === null
        ? { status: 'failed', results: null, error: jobErrorOf('corrupt_input', 1) }
        : {
            status: 'completed',
            results: resultsOf(hash, rev, result.score),
            error: null,
            made: { objects: 1, bytes: result.bytes, toolVersion: result.toolVersion ?? null },
            beforeCommit: async ({ hasNewerStream }) => {
              if (hasNewerStream) return;
              await d.media.put(masterKey(hash), topMasterOf(master, rev), { contentType: 'text/plain' });
            },
          }),
    });
    return rev;
  };

  const submit = async (hash: string, more: Partial<NewJob> = {}) => {
    const source = more.source ?? ownSource;
    const job = newJobOf({ type: 'video:transcode', hash, source, options: { encrypt: false } });
    return (await d.jobs.insertOrFind({ ...job, ...more })).job;
  };

  return {
    d,
    database,
    place,
    query,
    end,
    submit,
    /** Media with a stream each. @returns their revisions by hash */
    async makeMedia(
      hashes: readonly string[],
      result: RerunEnd = { bytes: 1000, score: 90 },
      more: Partial<NewJob> = {},
    ) {
      const revs = new Map<string, string>();
      for (const hash of hashes) revs.set(hash, await end((await submit(hash, more)).id, result));
      return revs;
    },
    async create(spec: object): Promise<string> {
      const parsed = rolloutRequestSchema.parse({ to_profile: 'small', ...spec });
      return (await createRollout(d, { id: randomUUID(), spec: parsed })).rollout.id;
    },
    /** One round of the worker. */
    round: (id: string, replaced: Partial<RolloutDependencies> = {}) =>
      advanceRollout(id, { ...d, ...replaced }, new AbortController().signal),
    async find(id: string) {
      const rollout = await d.rollouts.find(id);
      if (rollout === null) throw new Error(`no rollout ${id}`);
      return rollout;
    },
    /** The reruns that wait. */
    queued: async () =>
      (
        await query<{ id: string }>(`select id from jobs where status = 'queued' and priority = $1`, [rolloutPriority])
      ).map(({ id }) => id),
    /** The revision that is played, by the master in the bucket. */
    async playedRev(hash: string): Promise<string> {
      const found = await d.media.get(masterKey(hash));
      const text = found === null ? '' : await new Response(found.body as never).text();
      return /^([0-9a-f]{16})\//m.exec(text)?.[1] ?? '';
    },
    async close(): Promise<void> {
      await d.queue.close();
      await sleep(50);
      await d.source.close();
      await d.media.close();
      await database.close();
      await testDatabase.drop();
      await rm(folders.dir, { recursive: true, force: true });
    },
  };
}

function resultsOf(hash: string, rev: string, score?: number): JobResults {
  return {
    streaming: { protocol: 'hls', container: 'cmaf', encrypted: false, master_playlist: masterKey(hash) },
    video_tracks: [
      {
        id: 'r64_h264',
        init: videoKey(hash, rev, 'video/r64_h264/init.mp4'),
        ...(score === undefined ? {} : { quality: { measure: 'vmaf', score, crf: 30 } }),
      },
    ],
    audio_tracks: [],
  } as never;
}

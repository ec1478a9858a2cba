import { createHash, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { JobType } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import { masterKey, resultManifestKey, revisionOf, videoKey } from '#domain/media/object-keys.ts';
import { manifestJson } from '#domain/work/manifest.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { migrate } from '#platform/postgres/migrate.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { openPostgresTicketQueue } from '#platform/queue/postgres-ticket-queue.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { readStorageSettings } from '#platform/config/storage-settings.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { createDatabase } from '../databases.ts';
import { type Program, secrets, startProgram } from '../programs.ts';
import { submitJob, type Submitted } from './submit-job.ts';

// Workers as processes of their own, `main.ts --mode=worker` as it is shipped, with the `kubernetes` executor: on a
// database and folders that all of them share.

interface WorkplaceOptions {
  readonly postgresUrl: string;
  /** A database that is migrated; without one, a new one is. */
  readonly template?: string;
  readonly kubeconfigPath: string;
  readonly namespace: string;
}

export type Workplace = Awaited<ReturnType<typeof openWorkplace>>;

export async function openWorkplace({ postgresUrl, template, kubeconfigPath, namespace }: WorkplaceOptions) {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-workers-'));
  const [source, media] = ['source', 'media'].map((name) => join(dir, name)) as [string, string];
  for (const folder of [source, media]) await mkdir(folder);
  const testDatabase = await createDatabase(postgresUrl, template ?? 'template0');
  const database: Database = openDatabase(testDatabase.url);
  if (template === undefined) await migrate(database);
  const log = createLogger({ level: 'silent', name: 'test' });
  const queue = openPostgresTicketQueue({ databaseUrl: testDatabase.url, log });
  const jobs = new JobStore(database);
  const variables = { SOURCE_BUCKET: `file:${source}`, MEDIA_BUCKET: `file:${media}` };
  const mediaStore = openObjectStore(readStorageSettings(variables, 'MEDIA'));
  const base = {
    ...secrets,
    ...variables,
    DATABASE_URL: testDatabase.url,
    REDIS_URL: 'embedded:',
    TICKET_AGE: '10s',
    EXECUTOR: 'kubernetes',
    KUBECONFIG: kubeconfigPath,
    RUNNER_NAMESPACE: namespace,
    RUNNER_IMAGE: 'docker.io/library/reelwright-runner:test',
    LOG_LEVEL: process.env['RIG_LOG'] ?? 'warn',
  };

  return {
    database,
    jobs,
    queue,
    /** Where a runner's credentials would lead: for sources that say what the scripted runner does. */
    notes: join(dir, 'notes').slice(1),
    media: mediaStore,
    /** Does not wait until it is up: it may be killed before. */
    start: (env: Record<string, string> = {}): Promise<Program> =>
      startProgram({ args: ['--mode=worker'], env: { ...base, ...env }, waits: 'not' }),
    async find(id: string): Promise<Job> {
      const job = await jobs.find(id);
      if (job === null) throw new Error(`no job ${id}`);
      return job;
    },
    submit: (type: JobType, more?: Submitted) => submitJob({ jobs, queue }, type, more),
    /** Cancels a job as the API does. */
    async cancel(id: string): Promise<void> {
      const { attempt } = await jobs.find(id).then((job) => job ?? Promise.reject(new Error(`no job ${id}`)));
      const end = { status: 'cancelled', results: null, error: null, eventId: randomUUID(), now: new Date() } as const;
      await jobs.finish({ jobId: id, attempt, ...end });
    },
    /** Leaves the objects of an image job that has ended well, as its runner does. */
    leaveThumbnail: (jobId: string, hash: string, attempt = 1) => leaveThumbnail(mediaStore, { jobId, hash, attempt }),
    writeSource: (name: string, bytes: Uint8Array) => writeFile(join(source, name), bytes),
    /** Leaves the objects of a stream, as its runner does: a playlist of one rung, and its manifest. */
    leaveStream: (jobId: string, hash: string, attempt: number) => leaveStream(mediaStore, { jobId, hash, attempt }),
    async close(): Promise<void> {
      await queue.close();
      await mediaStore.close();
      await database.close();
      await testDatabase.drop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** Leaves the manifest of an image job that has ended well, which names no object. */
export async function leaveThumbnail(
  media: Pick<ObjectStore, 'put'>,
  { jobId, hash, attempt }: { readonly jobId: string; readonly hash: string; readonly attempt: number },
): Promise<void> {
  const key = 'thumb.webp';
  const results = { key, outputs: [{ variant: 'thumb', key, width: 2, height: 2, format: 'webp', size: 5 }] };
  const of = { job_id: jobId, attempt, type: 'image:thumbnail', hash, rev: revisionOf(jobId, attempt) } as const;
  const body = manifestJson({ ...of, status: 'completed', results, error: null, tool_version: '0.1.0' }, []);
  await media.put(resultManifestKey(jobId, attempt), body, { contentType: 'application/json' });
}

/** Leaves what a runner leaves of a stream: a playlist of one rung, and its manifest. */
export async function leaveStream(
  media: Pick<ObjectStore, 'put'>,
  { jobId, hash, attempt }: { readonly jobId: string; readonly hash: string; readonly attempt: number },
): Promise<void> {
  const rev = revisionOf(jobId, attempt);
  const objects: { key: string; size: number; sha256: string }[] = [];
  const put = async (path: string, body: string) => {
    const key = videoKey(hash, rev, path);
    await media.put(key, body, { contentType: 'application/octet-stream' });
    objects.push({ key, size: body.length, sha256: createHash('sha256').update(body).digest('hex') });
    return key;
  };
  const track = 'video/r64_h264';
  const init = await put(`${track}/init.mp4`, 'init');
  const playlist = await put(`${track}/playlist.m3u8`, '#EXTM3U\nseg_1.m4s\n');
  await put('master.m3u8', `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n${track}/playlist.m3u8\n`);
  const size = { width: 64, height: 64 };
  const video = { codec: 'h264', ...size, frame_rate: 25, rotation: 0, hdr: 'none', pixel_format: 'yuv420p' };
  const results = {
    streaming: {
      protocol: 'hls',
      container: 'cmaf',
      encrypted: true,
      master_playlist: masterKey(hash),
      default_audio_track_id: null,
    },
    audio_tracks: [],
    video_tracks: [
      {
        id: 'r64_h264',
        codec: 'avc1.640028',
        ...size,
        bitrate: 1000,
        playlist,
        init,
        segment_count: 1,
        audio_track_ids: [],
      },
    ],
    source: { container: 'mp4', size: 1, duration_sec: 1, video: { ...video, interlaced: false }, audio: [] },
    warnings: [],
  };
  const of = { job_id: jobId, attempt, type: 'video:transcode', hash, rev } as const;
  const body = manifestJson({ ...of, status: 'completed', results, error: null, tool_version: '0.1.0' }, objects);
  await media.put(resultManifestKey(jobId, attempt), body, { contentType: 'application/json' });
}

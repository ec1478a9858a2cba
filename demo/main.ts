import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { join, relative, resolve } from 'node:path';
import type { JobType } from '#domain/job-types/index.ts';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { checkEncryptedStream, checkObjects } from './check.ts';
import { type DataFolder, openDataFolder, readOrMakeSecrets, type Secrets } from './data-folder.ts';
import {
  type ApiAccess,
  cancelJobs,
  cancelLeftJobs,
  type JobAnswer,
  type NewJob,
  submitJob,
  waitForJob,
} from './jobs.ts';
import type { FolderLock } from './folder-lock.ts';
import { createProgressBars } from './progress.ts';
import { makeSources, type Sources } from './sample.ts';
import { choosePort, PortTaken, type Service, startService } from './service.ts';

/**
 * The demo (`make demo`): makes an encrypted stream of a video and prints the address of a page that plays it.
 *
 * Environment: `ONCE=1` ends after the checks; `INPUT=clip.mp4` uses that file; `PORT=3000`.
 * Exit codes: 0 success (also when stopped by Ctrl-C afterwards), 1 failure, 130 stopped before the end.
 */

const checkout = resolve(import.meta.dirname, '..');
const settings = {
  // Frames of a storyboard are not encrypted, so an encrypted stream has none by default.
  MEDIA_PROFILES: JSON.stringify({ profiles: { default: { storyboard: 'always' } } }),
  // A first webhook goes to a receiver on this machine.
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8,::1/128',
};
const tokenLifetimeSec = 12 * 60 * 60;
const output = process.stdout;
const say = (line: string) => void output.write(`${line}\n`);

async function main(): Promise<void> {
  const stopping = new AbortController();
  for (const name of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) {
    process.on(name, () => {
      // A second signal exits at once; the service's guard stops the service.
      if (stopping.signal.aborted) process.exit(130);
      stopping.abort(new Error(`stopped by ${name}`));
    });
  }
  let isDone = false;
  let service: Service | undefined;
  let lock: FolderLock | undefined;
  try {
    const opened = await openDataFolder(checkout);
    lock = opened.lock;
    const { data } = opened;
    const secrets = await readOrMakeSecrets(data);
    const { env } = process;
    const sources = await makeSources({ bucket: data.source, input: env['INPUT'], env, signal: stopping.signal, say });
    say('starting the service with its own database, queue and buckets');
    service = await startOnFreePort({ checkout, data, secrets, env, settings, signal: stopping.signal });
    await lock.addProcess(service.pid);
    const signal = AbortSignal.any([stopping.signal, service.ended]);
    await runDemo({ service, data, secrets, sources, signal });
    isDone = true;
    if (env['ONCE'] !== '1') {
      say('\nThe service runs until you press Ctrl-C.');
      if (!signal.aborted) await once(signal, 'abort');
      if (service.ended.aborted) throw service.ended.reason;
    }
  } catch (error) {
    const isStopped = stopping.signal.aborted;
    process.exitCode = isStopped ? 130 : 1;
    // Why the service ended explains more than the request that failed then.
    const reason = reasonOf(service?.ended.aborted === true ? service.ended.reason : error);
    process.stderr.write(`demo: ${isStopped ? 'stopped' : `failed: ${reason}`}\n`);
  }
  if (isDone && stopping.signal.aborted) say('stopping');
  await service?.stop();
  await lock?.release();
}

/** Starts the service on a free port; tries again when another program takes the port meanwhile. */
async function startOnFreePort(options: Omit<Parameters<typeof startService>[0], 'port'>): Promise<Service> {
  for (let attempt = 1; ; attempt += 1) {
    const port = await choosePort(options.env['PORT']);
    try {
      return await startService({ ...options, port });
    } catch (error) {
      if (!(error instanceof PortTaken) || attempt === 3) throw error;
    }
  }
}

interface DemoParts {
  readonly service: Service;
  readonly data: DataFolder;
  readonly secrets: Secrets;
  readonly sources: Sources;
  readonly signal: AbortSignal;
}

/** Runs both jobs, checks their results, and prints the links. */
async function runDemo({ service: { baseUrl }, data, secrets, sources, signal }: DemoParts): Promise<void> {
  // New hashes for each run: an equal submission would answer with the results of an earlier run.
  const run = `${new Date().toISOString().replace(/\D/g, '').slice(0, 14)}-${randomBytes(2).toString('hex')}`;
  const hash = `demo-video-${run}`;
  const api: ApiAccess = { baseUrl, apiKey: secrets.values.API_KEY, signal };
  await cancelLeftJobs(api);
  const { image, video } = await runJobs({ hash, imageHash: `demo-image-${run}`, sources, api });

  const token = signPlaybackToken({ hash, exp: nowSec() + tokenLifetimeSec }, secrets.values.KEY_TOKEN_SECRET);
  const workDir = await mkdtemp(join(data.work, 'check-'));
  const media = openObjectStore({ bucket: `file:${data.media}`, dir: data.media });
  const { env } = process;
  const tools = { ffmpeg: findProgram('ffmpeg', env), packager: findProgram('packager', env) };
  const { streaming, encryption, video_tracks, audio_tracks, source, text_tracks = [], storyboard } = video.results;
  if (!streaming || !encryption || !video_tracks || !audio_tracks || !source)
    throw new Error('the results of video:full have no stream');
  try {
    const images = await checkObjects(image.results, media, { baseUrl, hash: image.hash, signal });
    const others = await checkObjects(video.results, media, { baseUrl, hash, signal });
    say(`checked ${images + others} objects: all there`);
    const results = { video_tracks, audio_tracks, encryption, source };
    const renditions = await checkEncryptedStream({ baseUrl, hash, token, results, tools, workDir, signal });
    const sizes = video_tracks.map(({ height }) => `${height}p`).join(', ');
    const languages = audio_tracks.map(({ language }) => language).join(', ');
    if (!storyboard) throw new Error('the results have no storyboard');
    const isSample = env['INPUT'] === undefined || env['INPUT'] === '';
    if (isSample && text_tracks.length !== 2) throw new Error('the results do not have the two captions of the sample');
    say(`checked ${renditions.length} encrypted renditions (${sizes}; ${languages}): they decrypt and decode`);
    const captions = text_tracks.map(({ language }) => language).join(', ');
    say(`checked captions (${captions === '' ? 'none' : captions}) and a storyboard`);
  } finally {
    await media.close();
    await rm(workDir, { recursive: true, force: true });
  }

  const master = `${baseUrl}/stream/${hash}/master.m3u8`;
  const [thumbSecret = ''] = thumbSecretsOf([], secrets.values.KEY_TOKEN_SECRET);
  const { cover, preview } = video.results.artifacts;
  const imageAt = (key: string) => signThumbPath(key, {}, thumbSecret);
  const poster = cover === undefined ? {} : { poster: imageAt(cover.key).slice(1) };
  const page = `${baseUrl}/player/#${new URLSearchParams({ hash, token, ...poster }).toString()}`;
  const keyFile = relative(process.cwd(), join(data.secrets, 'API_KEY'));
  const jobs = [image, video].map(({ job_id, type, hash: of, status }) => ({ job_id, type, hash: of, status }));
  say(`demo: ok ${JSON.stringify({ jobs, master, key_endpoint: encryption.key_endpoint, token, page })}`);
  // Links last, and none to a service that ends now.
  if (env['ONCE'] === '1') return;
  say(`\nThumbnail   ${baseUrl}${imageAt(image.results.key)}`);
  if (cover) say(`Cover       ${baseUrl}${imageAt(cover.key)}`);
  if (preview) say(`Preview     ${baseUrl}${imageAt(preview.key)}`);
  say(`API         ${baseUrl}/docs`);
  say(`Job         curl -H "X-API-Key: $(cat ${keyFile})" ${baseUrl}/api/jobs/${video.job_id}`);
  say(`Player      ${page}`);
}

interface JobsToRun {
  readonly hash: string;
  readonly imageHash: string;
  readonly sources: Sources;
  readonly api: ApiAccess;
}

async function runJobs({ hash, imageHash, sources, api }: JobsToRun) {
  const bars = createProgressBars(['image:thumbnail', 'video:full'], output);
  const onJob = ({ type, status, phase, progress }: JobAnswer) =>
    bars.show(type, { progress, doing: status === 'processing' ? (phase ?? status) : status });
  const outputs = [
    { variant: 'thumb', width: 320, format: 'webp' as const },
    { variant: 'large', width: 1280, format: 'jpg' as const },
  ];
  const jobIds: string[] = [];
  const run = async <T extends JobType>(job: NewJob<T>) => {
    const jobId = await submitJob(job, api);
    jobIds.push(jobId);
    return await waitForJob<T>(jobId, api, onJob);
  };
  try {
    const [image, video] = await Promise.all([
      run<'image:thumbnail'>({
        type: 'image:thumbnail',
        hash: imageHash,
        source: sources.image,
        options: { outputs },
      }),
      run<'video:full'>({
        type: 'video:full',
        hash,
        source: sources.video,
        options: { transcode: { encrypt: true } },
      }),
    ]);
    return { image, video };
  } catch (error) {
    await cancelJobs(jobIds, api);
    throw error;
  }
}

function nowSec(): number {
  return Math.floor(Date.now() / 1000);
}

/** The error on one line, with its cause: `fetch` puts the reason there. */
function reasonOf(error: unknown): string {
  if (!(error instanceof Error)) return String(error);
  const cause = error.cause instanceof Error ? ` (${error.cause.message})` : '';
  return `${error.message}${cause}`.replaceAll(/\s*\n\s*/g, ' | ');
}

await main();
// Does not wait for the idle connections of `fetch`.
process.exit();

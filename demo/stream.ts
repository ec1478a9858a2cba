import { mkdtemp, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { checkEncryptedStream } from './check.ts';
import type { DataFolder, Secrets } from './data-folder.ts';
import type { EndedStream } from './run-jobs.ts';

// The demo's stream: its token, its addresses, and the check that it plays.

const tokenLifetimeSec = 12 * 60 * 60;

interface StreamParts {
  readonly data: DataFolder;
  readonly secrets: Secrets;
  readonly baseUrl: string;
  readonly signal: AbortSignal;
  readonly env: NodeJS.ProcessEnv;
  readonly say: (line: string) => void;
}

/** The address of an image, below the address of the service. */
const imageAt = (key: string, { values }: Secrets) => {
  const [thumbSecret = ''] = thumbSecretsOf([], values.KEY_TOKEN_SECRET);
  return signThumbPath(key, {}, thumbSecret);
};

/** The images beside a stream. */
const artifactsOf = (job: EndedStream) => (job.type === 'video:full' ? job.results.artifacts : {});

/** Checks an encrypted stream. @returns how it is played */
export async function checkStream(job: EndedStream, { data, secrets, baseUrl, signal, env, say }: StreamParts) {
  const { hash } = job;
  const { streaming, encryption, video_tracks, audio_tracks, source } = job.results;
  if (!streaming || !encryption || !video_tracks || !audio_tracks || !source)
    throw new Error(`the results of ${job.type} have no stream`);
  const token = signPlaybackToken({ hash, exp: nowSec() + tokenLifetimeSec }, secrets.values.KEY_TOKEN_SECRET);
  const tools = { ffmpeg: findProgram('ffmpeg', env), packager: findProgram('packager', env) };
  const workDir = await mkdtemp(join(data.work, 'check-'));
  try {
    const results = { video_tracks, audio_tracks, encryption, source };
    const renditions = await checkEncryptedStream({ baseUrl, hash, token, results, tools, workDir, signal });
    const sizes = video_tracks.length === 0 ? 'audio' : video_tracks.map(({ height }) => `${height}p`).join(', ');
    const languages = audio_tracks.map(({ language }) => language).join(', ');
    say(`checked ${renditions.length} encrypted renditions (${sizes}; ${languages}): they decrypt and decode`);
  } finally {
    await rm(workDir, { recursive: true, force: true });
  }
  if (video_tracks.length > 0) say(checkSideFiles(job, env));
  const { cover } = artifactsOf(job);
  const poster = cover === undefined ? {} : { poster: imageAt(cover.key, secrets).slice(1) };
  const page = `${baseUrl}/player/#${new URLSearchParams({ hash, token, ...poster }).toString()}`;
  const master = `${baseUrl}/stream/${hash}/master.m3u8`;
  return { master, key_endpoint: encryption.key_endpoint, token, page };
}

/** @returns what a stream of video has beside video and audio */
function checkSideFiles({ results }: EndedStream, env: NodeJS.ProcessEnv): string {
  const { text_tracks: texts = [], chapters, storyboard } = results;
  if (!storyboard) throw new Error('the results have no storyboard');
  const isSample = env['INPUT'] === undefined || env['INPUT'] === '';
  const count = chapters?.list.length ?? 0;
  if (isSample && (texts.length !== 2 || count !== 3))
    throw new Error('the results do not have the two captions and the three chapters of the sample');
  const captions = texts.map(({ language }) => language).join(', ');
  return `checked captions (${captions === '' ? 'none' : captions}), ${count} chapters and a storyboard`;
}

function nowSec(): number {
  return Math.floor(Date.now() / 1000);
}

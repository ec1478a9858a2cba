import { once } from 'node:events';
import { chmod, copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import type { JobResults } from '#domain/job-types/index.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { dataFolderAt, readOrMakeSecrets, type Secrets } from '../../demo/data-folder.ts';
import { type ApiAccess, type JobAnswer, submitJob, waitForJob } from '../../demo/jobs.ts';
import { makeSample, testBars, videoCommand } from '../../demo/sample.ts';
import { choosePort, type Service, startService } from '../../demo/service.ts';
import { runTool } from '../../testing/media.ts';

// Streams made by the whole service on the embedded parts: a short video in two rungs and two languages, once encrypted
// and once clear.

export const encrypted = 'player-encrypted';
export const clear = 'player-clear';
const durationSec = 12;

export interface Streams {
  readonly folder: string;
  /** The source of both streams. */
  readonly source: string;
  readonly secrets: Secrets;
  readonly service: Service;
  readonly api: ApiAccess;
  /** The job of the encrypted stream. */
  readonly job: JobAnswer & { readonly results: JobResults<'video:transcode'> };
  stop(): Promise<void>;
}

/**
 * @param clip a source file to use instead of the demo's sample
 * @param settings more variables of the service
 */
export async function makeStreams(clip?: string, settings: Readonly<Record<string, string>> = {}): Promise<Streams> {
  const { signal } = new AbortController();
  const env = { ...process.env, X264_PRESET: 'veryfast' };
  const checkout = resolve(import.meta.dirname, '../..');
  const folder = await mkdtemp(join(tmpdir(), 'reelwright-player-'));
  // As root, PostgreSQL runs as another user, which must be able to enter this folder.
  await chmod(folder, 0o755);
  let service: Service | undefined;
  const stop = async () => {
    await service?.stop();
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const data = await dataFolderAt(join(folder, 'data'));
    const secrets = await readOrMakeSecrets(data);
    const source = join(data.source, 'video.mp4');
    const size = { width: 960, height: 540, frameRate: 25, durationSec };
    if (clip !== undefined) await copyFile(clip, source);
    else await makeSample({ file: source, command: videoCommand(findProgram('ffmpeg', env), size, testBars), signal });
    service = await startService({ checkout, data, secrets, port: await choosePort('0'), env, settings, signal });
    const api = { baseUrl: service.baseUrl, apiKey: secrets.values.API_KEY, signal };
    const make = async (hash: string) => {
      const options = { encrypt: hash === encrypted };
      const id = await submitJob({ type: 'video:transcode', hash, source: 'video.mp4', options }, api);
      return await waitForJob<'video:transcode'>(id, api);
    };
    const [job] = await Promise.all([make(encrypted), make(clear)]);
    return { folder, source, secrets, service, api, job, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** The rungs of `makeCaptionedVideo`, and what a profile calls them. */
export const smallLadder = [
  { short_side: 90, bitrate: 300_000 },
  { short_side: 180, bitrate: 800_000 },
];

const oneCue = (text: string) => `1\n00:00:00,500 --> 00:00:17,000\n${text}\n`;

/**
 * Makes a small video of 18 seconds, which are three segments: English and German audio and captions, and two chapters.
 *
 * @param texts `cue` of the English captions; `name` of the German audio and of the first chapter
 * @returns its path, below `folder`
 */
export async function makeCaptionedVideo(folder: string, { cue = 'Greetings', name = '' } = {}): Promise<string> {
  await writeFile(join(folder, 'en.srt'), oneCue(cue));
  await writeFile(join(folder, 'de.srt'), oneCue('Grüße'));
  const chapters = [
    [0, 9000, name.replaceAll('=', String.raw`\=`)],
    [9000, 18_000, 'End'],
  ];
  const written = chapters.map(([start, end, title]) =>
    ['[CHAPTER]', 'TIMEBASE=1/1000', `START=${start}`, `END=${end}`, `title=${title}`].join('\n'),
  );
  await writeFile(join(folder, 'chapters.txt'), [';FFMETADATA1', ...written, ''].join('\n'));
  const sines = [440, 660].map((f) => `-f lavfi -i sine=f=${f}:r=48000:d=18`).join(' ');
  const inputs = `-v error -f lavfi -i testsrc2=s=320x180:r=10:d=18 ${sines} -i en.srt -i de.srt -i chapters.txt`;
  const languages = ['a', 's'].flatMap((kind) =>
    ['eng', 'ger'].map((language, index) => `-metadata:s:${kind}:${index} language=${language}`),
  );
  const maps = [0, 1, 2, 3, 4].map((index) => `-map ${index}`);
  const codecs = '-map_metadata 5 -c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac -c:s srt';
  const args = [inputs, ...maps, ...languages, codecs].join(' ').split(' ');
  await runTool('ffmpeg', [...args, '-metadata:s:a:1', `title=${name}`, 'long.mkv'], folder);
  return join(folder, 'long.mkv');
}

/** A server that forwards to `baseUrl` and changes the bytes of the answers by `change`. */
export async function startForger(baseUrl: string, change: (path: string, bytes: Buffer) => Buffer) {
  const server = createServer((request, response) => {
    const answer = async () => {
      const { url = '/', headers } = request;
      const { authorization } = headers;
      const found = await fetch(`${baseUrl}${url}`, authorization === undefined ? {} : { headers: { authorization } });
      response.writeHead(found.status).end(change(url, Buffer.from(await found.arrayBuffer())));
    };
    answer().catch(() => response.destroy());
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const stop = async () => {
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  };
  return { baseUrl: `http://127.0.0.1:${port}`, stop };
}

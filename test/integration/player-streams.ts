import { once } from 'node:events';
import { chmod, copyFile, mkdtemp, rm } from 'node:fs/promises';
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
 * @param film a source file to use instead of the demo's sample
 * @param settings more variables of the service
 */
export async function makeStreams(film?: string, settings: Readonly<Record<string, string>> = {}): Promise<Streams> {
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
    if (film !== undefined) await copyFile(film, source);
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

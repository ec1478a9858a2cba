import { chmod, copyFile, mkdtemp, rm } from 'node:fs/promises';
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

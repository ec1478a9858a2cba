import { once } from 'node:events';
import { readFile, writeFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataFolder, Secrets } from './data-folder.ts';
import { type Mode, spawnProgram } from './program.ts';

// Starts the service, `main.ts`, as a child process on embedded PostgreSQL, queue and buckets.

export interface Service {
  /** `http://127.0.0.1:PORT` */
  readonly baseUrl: string;
  readonly pid: number;
  /** Aborted when the service ends by itself; the reason is an Error with the cause. */
  readonly ended: AbortSignal;
  /** Ends the service and its child processes. */
  stop(): Promise<void>;
}

export interface StartOptions {
  readonly checkout: string;
  readonly data: DataFolder;
  readonly secrets: Secrets;
  readonly port: number;
  readonly env: NodeJS.ProcessEnv;
  /** By default `all`; a `server` has workers of its own (workers.ts). */
  readonly mode?: Mode;
  /** More variables of the service. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Another program took the port between the check and the start. */
export class PortTaken extends Error {
  override readonly name = 'PortTaken';
}

const readyTimeoutMs = 90_000;

/** Variables passed on to the service: none that selects a database or a bucket. */
const inherited = [
  'PATH',
  'HOME',
  'TMPDIR',
  'LANG',
  'TZ',
  'FFMPEG_PATH',
  'FFPROBE_PATH',
  'PACKAGER_PATH',
  'X264_PRESET',
  'OTEL_EXPORTER_OTLP_ENDPOINT',
] as const;

/**
 * Starts the service and waits until `/readyz` answers OK.
 *
 * @throws PortTaken when another program took the port; Error with the service's last log message
 */
export async function startService(options: StartOptions): Promise<Service> {
  const baseUrl = `http://127.0.0.1:${options.port}`;
  // The service and its workers append to it.
  await writeFile(options.data.log, '', { mode: 0o600 });
  const { checkout, mode = 'all', data } = options;
  const program = await spawnProgram({ checkout, mode, log: data.log, env: serviceEnvironment(options) });
  const ended = new AbortController();
  const reportEnd = async () => {
    const how = await program.ended;
    if (how === null) return;
    const why = `the service ended ${how}: ${await lastError(options.data.log)} (log: ${options.data.log})`;
    ended.abort(why.includes('EADDRINUSE') ? new PortTaken(why) : new Error(why));
  };
  void reportEnd();
  try {
    await waitUntilReady(baseUrl, AbortSignal.any([options.signal, ended.signal]), options.data.log);
  } catch (error) {
    await program.stop();
    throw error;
  }
  return { baseUrl, pid: program.pid, ended: ended.signal, stop: () => program.stop() };
}

/** The environment of the service and of its workers. */
export function serviceEnvironment({ data, secrets, port, env, settings }: StartOptions): Record<string, string> {
  const kept = inherited.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  return {
    ...Object.fromEntries(kept),
    ...secrets.environment,
    HOST: '127.0.0.1',
    PORT: String(port),
    BASE_URL: `http://127.0.0.1:${port}`,
    DATABASE_URL: `embedded:${data.database}`,
    REDIS_URL: 'embedded:',
    SOURCE_BUCKET: `file:${data.source}`,
    UPLOAD_BUCKET: `file:${data.source}`,
    MEDIA_BUCKET: `file:${data.media}`,
    WORK_DIR: data.work,
    EXECUTOR: 'process',
    STREAM_MUTABLE_CACHE_CONTROL: 'public, max-age=60',
    // The demo's stream is encrypted; its storyboard shows what the player page can do.
    MEDIA_PROFILES: JSON.stringify({ profiles: { default: { storyboard: 'always' } } }),
    LOG_LEVEL: env['LOG_LEVEL'] === 'debug' ? 'debug' : 'info',
    ...settings,
  };
}

async function waitUntilReady(baseUrl: string, signal: AbortSignal, log: string): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs;
  let last = 'it is not listening';
  while (Date.now() < deadline) {
    signal.throwIfAborted();
    // The log decides, since another program may answer on the port.
    if ((await readLog(log)).includes('"msg":"listening"')) last = await askReady(baseUrl, signal);
    if (last === 'OK') return;
    await sleep(100, undefined, { signal }).catch(() => signal.throwIfAborted());
  }
  throw new Error(`the service is not ready after ${readyTimeoutMs / 1000} s: ${last} (log: ${log})`);
}

async function askReady(baseUrl: string, signal: AbortSignal): Promise<string> {
  try {
    const response = await fetch(`${baseUrl}/readyz`, { signal: AbortSignal.any([signal, AbortSignal.timeout(5000)]) });
    return (await response.text()).trim();
  } catch (error) {
    signal.throwIfAborted();
    return String(error);
  }
}

async function readLog(log: string): Promise<string> {
  return await readFile(log, 'utf8').catch(() => '');
}

/** The message of the last error in the log, else the log's last line. */
export async function lastError(log: string): Promise<string> {
  const lines = (await readLog(log)).split('\n').filter((line) => line.trim() !== '');
  const errors = lines.flatMap((line) => {
    try {
      const { level, msg, err } = JSON.parse(line) as { level?: string; msg?: string; err?: { message?: string } };
      return level === 'error' || level === 'fatal' ? [[msg, err?.message].filter(Boolean).join(': ')] : [];
    } catch {
      return [line];
    }
  });
  return (errors.at(-1) ?? lines.at(-1) ?? 'the log is empty').slice(0, 500);
}

/**
 * `wanted` if given (`0`: any free port), else 3000 if free, else any free port. @throws Error when `wanted` is in use
 */
export async function choosePort(wanted: string | undefined): Promise<number> {
  if (wanted === undefined || wanted === '') return (await probePort(3000)) ?? (await probePort(0)) ?? 0;
  const port = Number(wanted);
  if (!Number.isInteger(port) || port < 0 || port > 65_535)
    throw new Error(`PORT: expected 0 to 65535, found ${wanted}`);
  const free = await probePort(port);
  if (free === null)
    throw new Error(`PORT: ${port} is in use; stop the program that listens there, or choose another port`);
  return free;
}

/** The port, after listening on it for a moment; null when it is in use. */
async function probePort(port: number): Promise<number | null> {
  const probe = createServer().listen(port, '127.0.0.1');
  try {
    await once(probe, 'listening');
  } catch {
    return null;
  }
  const address = probe.address() as AddressInfo;
  probe.close();
  await once(probe, 'close');
  return address.port;
}

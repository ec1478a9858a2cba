import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataFolder, Secrets } from './data-folder.ts';

// Starts the service, `main.ts --mode=all`, as a child process on embedded PostgreSQL, queue and buckets.

export interface Service {
  /** `http://127.0.0.1:PORT` */
  readonly baseUrl: string;
  readonly pid: number;
  /** Aborted when the service ends by itself; the reason is an Error with the cause. */
  readonly ended: AbortSignal;
  /** Ends the service and its child processes. */
  stop(): Promise<void>;
}

interface StartOptions {
  readonly checkout: string;
  readonly data: DataFolder;
  readonly secrets: Secrets;
  readonly port: number;
  readonly env: NodeJS.ProcessEnv;
  /** More variables of the service. */
  readonly settings?: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
}

/** Another program took the port between the check and the start. */
export class PortTaken extends Error {
  override readonly name = 'PortTaken';
}

const readyTimeoutMs = 90_000;
/** The service's own stop deadline is 20 s. */
const stopTimeoutMs = 25_000;

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
  const log = await open(options.data.log, 'w', 0o600);
  let child: ChildProcess;
  let closed: Promise<[number | null, NodeJS.Signals | null]>;
  try {
    // A process group of its own: Ctrl-C in a terminal signals the demo only, which then stops the service.
    child = spawn(process.execPath, [join(options.checkout, 'main.ts'), '--mode=all'], {
      cwd: options.checkout,
      env: serviceEnvironment(options, baseUrl),
      stdio: ['ignore', log.fd, log.fd],
      detached: true,
    });
    // Listens before `await`, since the service may end at once.
    closed = new Promise((resolve) => child.once('close', (code, signal) => resolve([code, signal])));
    await once(child, 'spawn');
  } finally {
    await log.close();
  }
  const guard = startGuard(child.pid ?? 0);
  const ended = new AbortController();
  let isStopping = false;
  const reportEnd = async () => {
    const [code, signal] = await closed;
    if (isStopping) return;
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    const why = `the service ended ${how}: ${await lastError(options.data.log)} (log: ${options.data.log})`;
    ended.abort(why.includes('EADDRINUSE') ? new PortTaken(why) : new Error(why));
  };
  void reportEnd();
  const stop = async () => {
    isStopping = true;
    child.kill('SIGTERM');
    const isStopped = await Promise.race([closed.then(() => true), sleep(stopTimeoutMs, false, { ref: false })]);
    if (!isStopped) killGroup(child.pid);
    await closed;
    guard.kill('SIGKILL');
  };
  try {
    await waitUntilReady(baseUrl, AbortSignal.any([options.signal, ended.signal]), options.data.log);
  } catch (error) {
    await stop();
    throw error;
  }
  return { baseUrl, pid: child.pid ?? 0, ended: ended.signal, stop };
}

function serviceEnvironment(
  { data, secrets, port, env, settings }: StartOptions,
  baseUrl: string,
): Record<string, string> {
  const kept = inherited.flatMap((name) => (env[name] === undefined ? [] : [[name, env[name]] as const]));
  return {
    ...Object.fromEntries(kept),
    ...secrets.environment,
    HOST: '127.0.0.1',
    PORT: String(port),
    BASE_URL: baseUrl,
    DATABASE_URL: `embedded:${data.database}`,
    REDIS_URL: 'embedded:',
    SOURCE_BUCKET: `file:${data.source}`,
    UPLOAD_BUCKET: `file:${data.source}`,
    MEDIA_BUCKET: `file:${data.media}`,
    WORK_DIR: data.work,
    EXECUTOR: 'process',
    // The demo's stream is encrypted; its storyboard shows what the player page can do.
    MEDIA_PROFILES: JSON.stringify({ profiles: { default: { storyboard: 'always' } } }),
    LOG_LEVEL: env['LOG_LEVEL'] === 'debug' ? 'debug' : 'info',
    ...settings,
  };
}

/** Stops the service when the demo is killed: the guard's standard input closes then. */
function startGuard(pid: number): ChildProcess {
  const script = 'while read -r _; do :; done; kill -TERM "$1"; sleep 25; kill -KILL "-$1"';
  const stdio: ['pipe', 'ignore', 'ignore'] = ['pipe', 'ignore', 'ignore'];
  const guard = spawn('/bin/sh', ['-c', script, 'guard', String(pid)], { stdio, detached: true });
  guard.unref();
  return guard;
}

function killGroup(pid: number | undefined): void {
  try {
    if (pid !== undefined) process.kill(-pid, 'SIGKILL');
  } catch {
    // The group has ended already.
  }
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
async function lastError(log: string): Promise<string> {
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

import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { open, readFile } from 'node:fs/promises';
import { type AddressInfo, createServer } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { DataFolder, Secrets } from './data-folder.ts';

// The service as a user would start it, `main.ts --mode=all`, as a child process on the embedded parts.

export interface Service {
  /** `http://127.0.0.1:PORT` */
  readonly baseUrl: string;
  readonly pid: number;
  /** Aborts when the service ends without having been told to; its reason is an Error that says why. */
  readonly ended: AbortSignal;
  /** Ends the service and all that it started. */
  stop(): Promise<void>;
}

interface StartOptions {
  readonly checkout: string;
  readonly data: DataFolder;
  readonly secrets: Secrets;
  /** Free a moment ago. */
  readonly port: number;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
}

/** Another program has begun to listen on the port that was free a moment ago. */
export class PortTaken extends Error {
  override readonly name = 'PortTaken';
}

const readyTimeoutMs = 90_000;
/** The service gives its parts 20 s to stop. */
const stopTimeoutMs = 25_000;

/** What of the caller's environment the service sees: nothing that could point it at another database or bucket. */
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
 * Starts the service and waits until it says that it is ready.
 *
 * @throws PortTaken when somebody else was faster at the port; Error with the service's last words
 */
export async function startService(o: StartOptions): Promise<Service> {
  const baseUrl = `http://127.0.0.1:${o.port}`;
  const log = await open(o.data.log, 'w', 0o600);
  let child: ChildProcess;
  let closed: Promise<[number | null, NodeJS.Signals | null]>;
  try {
    // A process group of its own: Ctrl-C on a terminal reaches the demo alone, which then stops the service in order.
    child = spawn(process.execPath, [join(o.checkout, 'main.ts'), '--mode=all'], {
      cwd: o.checkout,
      env: serviceEnvironment(o, baseUrl),
      stdio: ['ignore', log.fd, log.fd],
      detached: true,
    });
    // From the beginning: it may end before anything else is done here.
    closed = new Promise((settle) => child.once('close', (code, signal) => settle([code, signal])));
    await once(child, 'spawn');
  } finally {
    await log.close();
  }
  const guard = startGuard(child.pid ?? 0);
  const ended = new AbortController();
  let isStopping = false;
  const tellOfEnd = async () => {
    const [code, signal] = await closed;
    if (isStopping) return;
    const how = signal === null ? `with exit code ${code}` : `by ${signal}`;
    const why = `the service ended ${how}: ${await lastWords(o.data.log)} (log: ${o.data.log})`;
    ended.abort(why.includes('EADDRINUSE') ? new PortTaken(why) : new Error(why));
  };
  void tellOfEnd();
  const stop = async () => {
    isStopping = true;
    child.kill('SIGTERM');
    const isGone = await Promise.race([closed.then(() => true), sleep(stopTimeoutMs, false, { ref: false })]);
    if (!isGone) killGroup(child.pid);
    await closed;
    guard.kill('SIGKILL');
  };
  try {
    await waitUntilReady(baseUrl, AbortSignal.any([o.signal, ended.signal]), o.data.log);
  } catch (error) {
    await stop();
    throw error;
  }
  return { baseUrl, pid: child.pid ?? 0, ended: ended.signal, stop };
}

function serviceEnvironment({ data, secrets, port, env }: StartOptions, baseUrl: string): Record<string, string> {
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
    MEDIA_BUCKET: `file:${data.media}`,
    WORK_DIR: data.work,
    EXECUTOR: 'process',
    LOG_LEVEL: env['LOG_LEVEL'] === 'debug' ? 'debug' : 'info',
  };
}

/** The demo may be killed without a word. Its end of the guard's standard input closes then, and the guard stops the service. */
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
    // It is gone already.
  }
}

async function waitUntilReady(baseUrl: string, signal: AbortSignal, log: string): Promise<void> {
  const deadline = Date.now() + readyTimeoutMs;
  let last = 'it does not listen';
  while (Date.now() < deadline) {
    signal.throwIfAborted();
    // Only its own word counts: another program may answer on the port.
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

/** The message of the last line that tells of an error, else the last line. */
async function lastWords(log: string): Promise<string> {
  const lines = (await readLog(log)).split('\n').filter((line) => line.trim() !== '');
  const told = lines.flatMap((line) => {
    try {
      const { level, msg, err } = JSON.parse(line) as { level?: string; msg?: string; err?: { message?: string } };
      return level === 'error' || level === 'fatal' ? [[msg, err?.message].filter(Boolean).join(': ')] : [];
    } catch {
      return [line];
    }
  });
  return (told.at(-1) ?? lines.at(-1) ?? 'it said nothing').slice(0, 500);
}

/** `wanted` when it is given (`0`: any free one), else 3000 when nobody listens there, else a free one. @throws Error when `wanted` is taken */
export async function choosePort(wanted: string | undefined): Promise<number> {
  if (wanted === undefined || wanted === '') return (await listenOnce(3000)) ?? (await listenOnce(0)) ?? 0;
  const port = Number(wanted);
  if (!Number.isInteger(port) || port < 0 || port > 65_535) throw new Error(`PORT: ${wanted} is no port`);
  const free = await listenOnce(port);
  if (free === null) throw new Error(`PORT: somebody listens on ${port} already`);
  return free;
}

/** The port that was listened on for a moment; null when it cannot be had. */
async function listenOnce(port: number): Promise<number | null> {
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

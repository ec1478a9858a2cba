import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { isAlive } from '#platform/commands/is-alive.ts';
import { checkout, compileCache } from './checkout.ts';
import { freePort } from './free-port.ts';

// The program itself, `main.ts`, as processes of its own.

export const secrets = {
  API_KEY: 'an api key of the tests',
  KEY_TOKEN_SECRET: 'a token secret of the tests',
  WEBHOOK_SECRET: 'a webhook secret of the tests',
  ENCRYPTION_KEY: 'an encryption key of the tests',
  STREAM_SECRET: 'a stream secret of the tests',
};

/** A program on servers and folders of a test's own, which soon takes up what another process left. */
export function hastyVariables(at: {
  readonly databaseUrl: string;
  readonly redisUrl: string;
  readonly source: string;
  readonly media: string;
  readonly work: string;
}): Record<string, string> {
  return {
    ...secrets,
    DATABASE_URL: at.databaseUrl,
    REDIS_URL: at.redisUrl,
    SOURCE_BUCKET: `file:${at.source}`,
    MEDIA_BUCKET: `file:${at.media}`,
    WORK_DIR: at.work,
    LEASE_DURATION: '3s',
    SWEEP_INTERVAL: '500ms',
    TICKET_AGE: '2s',
    X264_PRESET: 'ultrafast',
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
  };
}

export interface Program {
  readonly pid: number;
  /** `http://127.0.0.1:PORT` of the listener that the mode has. */
  readonly url: string;
  /** Its standard error so far. */
  readonly output: () => string;
  readonly signal: (signal: NodeJS.Signals) => void;
  /** Its exit code, or the signal that ended it. */
  readonly ended: Promise<number | NodeJS.Signals | null>;
  /** The ids of all processes below it. */
  readonly descendants: () => Promise<number[]>;
  /** Ends it with all processes below it. */
  readonly end: () => Promise<void>;
}

interface StartOptions {
  readonly args?: readonly string[];
  /** All of its environment but PATH, HOME and a port for each listener. */
  readonly env: Readonly<Record<string, string>>;
  /** `npm start -- ARGS` instead of `node main.ts ARGS`. */
  readonly viaNpm?: boolean;
  /** Until when to wait: until it is ready (the default; a worker, until it is alive), or alive, or not at all. */
  readonly waits?: 'ready' | 'alive' | 'not';
  /** The checkout whose program is started; by default this one. */
  readonly folder?: string;
}

/** A start takes some seconds; this is for one that hangs. */
const startMs = 60_000;

const started = new Set<ChildProcess>();

/** Starts the program, and waits until it is ready. */
export async function startProgram(options: StartOptions): Promise<Program> {
  const { args = [], env, viaNpm = false, waits = 'ready', folder = checkout } = options;
  const [port, workerPort] = [await freePort(), await freePort()];
  const isWorker = args.includes('--mode=worker');
  const command = viaNpm ? ['npm', 'start', '--', ...args] : [process.execPath, 'main.ts', ...args];
  const child = spawn(command[0] ?? '', command.slice(1), {
    cwd: folder,
    env: {
      PATH: `${join(checkout, 'node_modules/.bin')}:${process.env['PATH'] ?? ''}`,
      HOME: process.env['HOME'] ?? '/tmp',
      NODE_COMPILE_CACHE: compileCache,
      HOST: '127.0.0.1',
      PORT: String(port),
      WORKER_METRICS_PORT: String(workerPort),
      BASE_URL: `http://127.0.0.1:${port}`,
      ...env,
    },
    stdio: ['ignore', 'ignore', 'pipe'],
    detached: true,
  });
  started.add(child);
  let output = '';
  child.stderr.setEncoding('utf8').on('data', (text: string) => (output += text));
  const ended = once(child, 'close').then(([code, signal]) => {
    started.delete(child);
    return (code ?? signal) as number | NodeJS.Signals | null;
  });
  const pid = child.pid ?? 0;
  const url = `http://127.0.0.1:${isWorker ? workerPort : port}`;
  const program: Program = {
    pid,
    url,
    ended,
    output: () => output,
    // To the whole group, as a terminal does: npm's shell ends at SIGTERM without passing the signal on.
    signal: (signal) => void process.kill(viaNpm ? -pid : pid, signal),
    descendants: () => descendantsOf(pid),
    end: () => endProgram(child),
  };
  if (waits !== 'not') {
    const path = waits === 'alive' || isWorker ? '/healthz' : '/readyz';
    const deadline = Date.now() + startMs;
    while (child.exitCode === null && !(await answers(url + path))) {
      if (Date.now() > deadline) throw new Error(`the program does not answer: ${output}`);
      await sleep(25);
    }
    if (child.exitCode !== null) throw new Error(`the program ended with ${child.exitCode}: ${output}`);
  }
  return program;
}

/** Ends every program that a test has left running, with all processes below it. */
export async function endPrograms(): Promise<void> {
  for (const child of started) await endProgram(child);
}

async function endProgram(child: ChildProcess): Promise<void> {
  if (child.pid === undefined) return;
  const pids = await descendantsOf(child.pid);
  const closed = child.exitCode === null && child.signalCode === null ? once(child, 'close') : Promise.resolve();
  for (const pid of [child.pid, ...pids]) if (isAlive(pid)) process.kill(pid, 'SIGKILL');
  await closed;
}

async function answers(url: string): Promise<boolean> {
  try {
    return (await fetch(url, { signal: AbortSignal.timeout(2_000) })).ok;
  } catch {
    return false;
  }
}

/** The ids of the processes below `pid`, from the parents in /proc. */
async function descendantsOf(pid: number): Promise<number[]> {
  const children = new Map<number, number[]>();
  for (const name of await readdir('/proc')) {
    if (!/^\d+$/.test(name)) continue;
    const stat = await readFile(`/proc/${name}/stat`, 'utf8').catch(() => '');
    const parent = Number(/\) \S (\d+)/.exec(stat)?.[1]);
    if (Number.isSafeInteger(parent)) children.set(parent, [...(children.get(parent) ?? []), Number(name)]);
  }
  const below = (one: number): number[] => (children.get(one) ?? []).flatMap((child) => [child, ...below(child)]);
  return below(pid);
}

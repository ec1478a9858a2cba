import { execFile } from 'node:child_process';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { type RunningProgram, spawnProgram } from './program.ts';
import { lastError, serviceEnvironment, type StartOptions } from './service.ts';

// The workers of the demo: processes beside the server, so that one of them can be killed. Whatever it was doing is
// taken over once its lease has lapsed.

const count = 2;

/** A killed worker is missed after this long, in place of the 15 s of a service. */
export const takeoverSettings = { LEASE_DURATION: '5s', SWEEP_INTERVAL: '1s', TICKET_AGE: '3s' };

export interface Workers {
  readonly pids: readonly number[];
  /** Aborted when a worker ends that was not killed here; the reason is an Error with the cause. */
  readonly ended: AbortSignal;
  /** Kills the worker that has the most to do, and starts another one in its place. @returns the killed one's id */
  killBusiest(): Promise<number>;
  stop(): Promise<void>;
}

/** Starts the workers of a service, which has made the tables. */
export async function startWorkers(options: StartOptions): Promise<Workers> {
  const ended = new AbortController();
  const workers: RunningProgram[] = [];
  const killed = new Set<number>();
  let started = 0;
  const start = async () => {
    started += 1;
    const workDir = join(options.data.work, `worker-${started}`);
    await mkdir(workDir, { recursive: true });
    // Nothing asks the workers for their health, and the port may be another program's.
    const env = { ...serviceEnvironment(options), WORK_DIR: workDir, WORKER_METRICS_PORT: '0' };
    const { checkout, data } = options;
    const worker = await spawnProgram({ checkout, mode: 'worker', env, log: data.log });
    workers.push(worker);
    const watch = async () => {
      const how = await worker.ended;
      if (how === null || killed.has(worker.pid)) return;
      ended.abort(new Error(`a worker ended ${how}: ${await lastError(options.data.log)} (log: ${options.data.log})`));
    };
    void watch();
  };
  for (let index = 0; index < count; index += 1) await start();
  return {
    get pids() {
      return workers.map(({ pid }) => pid);
    },
    ended: ended.signal,
    killBusiest: async () => {
      const pid = await busiestOf(workers.map((worker) => worker.pid));
      const index = Math.max(
        0,
        workers.findIndex((worker) => worker.pid === pid),
      );
      const [worker] = workers.splice(index, 1);
      if (worker === undefined) throw new Error('no worker is there to be killed');
      killed.add(worker.pid);
      worker.kill();
      await worker.ended;
      await start();
      return worker.pid;
    },
    stop: async () => void (await Promise.all(workers.map((worker) => worker.stop()))),
  };
}

/** The one with the most processes below it: each step of a job is one, and so is its encoder. */
async function busiestOf(pids: readonly number[]): Promise<number | undefined> {
  const { stdout } = await promisify(execFile)('ps', ['-A', '-o', 'pid=,ppid=']);
  const rows = stdout
    .trim()
    .split('\n')
    .map((line) => line.trim().split(/\s+/).map(Number));
  const below = (pid: number): number =>
    rows.reduce((sum, [child = 0, parent]) => (parent === pid ? sum + 1 + below(child) : sum), 0);
  return pids.toSorted((a, b) => below(b) - below(a))[0];
}

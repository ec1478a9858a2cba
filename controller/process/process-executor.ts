import { EventEmitter, once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Job } from '#domain/jobs/job.ts';
import { type QueueName } from '#domain/jobs/routing.ts';
import type { Executor } from '../executor.ts';
import { type AttemptDependencies, runAttempt } from './attempt.ts';
import { findIsolation, type Isolation } from './isolation.ts';
import type { StopReason } from './lease.ts';
import { removeAbandonedWorkspaces, workspacePrefix } from './workspaces.ts';

export interface ProcessExecutorOptions {
  /** How many jobs of each queue run at once in this process. */
  readonly concurrency: Readonly<Record<QueueName, number>>;
  /** How long a claim holds without being renewed. */
  readonly leaseMs: number;
  /** The folder in which each attempt gets a workspace. */
  readonly workDir: string;
  /** Makes this process's name as a lease owner unique. */
  readonly randomUuid: () => string;
}

interface Running {
  readonly queue: QueueName;
  readonly stop: AbortController;
  readonly ended: Promise<void>;
}

/**
 * Runs the runner as child processes of this worker, under a lease in Postgres.
 *
 * A crash of this process ends its children (their standard input closes) and leaves leases that lapse and workspaces
 * that the next worker on this machine removes.
 */
export class ProcessExecutor implements Executor {
  readonly name = 'process';
  readonly lease: { readonly owner: string; readonly durationMs: number };
  readonly #options: ProcessExecutorOptions;
  readonly #dependencies: Omit<AttemptDependencies, 'isolation'>;
  #isolation: Isolation | null = null;
  readonly #running = new Map<string, Running>();
  readonly #freed = new EventEmitter().setMaxListeners(0);

  constructor(options: ProcessExecutorOptions, dependencies: Omit<AttemptDependencies, 'isolation'>) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.lease = { owner: `${hostname()}:${process.pid}:${options.randomUuid()}`, durationMs: options.leaseMs };
  }

  async start(): Promise<void> {
    const { log, base } = this.#dependencies;
    await mkdir(this.#options.workDir, { recursive: true });
    await removeAbandonedWorkspaces(this.#options.workDir, log);
    const found = await findIsolation(base);
    if ('isolation' in found) this.#isolation = found.isolation;
    else log.warn({ reason: found.reason }, 'process isolation unavailable');
  }

  freeSlots(queue: QueueName): number {
    const taken = [...this.#running.values()].filter((running) => running.queue === queue).length;
    return Math.max(0, this.#options.concurrency[queue] - taken);
  }

  async whenFree(queue: QueueName, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    while (this.freeSlots(queue) === 0) await once(this.#freed, 'freed', { signal });
  }

  async run(job: Job): Promise<void> {
    const key = `${job.id}:${job.attempt}`;
    if (this.#running.has(key)) return;
    const workspace = await mkdtemp(join(this.#options.workDir, workspacePrefix()));
    const stop = new AbortController();
    const dependencies = { ...this.#dependencies, isolation: this.#isolation };
    const { log } = dependencies;
    const ended = runAttempt({ job, workspace, lease: this.lease, stop }, dependencies)
      .catch((error: unknown) => log.error({ err: error, job_id: job.id, attempt: job.attempt }, 'attempt crashed'))
      .then(() => rm(workspace, { recursive: true, force: true, maxRetries: 3 }))
      .catch((error: unknown) => log.warn({ err: error, workspace }, 'workspace removal failed'))
      .finally(() => {
        this.#running.delete(key);
        this.#freed.emit('freed');
      });
    this.#running.set(key, { queue: job.queue, stop, ended });
  }

  async stop(signal: AbortSignal): Promise<void> {
    const reason: StopReason = 'stopping';
    for (const running of this.#running.values()) running.stop.abort(reason);
    const all = Promise.all([...this.#running.values()].map((running) => running.ended));
    const deadline = signal.aborted ? Promise.resolve() : once(signal, 'abort');
    await Promise.race([all, deadline]);
  }
}

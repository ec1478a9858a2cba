import { EventEmitter, once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import type { Job } from '#domain/jobs/job.ts';
import { poolOfQueue, type QueueName } from '#domain/jobs/routing.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { warmRunnerVariables } from '#domain/work/access.ts';
import { findIsolation, type Isolation, memoryLimit } from '#platform/commands/isolation.ts';
import type { Executor } from '../execution/executor.ts';
import { PoolTurns } from '../execution/pool-turns.ts';
import { type AttemptDependencies, runAttempt } from './attempt.ts';
import { WarmRunner } from './warm-runner.ts';
import { WarmRunners } from './warm-runners.ts';
import type { StopReason } from './lease.ts';
import { endsWithParent } from './run-steps.ts';
import { compileCacheName, removeAbandonedWorkspaces, workspacePrefix } from './workspaces.ts';

export interface ProcessExecutorOptions {
  /** How many jobs of each queue run at once in this process. */
  readonly concurrency: Readonly<Record<QueueName, number>>;
  /** How long a claim holds without being renewed. */
  readonly leaseMs: number;
  /** The folder in which each attempt gets a workspace. */
  readonly workDir: string;
  /** A warm runner is replaced after this many jobs. */
  readonly jobsPerRunner: number;
  /** Makes this process's name as a lease owner unique. */
  readonly randomUuid: () => string;
}

/** The memory of a warm runner; images are bounded by their pixels, and the largest need less than half of it. */
const warmRunnerBytesMax = 4 * 1024 ** 3;

type ExecutorDependencies = Omit<AttemptDependencies, 'isolation' | 'warmRunners'>;

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
  readonly turns: PoolTurns;
  readonly #options: ProcessExecutorOptions;
  readonly #dependencies: ExecutorDependencies;
  readonly #warmRunners: WarmRunners;
  #isolation: Isolation | null = null;
  /** The isolation of warm runners, which read object storage themselves; empty where this machine has none. */
  #warmIsolation: Isolation = [];
  /**
   * Compiled modules of the runner in `steps`, and of warm runners in `images`. The folder belongs to this process
   * alone, since whoever writes to it runs code in the steps: `process` only reads it, and warm runners only read
   * `steps`.
   */
  #compileCache = '';
  readonly #running = new Map<string, Running>();
  readonly #freed = new EventEmitter().setMaxListeners(0);

  constructor(options: ProcessExecutorOptions, dependencies: ExecutorDependencies) {
    this.#options = options;
    this.#dependencies = dependencies;
    this.#warmRunners = new WarmRunners({ start: () => this.#startWarmRunner(), tasksMax: options.jobsPerRunner });
    this.lease = { owner: `${hostname()}:${process.pid}:${options.randomUuid()}`, durationMs: options.leaseMs };
    this.turns = new PoolTurns({ jobs: dependencies.jobs, owner: this.lease.owner, now: () => performance.now() });
  }

  async start(): Promise<void> {
    const { log, base } = this.#dependencies;
    await mkdir(this.#options.workDir, { recursive: true });
    await removeAbandonedWorkspaces(this.#options.workDir, log);
    this.#compileCache = await mkdtemp(join(this.#options.workDir, `${workspacePrefix()}${compileCacheName}-`));
    const found = await findIsolation({ env: base, readOnly: this.#compileCache });
    if ('reason' in found) return log.warn({ reason: found.reason }, 'process isolation unavailable');
    this.#isolation = found.isolation;
    const warm = await findIsolation({ env: base, readOnly: join(this.#compileCache, 'steps'), keepsNetwork: true });
    if ('isolation' in warm) this.#warmIsolation = [...warm.isolation, ...memoryLimit(warmRunnerBytesMax)];
  }

  freeSlots(queue: QueueName): number {
    const taken = [...this.#running.values()].filter((running) => running.queue === queue).length;
    return Math.max(0, this.#options.concurrency[queue] - taken);
  }

  /** Slots are those of queues: there are no other pools. */
  poolOf({ queue }: Pick<Ticket, 'queue'>): string {
    return poolOfQueue[queue];
  }

  /** Every job is claimed by its ticket. */
  admits(): Promise<boolean> {
    return Promise.resolve(true);
  }

  ticketsPastQueue(): Promise<readonly Ticket[]> {
    return Promise.resolve([]);
  }

  activePods(): null {
    return null;
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
    const dependencies = {
      ...this.#dependencies,
      base: this.#base('steps'),
      isolation: this.#isolation,
      warmRunners: this.#warmRunners,
    };
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
    const all = Promise.all([...this.#running.values()].map((running) => running.ended)).then(() =>
      this.#warmRunners.stop(),
    );
    const deadline = signal.aborted ? Promise.resolve() : once(signal, 'abort');
    await Promise.race([all, deadline]);
    await rm(this.#compileCache, { recursive: true, force: true, maxRetries: 3 });
  }

  #base(of: 'steps' | 'images'): Readonly<Record<string, string>> {
    return { ...this.#dependencies.base, NODE_COMPILE_CACHE: join(this.#compileCache, of) };
  }

  async #startWarmRunner(): Promise<WarmRunner> {
    const { runner, storage, log } = this.#dependencies;
    // For temporary files; each job has its own workspace.
    const workspace = await mkdtemp(join(this.#options.workDir, workspacePrefix()));
    const base = this.#base('images');
    const env = { ...warmRunnerVariables({ workspace, base, storage }), ...endsWithParent };
    const command = { program: runner.program, args: [runner.script, 'serve'] };
    const started = new WarmRunner(command, { isolation: this.#warmIsolation, env, cwd: workspace });
    void started
      .ended()
      .then(() => rm(workspace, { recursive: true, force: true, maxRetries: 3 }))
      .catch((error: unknown) => log.warn({ err: error, workspace }, 'workspace removal failed'));
    return started;
  }
}

import type { Job } from '#domain/jobs/job.ts';
import { poolOfQueue, type QueueName } from '#domain/jobs/routing.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { EventRecorder } from '#platform/kubernetes/events.ts';
import { LeaderElector } from '#platform/kubernetes/leader-elector.ts';
import type { Executor } from '../execution/executor.ts';
import type { PoolTurns } from '../execution/pool-turns.ts';
import type { MediaJobDependencies } from './leader/dependencies.ts';
import { LeaderController } from './leader/leader-controller.ts';
import { ClaimedJobs, leaseOwner } from './slots/claimed-jobs.ts';

/** The Lease of the leader, in the namespace of the release. */
const leaseName = 'reelwright-controller';

/**
 * Runs jobs as pods. Of all workers, the one that holds the Lease admits and reconciles; the others stand by.
 *
 * A worker that stops ends no job: pods continue, and the next leader finds them.
 */
export class KubernetesExecutor implements Executor {
  readonly name = 'kubernetes';
  /** Never lapses: the current leader decides about every claimed job, whichever leader claimed it. */
  readonly lease = { owner: leaseOwner, durationMs: Infinity };
  readonly turns: PoolTurns;
  readonly #claimed = new ClaimedJobs();
  readonly #elector: LeaderElector;
  readonly #recorder: EventRecorder;
  #leader: LeaderController | null = null;

  constructor(dependencies: MediaJobDependencies) {
    this.turns = dependencies.turns;
    const { client, log, podName, podNamespace, randomUuid, metrics } = dependencies;
    const showLeader = (value: 0 | 1) => metrics.leader.set({ lease: leaseName }, value);
    showLeader(0);
    this.#recorder = new EventRecorder({ client, instance: podName, log });
    this.#elector = new LeaderElector({
      client,
      log,
      namespace: podNamespace,
      name: leaseName,
      identity: `${podName}_${randomUuid()}`,
      onStarted: (term) => {
        log.info({ pod: podName }, 'became leader');
        showLeader(1);
        const recorder = this.#recorder;
        this.#leader = new LeaderController({ dependencies, term, claimed: this.#claimed, recorder });
        this.#leader.start();
      },
      onStopped: async () => {
        showLeader(0);
        const leader = this.#leader;
        this.#leader = null;
        await leader?.stop();
        log.info({ pod: podName }, 'stopped leading');
      },
    });
  }

  async start(): Promise<void> {
    await this.#elector.start();
  }

  freeSlots(queue: QueueName): number {
    return this.#leader?.claims.freeSlots(queue) ?? 0;
  }

  async whenFree(queue: QueueName, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    while (this.freeSlots(queue) === 0) await this.#claimed.nextChange(signal);
  }

  poolOf(ticket: Pick<Ticket, 'queue' | 'pool'>): string {
    return ticket.pool ?? poolOfQueue[ticket.queue];
  }

  async admits(ticket: Ticket): Promise<boolean> {
    return this.#leader === null || (await this.#leader.claims.admits(ticket));
  }

  activePods(queue: QueueName): number {
    return this.#leader?.activePods(queue) ?? 0;
  }

  async ticketsPastQueue(): Promise<readonly Ticket[]> {
    return (await this.#leader?.claims.ticketsPastQueue()) ?? [];
  }

  async run(job: Job): Promise<void> {
    if (this.#leader === null) throw new Error('this process is not the leader');
    await this.#leader.run(job);
  }

  async stop(signal: AbortSignal): Promise<void> {
    await this.#elector.stop();
    await this.#recorder.stop(signal);
  }
}

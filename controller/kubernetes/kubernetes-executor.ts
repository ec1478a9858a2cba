import type { Job } from '#domain/jobs/job.ts';
import type { QueueName } from '#domain/jobs/routing.ts';
import { EventRecorder } from '#platform/kubernetes/events.ts';
import { LeaderElector } from '#platform/kubernetes/leader-elector.ts';
import type { MediaJobDependencies } from './dependencies.ts';
import { LeaderController } from './leader-controller.ts';
import { leaseOwner } from './reconcile/settle.ts';
import type { Executor } from '../executor.ts';
import { ClaimedJobs } from './slots/claimed-jobs.ts';

/**
 * Runs jobs as pods. Of all the workers, the one that holds the Lease admits and reconciles; the others wait for it.
 *
 * A worker that stops gives nothing up: pods run on, and the next leader finds them.
 */
export class KubernetesExecutor implements Executor {
  readonly name = 'kubernetes';
  /** Never lapses: what becomes of a held job is the leader's to see, whoever that is. */
  readonly lease = { owner: leaseOwner, durationMs: Infinity };
  readonly #held = new ClaimedJobs();
  readonly #elector: LeaderElector;
  readonly #recorder: EventRecorder;
  #leadership: LeaderController | null = null;

  constructor(d: MediaJobDependencies) {
    const { client, log, podName, podNamespace } = d;
    this.#recorder = new EventRecorder({ client, instance: podName, log });
    this.#elector = new LeaderElector({
      client,
      log,
      namespace: podNamespace,
      name: 'reelwright-controller',
      identity: `${podName}_${d.randomUuid()}`,
      onStarted: (term) => {
        log.info({ pod: podName }, 'became leader');
        this.#leadership = new LeaderController({ d, term, held: this.#held, recorder: this.#recorder });
        this.#leadership.start();
      },
      onStopped: async () => {
        const leadership = this.#leadership;
        this.#leadership = null;
        await leadership?.stop();
        log.info({ pod: podName }, 'stopped leading');
      },
    });
  }

  async start(): Promise<void> {
    await this.#elector.start();
  }

  freeSlots(queue: QueueName): number {
    return this.#leadership?.freeSlots(queue) ?? 0;
  }

  async whenFree(queue: QueueName, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted();
    while (this.freeSlots(queue) === 0) await this.#held.nextChange(signal);
  }

  async run(job: Job): Promise<void> {
    if (this.#leadership === null) throw new Error('this worker does not lead');
    await this.#leadership.run(job);
  }

  async stop(signal: AbortSignal): Promise<void> {
    await this.#elector.stop();
    await this.#recorder.stop(signal);
  }
}

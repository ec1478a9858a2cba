import { WorkQueue } from '#platform/kubernetes/work-queue.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { reflectRollouts, type RolloutPorts } from './reflect-rollouts.ts';

/** They are reflected as a whole, so the queue has one key. */
const everyRollout = 'all';
const retryBackoff = { baseMs: 1_000, maxMs: 30_000 };

/**
 * Reflects the MediaRollouts of the cluster during one term. Nothing waits for them: jobs run without their definition
 * or the right to list them, as in the middle of an upgrade.
 */
export class RolloutWork {
  readonly #rollouts: RolloutPorts['caches']['rollouts'];
  readonly #queue: WorkQueue;

  constructor(ports: RolloutPorts & { readonly log: Logger }) {
    this.#rollouts = ports.caches.rollouts;
    this.#queue = new WorkQueue({
      name: 'mediarollouts',
      handle: () => reflectRollouts(ports),
      concurrency: 1,
      log: ports.log,
      backoff: retryBackoff,
    });
  }

  changed(): void {
    this.#queue.add(everyRollout);
  }

  /** Begins once the MediaRollouts are listed. */
  start(): void {
    // Also when there are none: objects of an earlier term may have been deleted.
    this.changed();
    void this.#rollouts
      .whenSynced()
      .then(() => this.#queue.start())
      .catch(() => undefined);
  }

  async stop(how: { queued: 'drop' }): Promise<void> {
    await this.#queue.stop(how);
  }
}

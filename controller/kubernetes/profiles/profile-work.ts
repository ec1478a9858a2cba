import { WorkQueue } from '#platform/kubernetes/work-queue.ts';
import type { LeaderContext } from '../leader-context.ts';
import { publishProfiles } from './publish-profiles.ts';

/** The profiles are published as a whole, so the queue has one key. */
const everyProfile = 'all';
const retryBackoff = { baseMs: 1_000, maxMs: 30_000 };

/**
 * Publishes the MediaProfiles of the cluster during one term. Nothing else waits for them: jobs run without the
 * definition of MediaProfile, or the right to list them, as after half an upgrade.
 */
export class ProfileWork {
  readonly #context: LeaderContext;
  readonly #queue: WorkQueue;

  constructor(context: LeaderContext) {
    this.#context = context;
    this.#queue = new WorkQueue({
      name: 'mediaprofiles',
      handle: () => publishProfiles(context),
      concurrency: 1,
      log: context.dependencies.log,
      backoff: retryBackoff,
    });
  }

  changed(): void {
    this.#queue.add(everyProfile);
  }

  /** Begins once the MediaProfiles are listed. */
  start(): void {
    // Also when there are none: those of an earlier term may have been deleted.
    this.changed();
    const { profiles } = this.#context.caches;
    void profiles
      .whenSynced()
      .then(() => this.#queue.start())
      .catch(() => undefined);
  }

  async stop(how: { queued: 'drop' }): Promise<void> {
    await this.#queue.stop(how);
  }
}

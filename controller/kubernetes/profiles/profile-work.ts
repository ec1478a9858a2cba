import { WorkQueue } from '#platform/kubernetes/work-queue.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { type ProfilePorts, publishProfiles } from './publish-profiles.ts';

/** The profiles are published as a whole, so the queue has one key. */
const everyProfile = 'all';
const retryBackoff = { baseMs: 1_000, maxMs: 30_000 };

/**
 * Publishes the MediaProfiles of the cluster during one term. Nothing waits for them: jobs run without their definition
 * or the right to list them, as in the middle of an upgrade.
 */
export class ProfileWork {
  readonly #profiles: ProfilePorts['caches']['profiles'];
  readonly #queue: WorkQueue;

  constructor(ports: ProfilePorts & { readonly log: Logger }) {
    this.#profiles = ports.caches.profiles;
    this.#queue = new WorkQueue({
      name: 'mediaprofiles',
      handle: () => publishProfiles(ports),
      concurrency: 1,
      log: ports.log,
      backoff: retryBackoff,
    });
  }

  changed(): void {
    this.#queue.add(everyProfile);
  }

  /** Begins once the MediaProfiles are listed. */
  start(): void {
    // Also when there are none: profiles of an earlier term may have been deleted.
    this.changed();
    void this.#profiles
      .whenSynced()
      .then(() => this.#queue.start())
      .catch(() => undefined);
  }

  async stop(how: { queued: 'drop' }): Promise<void> {
    await this.#queue.stop(how);
  }
}

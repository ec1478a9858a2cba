import { setTimeout as sleep } from 'node:timers/promises';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { jobs, mediaJobs, type ObjectMeta, pods, type Resource, secrets } from '#platform/kubernetes/objects.ts';

type Kind = Resource<{ metadata?: ObjectMeta }>;

/** What is owned before what owns it: the owner of what is found was there then, and is found later if it still is. */
const kinds: readonly Kind[] = [pods, secrets, jobs, mediaJobs];

interface Found {
  readonly kind: Kind;
  readonly metadata: ObjectMeta;
}

/** Does for a namespace what the garbage collector of a cluster does: an object goes after its owner. */
export class GarbageCollector {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #stopping = new AbortController();
  #collecting: Promise<void> | undefined;

  constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  start(): void {
    this.#collecting = this.#collectForever();
  }

  async stop(): Promise<void> {
    this.#stopping.abort();
    await this.#collecting;
  }

  async #collectForever(): Promise<void> {
    while (!this.#stopping.signal.aborted) {
      await this.#collect().catch((error: unknown) => {
        if (!hasReason(error, 'NotFound', 'Conflict', 'TooManyRequests')) throw error;
      });
      await sleep(200);
    }
  }

  async #collect(): Promise<void> {
    const found: Found[] = [];
    for (const kind of kinds) {
      const { items } = await this.#client.list(kind, { namespace: this.#namespace });
      found.push(...items.map(({ metadata = {} }) => ({ kind, metadata })));
    }
    const uids = new Set(found.map(({ metadata }) => metadata.uid));
    for (const { kind, metadata } of found) {
      const owners = metadata.ownerReferences ?? [];
      const isOrphan = owners.length > 0 && owners.every(({ uid }) => !uids.has(uid));
      if (isOrphan && metadata.deletionTimestamp === undefined) await this.#delete({ kind, metadata });
      if (metadata.finalizers?.includes('foregroundDeletion') !== true) continue;
      const own = found.filter((each) => each.metadata.ownerReferences?.some(({ uid }) => uid === metadata.uid));
      for (const each of own) await this.#delete(each);
      const ref = { namespace: this.#namespace, name: metadata.name ?? '' };
      if (own.length === 0) await this.#client.mergePatch(kind, ref, { metadata: { finalizers: null } });
    }
  }

  async #delete({ kind, metadata }: Found): Promise<void> {
    const options = kind.plural === 'pods' ? { gracePeriodSeconds: 0 } : {};
    await this.#client.delete(kind, { namespace: this.#namespace, name: metadata.name ?? '' }, options);
  }
}

import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { KubeObject, Resource } from '#platform/kubernetes/objects.ts';
import type { JobSnapshot } from '../snapshots/job.ts';
import type { PodSnapshot } from '../snapshots/pod.ts';

/** Events of the core group: the API server can select these by their object. */
interface CoreEvent extends KubeObject {
  involvedObject?: { name?: string };
  message?: string;
}
const coreEvents: Resource<CoreEvent> = { apiVersion: 'v1', kind: 'Event', plural: 'events', isNamespaced: true };

/** The events of a Job without a pod are read after this time; the Job controller takes a second or two. */
const podLateMs = 4_000;
/** How long one list serves for all Jobs: the API server reads every event of the namespace for it. */
const listTtlMs = 5_000;

/** Events of one page of a list. */
const pageSizeDefault = 500;

/** Why the Job controller could not create pods (mostly a quota): only its events say so. */
export class PodCreationFailures {
  readonly #client: KubeClient;
  readonly #namespace: string;
  readonly #pageSize: number;
  #listedMs = -Infinity;
  #messages: Promise<ReadonlyMap<string, string>> = Promise.resolve(new Map());

  constructor(client: KubeClient, namespace: string, pageSize = pageSizeDefault) {
    this.#client = client;
    this.#namespace = namespace;
    this.#pageSize = pageSize;
  }

  /** The last failure of a Job whose pod is late; null when there is none. */
  async of(job: JobSnapshot | null, pod: PodSnapshot | null, nowMs: number): Promise<string | null> {
    if (job === null || pod !== null || job.hasPod || job.isSuspended) return null;
    const { creationTimestamp = '', name = '' } = job.metadata;
    if (nowMs - Date.parse(creationTimestamp) < podLateMs) return null;
    if (nowMs - this.#listedMs >= listTtlMs) {
      this.#listedMs = nowMs;
      this.#messages = this.#list();
    }
    try {
      return (await this.#messages).get(name) ?? null;
    } catch (error) {
      this.#listedMs = -Infinity;
      throw error;
    }
  }

  async #list(): Promise<ReadonlyMap<string, string>> {
    const fieldSelector = 'involvedObject.kind=Job,reason=FailedCreate';
    const messages = new Map<string, string>();
    let next: string | undefined;
    do {
      const page = {
        namespace: this.#namespace,
        fieldSelector,
        limit: this.#pageSize,
        ...(next ? { continue: next } : {}),
      };
      const { items, metadata } = await this.#client.list(coreEvents, page);
      for (const { involvedObject, message = '' } of items) messages.set(involvedObject?.name ?? '', message);
      next = metadata.continue;
    } while (next);
    return messages;
  }
}

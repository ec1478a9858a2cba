import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { KubeObject, Resource } from '#platform/kubernetes/objects.ts';
import type { JobSnapshot, PodSnapshot } from '../snapshots.ts';

/** The old kind of events: the API server selects these by the object they are about. */
interface CoreEvent extends KubeObject {
  involvedObject?: { name?: string };
  message?: string;
}
const coreEvents: Resource<CoreEvent> = { apiVersion: 'v1', kind: 'Event', plural: 'events', isNamespaced: true };

/** A Job whose pod is not there after this is asked about; the Job controller takes a second or two. */
const podLateMs = 4_000;
/** One list for all Jobs serves so long: the API server reads every event of the namespace to make it. */
const listServesMs = 5_000;

/** Why the Job controller could not make a pod, a quota mostly: it says so in an event alone. */
export class PodCreationFailures {
  readonly #client: KubeClient;
  readonly #namespace: string;
  #listedMs = -Infinity;
  #messages: Promise<ReadonlyMap<string, string>> = Promise.resolve(new Map());

  constructor(client: KubeClient, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  /** What was last said of a Job that is late with its pod; null: nothing, or it is not. */
  async of(job: JobSnapshot | null, pod: PodSnapshot | null, nowMs: number): Promise<string | null> {
    if (job === null || pod !== null || job.hasPod || job.isSuspended) return null;
    const { creationTimestamp = '', name = '' } = job.metadata;
    if (nowMs - Date.parse(creationTimestamp) < podLateMs) return null;
    if (nowMs - this.#listedMs >= listServesMs) {
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
    const { items } = await this.#client.list(coreEvents, { namespace: this.#namespace, fieldSelector });
    return new Map(items.map(({ involvedObject, message }) => [involvedObject?.name ?? '', message ?? '']));
  }
}

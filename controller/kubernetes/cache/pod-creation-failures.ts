import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { KubeObject, Resource } from '#platform/kubernetes/objects.ts';
import { endOfJob, type JobSnapshot, podsMaxOf } from '../snapshots/job.ts';
import { isPodOver, type PodSnapshot } from '../snapshots/pod.ts';

/** Events of the core group: the API server can select these by their object. */
interface CoreEvent extends KubeObject {
  involvedObject?: { name?: string };
  message?: string;
  eventTime?: string | null;
  /** The last time of an event that was repeated. */
  lastTimestamp?: string | null;
  series?: { lastObservedTime?: string } | null;
}

interface CreationFailure {
  readonly message: string;
  readonly atMs: number;
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
  #failures: Promise<ReadonlyMap<string, CreationFailure>> = Promise.resolve(new Map());

  constructor(client: KubeClient, namespace: string, pageSize = pageSizeDefault) {
    this.#client = client;
    this.#namespace = namespace;
    this.#pageSize = pageSize;
  }

  /**
   * The last failure of a Job that has fewer pods than it may have; null when a pod was created since. A pod of an
   * Indexed Job may end or be deleted before the next one cannot be created, so its earlier pods do not count.
   */
  async of(job: JobSnapshot | null, pods: readonly PodSnapshot[], nowMs: number): Promise<string | null> {
    if (job === null || job.isSuspended || endOfJob(job) !== null || hasAllPods(job, pods)) return null;
    const { creationTimestamp = '', name = '' } = job.metadata;
    if (nowMs - Date.parse(creationTimestamp) < podLateMs) return null;
    if (nowMs - this.#listedMs >= listTtlMs) {
      this.#listedMs = nowMs;
      this.#failures = this.#list();
    }
    try {
      const failure = (await this.#failures).get(name);
      return failure === undefined || failure.atMs < newestMs(pods) ? null : failure.message;
    } catch (error) {
      this.#listedMs = -Infinity;
      throw error;
    }
  }

  async #list(): Promise<ReadonlyMap<string, CreationFailure>> {
    const fieldSelector = 'involvedObject.kind=Job,reason=FailedCreate';
    const failures = new Map<string, CreationFailure>();
    let next: string | undefined;
    do {
      const page = {
        namespace: this.#namespace,
        fieldSelector,
        limit: this.#pageSize,
        ...(next ? { continue: next } : {}),
      };
      const { items, metadata } = await this.#client.list(coreEvents, page);
      for (const event of items) {
        const name = event.involvedObject?.name ?? '';
        const atMs = timeOfEvent(event);
        if (atMs >= (failures.get(name)?.atMs ?? -Infinity)) failures.set(name, { message: event.message ?? '', atMs });
      }
      next = metadata.continue;
    } while (next);
    return failures;
  }
}

function hasAllPods(job: JobSnapshot, pods: readonly PodSnapshot[]): boolean {
  if (job.indexed === undefined) return pods.length > 0 || job.hasPod;
  return pods.filter((pod) => !isPodOver(pod)).length >= podsMaxOf(job);
}

function newestMs(pods: readonly PodSnapshot[]): number {
  return Math.max(-Infinity, ...pods.map(({ metadata }) => Date.parse(metadata.creationTimestamp ?? '') || -Infinity));
}

function timeOfEvent({ eventTime, lastTimestamp, series, metadata }: CoreEvent): number {
  const times = [series?.lastObservedTime, lastTimestamp, eventTime, metadata?.creationTimestamp];
  return Math.max(...times.map((time) => (time ? Date.parse(time) : -Infinity)));
}

import { poolOfQueue, type QueueName } from '#domain/jobs/routing.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import {
  jobs,
  type KubeObject,
  type MediaJob,
  mediaJobs,
  pods,
  type Resource,
  type RunnerPool,
  runnerPools,
} from '#platform/kubernetes/objects.ts';
import { Reflector, type ReflectorOptions } from '#platform/kubernetes/reflector.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { labels, mediaJobAnnotation } from '../manifests/names.ts';
import { PodCreationFailures } from './pod-creation-failures.ts';
import {
  endOfJob,
  isPodOver,
  jobIdOf,
  type JobSnapshot,
  type PodSnapshot,
  trimJob,
  trimMediaJob,
  trimPod,
} from '../snapshots.ts';

/** What the caches tell of: a MediaJob to look at, by its key. */
export interface CacheListener {
  /** Something about the MediaJob of this key has changed. */
  changed(key: string): void;
  /** A MediaJob is there, or has changed. Returns whether it is to be looked at. */
  mediaJobSeen(mediaJob: MediaJob): boolean;
  mediaJobGone(mediaJob: MediaJob): void;
  /** A Job is there. */
  jobSeen(job: JobSnapshot): void;
  /** A Job or one of its pods has changed; `isAtWork`: something of it may run. */
  jobMoved(name: string, isAtWork: boolean): void;
  poolChanged(pool: string): void;
  poolGone(pool: RunnerPool): void;
}

interface CacheOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  readonly log: Logger;
  readonly listener: CacheListener;
  readonly relistEveryMs?: number;
}

/** A page is whole in memory before it is trimmed: of 10,000 jobs, pages of 500 leave a heap of twice the size. */
const pageSize = 100;

/** Copies of everything in the runners' namespace that is ours, and where to find one thing by another. */
export class Caches {
  readonly mediaJobs: Reflector<MediaJob, MediaJob>;
  readonly pools: Reflector<RunnerPool, RunnerPool>;
  readonly denials: PodCreationFailures;
  readonly #jobs: Reflector<NonNullable<(typeof jobs)['example']>, JobSnapshot & KubeObject>;
  readonly #pods: Reflector<NonNullable<(typeof pods)['example']>, PodSnapshot & KubeObject>;
  readonly #namespace: string;
  readonly #listener: CacheListener;
  readonly #keyOfJob = new Map<string, string>();
  readonly #jobNames = new Groups();
  readonly #podNames = new Groups();

  constructor({ client, namespace, log, listener, ...times }: CacheOptions) {
    this.#namespace = namespace;
    this.denials = new PodCreationFailures(client, namespace);
    this.#listener = listener;
    const shared = { client, namespace, log, pageSize, ...times };
    const ours = { ...shared, labelSelector: labels.jobId };
    this.mediaJobs = reflector(mediaJobs, trimMediaJob, {
      ...shared,
      handlers: {
        added: (mediaJob) => this.#mediaJobSeen(mediaJob),
        updated: (mediaJob) => this.#mediaJobSeen(mediaJob),
        deleted: (mediaJob) => this.#mediaJobGone(mediaJob),
      },
    });
    this.pools = reflector(runnerPools, (pool: RunnerPool) => pool, {
      ...shared,
      handlers: {
        added: ({ metadata }) => listener.poolChanged(metadata?.name ?? ''),
        updated: ({ metadata, spec }, before) => {
          if (JSON.stringify(spec) !== JSON.stringify(before.spec)) listener.poolChanged(metadata?.name ?? '');
        },
        deleted: (pool) => listener.poolGone(pool),
      },
    });
    this.#jobs = reflector(jobs, trimJob, {
      ...ours,
      handlers: {
        added: (job) => this.#jobMoved(job),
        updated: (job, before) => isSameButVersion(job, before) || this.#jobMoved(job),
        deleted: (job) => this.#jobMoved(job, true),
      },
    });
    this.#pods = reflector(pods, trimPod, {
      ...ours,
      handlers: {
        added: (pod) => this.#podMoved(pod),
        updated: (pod, before) => isSameButVersion(pod, before) || this.#podMoved(pod),
        deleted: (pod) => this.#podMoved(pod, true),
      },
    });
  }

  async start(): Promise<void> {
    await Promise.all([this.mediaJobs, this.pools, this.#jobs, this.#pods].map((each) => each.start()));
  }

  /** Resolves once everything has been listed; rejects when stopped before. */
  async whenSynced(): Promise<void> {
    await Promise.all([this.mediaJobs, this.pools, this.#jobs, this.#pods].map((each) => each.whenSynced()));
  }

  async stop(): Promise<void> {
    await Promise.all([this.mediaJobs, this.pools, this.#jobs, this.#pods].map((each) => each.stop()));
  }

  mediaJob(key: string): MediaJob | undefined {
    return this.mediaJobs.get(this.#namespace, key.slice(key.indexOf('/') + 1));
  }

  /** The key of a job's MediaJob. */
  keyOfJob(jobId: string): string | undefined {
    return this.#keyOfJob.get(jobId);
  }

  job(name: string): JobSnapshot | null {
    return this.#jobs.get(this.#namespace, name) ?? null;
  }

  /** Every Job of a job, of whatever attempt. */
  jobsOf(jobId: string): JobSnapshot[] {
    return this.#jobNames.of(jobId).flatMap((name) => this.job(name) ?? []);
  }

  /** The pod of a Job: the one that came to more, should there be two. */
  podOf(jobName: string): PodSnapshot | null {
    const found = this.#podNames.of(jobName).flatMap((name) => this.#pods.get(this.#namespace, name) ?? []);
    return found.find(({ phase }) => phase === 'Succeeded') ?? found.at(-1) ?? null;
  }

  #mediaJobSeen(mediaJob: MediaJob): void {
    this.#keyOfJob.set(jobIdOf(mediaJob), keyOf(mediaJob));
    if (this.#listener.mediaJobSeen(mediaJob)) this.#listener.changed(keyOf(mediaJob));
  }

  #mediaJobGone(mediaJob: MediaJob): void {
    if (this.#keyOfJob.get(jobIdOf(mediaJob)) === keyOf(mediaJob)) this.#keyOfJob.delete(jobIdOf(mediaJob));
    this.#listener.mediaJobGone(mediaJob);
    this.#listener.changed(keyOf(mediaJob));
  }

  #jobMoved(job: JobSnapshot, isGone = false): void {
    const { name = '' } = job.metadata;
    const jobId = job.metadata.labels?.[labels.jobId] ?? '';
    this.#jobNames.put(jobId, name, isGone);
    if (!isGone) this.#listener.jobSeen(job);
    this.#tellOfJob(name, job.metadata.annotations);
  }

  #podMoved(pod: PodSnapshot, isGone = false): void {
    const jobName = pod.metadata.labels?.['batch.kubernetes.io/job-name'] ?? '';
    this.#podNames.put(jobName, pod.metadata.name ?? '', isGone);
    this.#tellOfJob(jobName, pod.metadata.annotations);
  }

  #tellOfJob(name: string, annotations: Record<string, string> = {}): void {
    const job = this.job(name);
    const pod = this.podOf(name);
    const isPodAtWork = pod !== null && !isPodOver(pod);
    const mediaJob = annotations[mediaJobAnnotation];
    this.#listener.jobMoved(name, isPodAtWork || (job !== null && endOfJob(job) === null));
    if (mediaJob !== undefined) this.#listener.changed(`${this.#namespace}/${mediaJob}`);
  }
}

/** The pool that a job runs in: the one that its MediaJob names, else that of its queue. */
export function poolOf(mediaJob: MediaJob | undefined, queue: QueueName): string {
  return mediaJob?.spec.pool ?? poolOfQueue[queue];
}

function reflector<T extends KubeObject, S extends KubeObject>(
  resource: Resource<T>,
  trim: (object: T) => S,
  options: Omit<ReflectorOptions<T, S>, 'resource' | 'trim'>,
): Reflector<T, S> {
  return new Reflector({ ...options, resource, trim });
}

/** Most changes of a Job or a pod are of fields that nobody here reads. */
function isSameButVersion(now: KubeObject, before: KubeObject): boolean {
  return textOf(now) === textOf(before);
}

function textOf({ metadata, ...rest }: KubeObject): string {
  return JSON.stringify([{ ...metadata, resourceVersion: null }, rest]);
}

/** Names by what they belong to. */
class Groups {
  readonly #names = new Map<string, Set<string>>();

  of(group: string): string[] {
    return [...(this.#names.get(group) ?? [])];
  }

  put(group: string, name: string, isGone: boolean): void {
    const names = this.#names.get(group) ?? new Set();
    if (isGone) names.delete(name);
    else names.add(name);
    if (names.size === 0) this.#names.delete(group);
    else this.#names.set(group, names);
  }
}

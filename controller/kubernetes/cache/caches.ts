import type { KubeClient } from '#platform/kubernetes/client.ts';
import {
  jobs,
  type KubeObject,
  type MediaJob,
  mediaJobs,
  type MediaProfile,
  mediaProfiles,
  type MediaRollout,
  mediaRollouts,
  type ObjectMeta,
  pods,
  type Resource,
  type RunnerPool,
  runnerPools,
} from '#platform/kubernetes/objects.ts';
import { Reflector, type ReflectorOptions } from '#platform/kubernetes/reflector.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { idOfRun, keyOfRun, labels } from '../snapshots/names.ts';
import { MultiMap } from './multi-map.ts';
import { Nodes } from './nodes.ts';
import { PodCreationFailures } from './pod-creation-failures.ts';
import { endOfJob, type JobSnapshot, trimJob } from '../snapshots/job.ts';
import { isPodOver, type PodSnapshot, trimPod } from '../snapshots/pod.ts';
import { ownJobIdOf } from '../snapshots/media-job.ts';

/** Called by the caches for each change, in order. */
export interface CacheListener {
  /** The MediaJob of this key is to be reconciled. */
  reconcile(key: string): void;
  /** A MediaJob was added or changed. Returns whether it is to be reconciled. */
  mediaJobStored(mediaJob: MediaJob): boolean;
  /** A MediaJob was deleted. Returns whether its job is to be cancelled. */
  mediaJobDeleted(mediaJob: MediaJob): boolean;
  /** A Job was added or changed. */
  jobStored(job: JobSnapshot): void;
  /** A Job or one of its pods has changed; `mayRun`: a container of it runs or may still run. */
  jobActivity(name: string, mayRun: boolean): void;
  poolChanged(pool: string): void;
  poolDeleted(pool: RunnerPool): void;
  /** A MediaProfile was added, changed or deleted. */
  profilesChanged(): void;
  /** A MediaRollout was added, changed or deleted. */
  rolloutsChanged(): void;
}

interface CacheOptions {
  readonly client: KubeClient;
  readonly namespace: string;
  /** Reduces a MediaJob to what is read of it. */
  readonly trimMediaJob: (mediaJob: MediaJob) => MediaJob;
  readonly log: Logger;
  readonly relistEveryMs?: number;
}

/** A page is in memory as a whole before it is trimmed: for 10,000 jobs, pages of 500 double the heap. */
const pageSize = 100;

/** Copies of our objects in the runners' namespace, with indexes from one kind to another. */
export class Caches {
  readonly mediaJobs: Reflector<MediaJob, MediaJob>;
  readonly pools: Reflector<RunnerPool, RunnerPool>;
  readonly profiles: Reflector<MediaProfile, MediaProfile>;
  readonly rollouts: Reflector<MediaRollout, MediaRollout>;
  readonly podCreationFailures: PodCreationFailures;
  readonly nodes: Nodes;
  readonly #jobs: Reflector<NonNullable<(typeof jobs)['example']>, JobSnapshot & KubeObject>;
  readonly #pods: Reflector<NonNullable<(typeof pods)['example']>, PodSnapshot & KubeObject>;
  readonly #reflectors: readonly Pick<Reflector<never, never>, 'start' | 'stop' | 'whenSynced'>[];
  readonly #namespace: string;
  readonly #keyOfJob = new Map<string, string>();
  readonly #jobNames = new MultiMap();
  readonly #podNames = new MultiMap();
  /** Deleted MediaJobs whose jobs are still to be cancelled, by key. */
  readonly #deleted = new Map<string, MediaJob>();
  #listener: CacheListener | undefined;

  constructor({ client, namespace, log, trimMediaJob, ...times }: CacheOptions) {
    this.#namespace = namespace;
    this.podCreationFailures = new PodCreationFailures(client, namespace);
    this.nodes = new Nodes({ client, log, onChange: (name) => this.#reportNode(name) });
    const shared = { client, namespace, log, pageSize, ...times };
    const labelled = { ...shared, labelSelector: labels.pool };
    this.mediaJobs = reflector(mediaJobs, trimMediaJob, {
      ...shared,
      handlers: {
        added: (mediaJob) => this.#storeMediaJob(mediaJob),
        updated: (mediaJob) => this.#storeMediaJob(mediaJob),
        deleted: (mediaJob) => this.#deleteMediaJob(mediaJob),
      },
    });
    this.pools = reflector(runnerPools, (pool: RunnerPool) => pool, {
      ...shared,
      handlers: {
        ...handlersOfSpecs(({ metadata }: RunnerPool) => this.#listener?.poolChanged(metadata?.name ?? '')),
        deleted: (pool) => this.#listener?.poolDeleted(pool),
      },
    });
    const ofProfiles = handlersOfSpecs<MediaProfile>(() => this.#listener?.profilesChanged());
    this.profiles = reflector(mediaProfiles, (profile) => profile, { ...shared, handlers: ofProfiles });
    const ofRollouts = handlersOfSpecs<MediaRollout>(() => this.#listener?.rolloutsChanged());
    this.rollouts = reflector(mediaRollouts, (rollout) => rollout, { ...shared, handlers: ofRollouts });
    this.#jobs = reflector(jobs, trimJob, {
      ...labelled,
      handlers: handlersOf<JobSnapshot>((job, change) => this.#changeJob(job, change)),
    });
    this.#pods = reflector(pods, trimPod, {
      ...labelled,
      handlers: handlersOf<PodSnapshot>((pod, change) => this.#changePod(pod, change)),
    });
    this.#reflectors = [this.mediaJobs, this.pools, this.#jobs, this.#pods];
  }

  async start(listener: CacheListener): Promise<void> {
    this.#listener = listener;
    await Promise.all([this.nodes, this.profiles, this.rollouts, ...this.#reflectors].map((each) => each.start()));
  }

  /** Resolves once everything but nodes, profiles and rollouts has been listed; rejects when stopped before. */
  async whenSynced(): Promise<void> {
    await Promise.all(this.#reflectors.map((each) => each.whenSynced()));
  }

  async stop(): Promise<void> {
    await Promise.all([this.nodes, this.profiles, this.rollouts, ...this.#reflectors].map((each) => each.stop()));
  }

  mediaJob(key: string): MediaJob | undefined {
    return this.mediaJobs.get(this.#namespace, key.slice(key.indexOf('/') + 1));
  }

  /** The key of the MediaJob that runs a job, and does not follow it. */
  keyOfJob(jobId: string): string | undefined {
    return this.#keyOfJob.get(jobId);
  }

  job(name: string): JobSnapshot | null {
    return this.#jobs.get(this.#namespace, name) ?? null;
  }

  /** The Jobs of batches. */
  batchJobs(): JobSnapshot[] {
    return [...this.#jobs.values()].filter(({ metadata }) => metadata.labels?.[labels.batchId] !== undefined);
  }

  /** The Jobs of all attempts of a job. */
  jobsOf(jobId: string): JobSnapshot[] {
    return this.#jobNames.of(jobId).flatMap((name) => this.job(name) ?? []);
  }

  /** The pod of a Job; of several, the one that succeeded. */
  podOf(jobName: string): PodSnapshot | null {
    const found = this.podsOf(jobName);
    return found.find(({ phase }) => phase === 'Succeeded') ?? found.at(-1) ?? null;
  }

  /** The pods of every Job that had this name. */
  podsOf(jobName: string): PodSnapshot[] {
    return this.#podNames.of(jobName).flatMap((name) => this.#pods.get(this.#namespace, name) ?? []);
  }

  /** A deleted MediaJob whose job is still to be cancelled. */
  deletedMediaJob(key: string): MediaJob | undefined {
    return this.#deleted.get(key);
  }

  /** Whether the MediaJob of a job was deleted and the job is still to be cancelled. */
  isDeletionPending(jobId: string): boolean {
    return [...this.#deleted.values()].some((mediaJob) => ownJobIdOf(mediaJob) === jobId);
  }

  /** The deletion of a MediaJob has been handled. */
  forgetDeleted(key: string): void {
    this.#deleted.delete(key);
  }

  #storeMediaJob(mediaJob: MediaJob): void {
    this.#keyOfJob.set(ownJobIdOf(mediaJob), keyOf(mediaJob));
    if (this.#listener?.mediaJobStored(mediaJob) === true) this.#listener.reconcile(keyOf(mediaJob));
  }

  #deleteMediaJob(mediaJob: MediaJob): void {
    const key = keyOf(mediaJob);
    const jobId = ownJobIdOf(mediaJob);
    if (this.#keyOfJob.get(jobId) === key) this.#keyOfJob.delete(jobId);
    if (this.#listener?.mediaJobDeleted(mediaJob) === true) this.#deleted.set(key, mediaJob);
    this.#listener?.reconcile(key);
  }

  #changeJob(job: JobSnapshot, change: 'add' | 'delete'): void {
    const name = job.metadata.name ?? '';
    this.#jobNames[change](idOfRun(job.metadata), name);
    if (change === 'add') this.#listener?.jobStored(job);
    this.#reportActivity(name, job.metadata);
  }

  #changePod(pod: PodSnapshot, change: 'add' | 'delete'): void {
    this.#podNames[change](jobNameOfPod(pod), pod.metadata.name ?? '');
    this.#reportActivity(jobNameOfPod(pod), pod.metadata);
  }

  #reportNode(name: string): void {
    for (const { nodeName, metadata } of this.#pods.values()) {
      const key = nodeName === name ? keyOfRun(metadata) : undefined;
      if (key !== undefined) this.#listener?.reconcile(key);
    }
  }

  #reportActivity(name: string, metadata: ObjectMeta): void {
    const job = this.job(name);
    const pod = this.podOf(name);
    const mayPodRun = pod !== null && !isPodOver(pod);
    const key = keyOfRun(metadata);
    this.#listener?.jobActivity(name, mayPodRun || (job !== null && endOfJob(job) === null));
    if (key !== undefined) this.#listener?.reconcile(key);
  }
}

function jobNameOfPod({ metadata }: PodSnapshot): string {
  return metadata.labels?.['batch.kubernetes.io/job-name'] ?? '';
}

function reflector<T extends KubeObject, S extends KubeObject>(
  resource: Resource<T>,
  trim: (object: T) => S,
  options: Omit<ReflectorOptions<T, S>, 'resource' | 'trim'>,
): Reflector<T, S> {
  return new Reflector({ ...options, resource, trim });
}

/** Handlers that report every change of cached fields. */
function handlersOf<S extends KubeObject>(report: (object: S, change: 'add' | 'delete') => void) {
  return {
    added: (object: S) => report(object, 'add'),
    updated: (object: S, before: S) => isUnchanged(object, before) || report(object, 'add'),
    deleted: (object: S) => report(object, 'delete'),
  };
}

/** Whether no cached field has changed; most changes of a Job or a pod are of other fields. */
function isUnchanged(now: KubeObject, before: KubeObject): boolean {
  return comparedText(now) === comparedText(before);
}

function comparedText({ metadata, ...rest }: KubeObject): string {
  return JSON.stringify([{ ...metadata, resourceVersion: null }, rest]);
}

/** Handlers that report every change except of the status. */
function handlersOfSpecs<T extends KubeObject & { readonly spec: unknown }>(report: (object: T) => void) {
  return {
    added: report,
    updated: (now: T, before: T) => JSON.stringify(now.spec) === JSON.stringify(before.spec) || report(now),
    deleted: report,
  };
}

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from '#domain/jobs/job.ts';
import { chunkResultKey, chunkSourceKey, encodePlanKey, splitKey } from '#domain/media/object-keys.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { jobs } from '#platform/kubernetes/objects.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { BatchRunner } from './batch-runner.ts';
import { type BatchJob, type Pod, type PodStatus, TestNode } from './node.ts';
import { failedStatus, runningStatus } from './pod-states.ts';
import { type PodWatch, watchPods } from './pod-watch.ts';
import { leaveStream, leaveThumbnail } from './workers.ts';

const rev = '0123456789abcdef';
/** The longest time of a timer. */
const foreverMs = 2 ** 31 - 1;

interface Scene {
  readonly admin: KubeClient;
  readonly namespace: string;
  /** Where its jobs and their objects are. */
  readonly workplace: { readonly media: Pick<ObjectStore, 'put'>; readonly find: (id: string) => Promise<Job> };
}

/** The fate of a pod. By default it runs for half a second, leaves what its runner leaves and succeeds. */
export interface Fate {
  /** Its status while it waits, for `waitMs` or until it is deleted. */
  readonly waits?: PodStatus;
  readonly waitMs?: number;
  readonly runMs?: number;
  /** Its last status, of a pod that fails. */
  readonly fails?: PodStatus;
}

/** A pod that is played. */
export interface PlayedPod {
  readonly pod: Pod;
  /** Its Job. */
  readonly job: BatchJob;
  /** `split`, `finish` or the kind of another unit, `batch`, or the number of a chunk. */
  readonly part: string;
  /** Counts the pods of a chunk in its Job, or the pods of another part, from 0. */
  readonly nth: number;
}

/** How pods are played. */
export interface Play {
  /** How many chunks every video has; by default the split of a video finds it short, and encodes it. */
  readonly chunks?: number;
  /** Resolves when the pod of a chunk may begin; by default after 150 ms. */
  readonly mayBegin?: (played: PlayedPod) => Promise<unknown>;
  /** Resolves when a chunk may end. */
  readonly mayEnd?: (chunk: number) => Promise<unknown>;
  readonly fateOf?: (played: PlayedPod) => Fate | undefined;
  /** Called before a pod begins, with those that run. */
  readonly begins?: (played: PlayedPod, running: readonly PlayedPod[]) => Promise<void>;
}

/** Plays the pods of a namespace: leaves what their runners leave, and writes their statuses as a kubelet does. */
export class PodPlayer {
  /** How often each chunk, and each other part of a video, was begun. */
  readonly begun = new Map<string, number>();
  /** The UID of each Job that had a pod, by name: a Job that is made twice has two. */
  readonly uids = new Map<string, Set<string>>();
  /** The pods that run. */
  readonly running = new Set<PlayedPod>();
  /** The largest number of pods that ran at once. */
  podsMax = 0;
  /** How many chunks were begun before each task of a batch. */
  readonly chunksBeforeTasks: number[] = [];
  readonly #scene: Scene;
  readonly #play: Play;
  readonly #node: TestNode;
  readonly #podsOf = new Map<string, number>();
  #watch: PodWatch | undefined;

  constructor(scene: Scene, play: Play = {}) {
    this.#scene = scene;
    this.#play = play;
    this.#node = new TestNode(scene.admin, scene.namespace);
  }

  start(): void {
    this.#watch = watchPods({ client: this.#scene.admin, namespace: this.#scene.namespace }, (pod, deleted) =>
      this.#run(pod, deleted),
    );
  }

  async stop(): Promise<void> {
    await this.#watch?.stop();
  }

  /** How many chunks were begun, as often as they were. */
  get chunksBegun(): number {
    return [...this.begun].reduce((sum, [name, times]) => sum + (isChunk(name) ? times : 0), 0);
  }

  async #run(pod: Pod, deleted: AbortSignal): Promise<void> {
    const isDeleted = once(deleted, 'abort');
    const played = await this.#played(pod);
    const fate = this.#play.fateOf?.(played) ?? {};
    if (fate.waits !== undefined) await this.#node.setStatus(pod, fate.waits);
    await Promise.race([this.#mayBegin(played, fate), isDeleted]);
    if (!deleted.aborted) {
      await this.#begin(played);
      await Promise.race([this.#work(played, fate), isDeleted]).finally(() => this.running.delete(played));
    }
    if (!deleted.aborted) return this.#end(played, fate);
    // As a kubelet does: the end is reported before the pod goes.
    await this.#node.setStatus(pod, failedStatus(pod, { exitCode: 143 }));
    await this.#node.removePod(pod);
  }

  #mayBegin(played: PlayedPod, { waits, waitMs }: Fate): Promise<unknown> {
    const mayBegin = isChunk(played.part) ? this.#play.mayBegin : undefined;
    if (waits === undefined && waitMs === undefined && mayBegin !== undefined) return mayBegin(played);
    const startMs = isChunk(played.part) ? 150 : 0;
    return sleep(waitMs ?? (waits === undefined ? startMs : foreverMs), undefined, { ref: false });
  }

  async #played(pod: Pod): Promise<PlayedPod> {
    const { labels = {} } = pod.metadata ?? {};
    const { name, uid } = pod.metadata?.ownerReferences?.[0] ?? { name: '', uid: '' };
    this.uids.set(name, (this.uids.get(name) ?? new Set()).add(uid));
    const job = await this.#scene.admin.get(jobs, { namespace: this.#scene.namespace, name });
    const unit = labels['reelwright.dev/batch-id'] === undefined ? (labels['reelwright.dev/unit'] ?? '') : 'batch';
    const index = labels['batch.kubernetes.io/job-completion-index'];
    const part = index === undefined ? unit : String(chunksOf(job)[Number(index)]);
    const counted = index === undefined ? part : `${uid} ${index}`;
    const nth = this.#podsOf.get(counted) ?? 0;
    this.#podsOf.set(counted, nth + 1);
    return { pod, job, part, nth };
  }

  async #begin(played: PlayedPod): Promise<void> {
    await this.#play.begins?.(played, [...this.running]);
    this.begun.set(played.part, (this.begun.get(played.part) ?? 0) + 1);
    this.running.add(played);
    this.podsMax = Math.max(this.podsMax, this.running.size);
    await this.#node.bind(played.pod);
    await this.#node.setStatus(played.pod, runningStatus(played.pod));
  }

  async #work({ part, job }: PlayedPod, { runMs = 500 }: Fate): Promise<void> {
    if (part !== 'batch') await Promise.all([sleep(runMs), isChunk(part) && this.#play.mayEnd?.(Number(part))]);
    else
      await new BatchRunner(job).runAll(async ({ job_id: jobId, hash, attempt }) => {
        this.chunksBeforeTasks.push(this.chunksBegun);
        await leaveThumbnail(this.#scene.workplace.media, { jobId, hash, attempt });
      });
  }

  /** Writes the last status of a pod, after what one leaves that succeeds. */
  async #end(played: PlayedPod, { fails }: Fate): Promise<void> {
    if (fails === undefined && played.part !== 'batch') await this.#leave(played);
    await this.#node.setStatus(played.pod, fails ?? { phase: 'Succeeded' });
  }

  async #leave({ pod, part }: PlayedPod): Promise<void> {
    const { media, find } = this.#scene.workplace;
    const labels = pod.metadata?.labels ?? {};
    const jobId = labels['reelwright.dev/job-id'] ?? '';
    if (isChunk(part)) return this.#put(chunkResultKey(rev, Number(part)), {});
    if (part === 'split' && this.#play.chunks !== undefined) return this.#leaveSplit(jobId, this.#play.chunks);
    const { hash, type } = await find(jobId);
    const attempt = Number(labels['reelwright.dev/attempt']);
    await (type === 'video:transcode' ? leaveStream : leaveThumbnail)(media, { jobId, hash, attempt });
  }

  async #leaveSplit(jobId: string, chunks: number): Promise<void> {
    await this.#put(chunkResultKey(rev, 'audio'), {});
    await this.#put(encodePlanKey(rev), {});
    for (let chunk = 0; chunk < chunks; chunk++) await this.#put(chunkSourceKey(rev, chunk), {});
    await this.#put(splitKey(jobId), { v: 1, rev, chunk_frames: Array.from({ length: chunks }, () => 150) });
  }

  async #put(key: string, content: object): Promise<void> {
    await this.#scene.workplace.media.put(key, JSON.stringify(content), { contentType: 'application/json' });
  }
}

const isChunk = (part: string) => /^\d/.test(part);

function chunksOf({ metadata }: BatchJob): number[] {
  return (JSON.parse(metadata?.annotations?.['reelwright.dev/units'] ?? '{}') as { chunks: number[] }).chunks;
}

import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import type { Job } from '#domain/jobs/job.ts';
import { chunkResultKey, chunkSourceKey, encodePlanKey, splitKey } from '#domain/media/object-keys.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { BatchRunner } from './batch-runner.ts';
import { type IndexedPod, runIndexed } from './indexed-job.ts';
import { type JobWatch, watchJobs } from './job-watch.ts';
import { type BatchJob, type Pod, type PodStatus, TestNode } from './node.ts';
import { runningStatus } from './pod-states.ts';
import { leaveStream, leaveThumbnail } from './workers.ts';

const rev = '0123456789abcdef';
const podRunsMs = 500;

interface Scene {
  readonly admin: KubeClient;
  readonly namespace: string;
  /** Where its jobs and their objects are. */
  readonly workplace: { readonly media: Pick<ObjectStore, 'put'>; readonly find: (id: string) => Promise<Job> };
}

/** How the pods of chunks are played. */
export interface Play {
  /** How many chunks every video has. */
  readonly chunks: number;
  /** How long a pod waits for its start; by default 150 ms. */
  readonly podWaitsMs?: number;
  /** Resolves when a chunk may end. */
  readonly mayEnd?: (chunk: number) => Promise<unknown>;
  /**
   * The last status of a pod that fails. `part` is `split`, `finish` or a chunk's number; `nth` counts the pods of a
   * chunk in its Job, or the Jobs of another part, from 0.
   */
  readonly failure?: (part: string, nth: number) => ((pod: Pod) => PodStatus) | undefined;
}

/**
 * Plays the cluster for videos and for thumbnails, single ones and in batches: leaves what their runners leave, and
 * writes the statuses of pods and Jobs.
 */
export class PodPlayer {
  /** How often each chunk, and each other part of a video, was begun. */
  readonly begun = new Map<string, number>();
  /** The largest number of pods that ran at once. */
  podsMax = 0;
  /** How many pods run. */
  podsNow = 0;
  /** How many chunks were begun before each task of a batch. */
  readonly chunksBeforeTasks: number[] = [];
  readonly #scene: Scene;
  readonly #play: Play;
  readonly #node: TestNode;
  #watch: JobWatch | undefined;

  constructor(scene: Scene, play: Play) {
    this.#scene = scene;
    this.#play = play;
    this.#node = new TestNode(scene.admin, scene.namespace);
  }

  start(): void {
    // What is deleted while it is played has no pod to play any more.
    this.#watch = watchJobs(this.#node, (job) => this.#run(job).catch(() => undefined));
  }

  async stop(): Promise<void> {
    await this.#watch?.stop();
  }

  /** How many chunks were begun, as often as they were. */
  get chunksBegun(): number {
    return [...this.begun].reduce((sum, [name, times]) => sum + (/^\d/.test(name) ? times : 0), 0);
  }

  async #run(job: BatchJob): Promise<void> {
    const part = job.metadata?.labels?.['reelwright.dev/unit'] ?? '';
    if (job.metadata?.labels?.['reelwright.dev/batch-id'] !== undefined) return this.#runBatch(job);
    if (part === 'chunk') return runIndexed(job, this.#scene.admin, (pod) => this.#encode(job, pod));
    const pod = await this.#node.makePod(job);
    const nth = this.begun.get(part) ?? 0;
    await this.#begin(part, pod);
    await sleep(podRunsMs);
    this.podsNow -= 1;
    await this.#end(pod, { part, nth }, () => this.#leave(job, part));
  }

  async #runBatch(job: BatchJob): Promise<void> {
    const pod = await this.#node.makePod(job);
    await this.#begin('batch', pod);
    await new BatchRunner(job).runAll(async ({ job_id: jobId, hash, attempt }) => {
      this.chunksBeforeTasks.push(this.chunksBegun);
      await leaveThumbnail(this.#scene.workplace.media, { jobId, hash, attempt });
    });
    this.podsNow -= 1;
    await this.#node.setStatus(pod, { phase: 'Succeeded' });
  }

  async #leave({ metadata }: BatchJob, part: string): Promise<void> {
    const { media } = this.#scene.workplace;
    const jobId = metadata?.labels?.['reelwright.dev/job-id'] ?? '';
    if (part === 'split') {
      await this.#put(chunkResultKey(rev, 'audio'), {});
      await this.#put(encodePlanKey(rev), {});
      for (let chunk = 0; chunk < this.#play.chunks; chunk++) await this.#put(chunkSourceKey(rev, chunk), {});
      const frames = Array.from({ length: this.#play.chunks }, () => 150);
      return this.#put(splitKey(jobId), { v: 1, rev, chunk_frames: frames });
    }
    const { hash, attempt } = await this.#scene.workplace.find(jobId);
    await (part === 'finish' ? leaveStream : leaveThumbnail)(media, { jobId, hash, attempt });
  }

  async #encode(job: BatchJob, indexed: IndexedPod): Promise<PodStatus> {
    const { index, nth, deleted } = indexed;
    const { podWaitsMs = 150, mayEnd } = this.#play;
    const chunk = chunksOf(job)[index] ?? -1;
    const isDeleted = once(deleted, 'abort');
    const pod = await this.#node.makePod(job, { index });
    await Promise.race([sleep(podWaitsMs), isDeleted]);
    if (!deleted.aborted) {
      indexed.hasStarted = true;
      await this.#begin(String(chunk), pod);
      await Promise.race([Promise.all([sleep(podRunsMs), mayEnd?.(chunk)]), isDeleted]);
      this.podsNow -= 1;
    }
    if (deleted.aborted) {
      await this.#node.removePod(pod);
      return { phase: 'Failed' };
    }
    return this.#end(pod, { part: String(chunk), nth }, () => this.#put(chunkResultKey(rev, chunk), {}));
  }

  async #begin(what: string, pod: Pod): Promise<void> {
    this.begun.set(what, (this.begun.get(what) ?? 0) + 1);
    this.podsNow += 1;
    this.podsMax = Math.max(this.podsMax, this.podsNow);
    await this.#node.setStatus(pod, runningStatus(pod));
  }

  /** Writes the last status of a pod, after what one leaves that succeeds. */
  async #end(pod: Pod, { part, nth }: { part: string; nth: number }, leave: () => Promise<void>): Promise<PodStatus> {
    const failed = this.#play.failure?.(part, nth)?.(pod);
    if (failed === undefined) await leave();
    const status = failed ?? { phase: 'Succeeded' };
    await this.#node.setStatus(pod, status);
    return status;
  }

  async #put(key: string, content: object): Promise<void> {
    await this.#scene.workplace.media.put(key, JSON.stringify(content), { contentType: 'application/json' });
  }
}

function chunksOf({ metadata }: BatchJob): number[] {
  return (JSON.parse(metadata?.annotations?.['reelwright.dev/units'] ?? '{}') as { chunks: number[] }).chunks;
}

import { setTimeout as sleep } from 'node:timers/promises';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { jobs, pods } from '#platform/kubernetes/objects.ts';
import { pick, type Random } from '../faults/random.ts';
import type { ControllerRig } from './controller.ts';
import { type JobWatch, watchJobs } from './job-watch.ts';
import type { BatchJob, Pod } from './node.ts';
import { disruptionTarget, failedStatus, runningStatus, unschedulable, waitingStatus } from './pod-states.ts';
import { leaveStream, leaveThumbnail } from './workers.ts';

/** What becomes of a pod; some wait for a few seconds before they run, or run for a few. */
const fates = ['ok', 'ok', 'ok', 'ok', 'evicted', 'failed', 'unschedulable', 'no image', 'slow'] as const;
const waitsMs = 5_000;

/** Plays the pods of single thumbnails and transcodes, each with a fate of its own. */
export class FatedPods {
  /** Jobs with two pods that ran at once although no one had deleted the first. */
  readonly violations: string[] = [];
  /** How many attempts of a job were made to fail. */
  readonly failures = new Map<string, number>();
  readonly #rig: ControllerRig;
  readonly #random: Random;
  /** The names of the Jobs whose pods run, by job and by UID. */
  readonly #running = new Map<string, Map<string, string>>();
  #isCalm = false;
  #watch: JobWatch | undefined;

  constructor(rig: ControllerRig, random: Random) {
    this.#rig = rig;
    this.#random = random;
  }

  start(): void {
    this.#watch = watchJobs(this.#rig.node, (job) => this.#play(job));
  }

  async stop(): Promise<void> {
    await this.#watch?.stop();
  }

  /** From now on every pod runs, and ends well. */
  calmDown(): void {
    this.#isCalm = true;
  }

  /** The Jobs whose pods run. */
  running(): string[] {
    return [...this.#running.values()].flatMap((ofJob) => [...ofJob.values()]);
  }

  async #play(job: BatchJob): Promise<void> {
    const { uid = '', labels } = job.metadata ?? {};
    const id = labels?.['reelwright.dev/job-id'] ?? '';
    const running = this.#running.get(id) ?? new Map<string, string>();
    this.#running.set(id, running);
    const fate = this.#isCalm ? 'ok' : pick(this.#random, fates);
    const pod = await this.#rig.node.makePod(job);
    try {
      if (fate === 'unschedulable' || fate === 'no image') await this.#keepWaiting(pod, fate);
      await this.#begin(job, running);
      await this.#rig.node.setStatus(pod, runningStatus(pod));
      await this.#keep(pod, fate === 'slow' ? waitsMs : 200 + this.#random() * 1_200);
      await this.#end(job, pod, fate);
    } catch (error) {
      if (!hasReason(error, 'NotFound')) throw error;
      await this.#failJob(job);
    } finally {
      running.delete(uid);
    }
  }

  async #keepWaiting(pod: Pod, fate: 'unschedulable' | 'no image'): Promise<void> {
    const noImage = waitingStatus(pod, 'ImagePullBackOff', 'Back-off pulling image');
    await this.#rig.node.setStatus(pod, fate === 'no image' ? noImage : unschedulable);
    await this.#keep(pod, waitsMs, () => this.#isCalm);
  }

  /** Waits. @throws KubeError `NotFound` when the pod is taken away */
  async #keep(pod: Pod, forMs: number, mayEnd = () => false): Promise<void> {
    const ref = { namespace: this.#rig.namespace, name: pod.metadata?.name ?? '' };
    for (const endAt = performance.now() + forMs; performance.now() < endAt && !mayEnd();) {
      await sleep(100);
      await this.#rig.admin.get(pods, ref);
    }
  }

  async #begin({ metadata }: BatchJob, running: Map<string, string>): Promise<void> {
    const { admin, namespace } = this.#rig;
    const { uid = '', name = '' } = metadata ?? {};
    for (const [otherUid, other] of running) {
      const now = await admin.get(jobs, { namespace, name: other }).catch(() => null);
      if (now?.metadata?.uid === otherUid && now.metadata.deletionTimestamp === undefined)
        this.violations.push(`${name} runs beside ${other}`);
    }
    running.set(uid, name);
  }

  async #end({ metadata }: BatchJob, pod: Pod, fate: (typeof fates)[number]): Promise<void> {
    const { node, media, find } = this.#rig;
    const id = metadata?.labels?.['reelwright.dev/job-id'] ?? '';
    if (fate === 'evicted') {
      const evicted = disruptionTarget('EvictionByEvictionAPI');
      await node.setStatus(pod, failedStatus(pod, { exitCode: 137 }, evicted));
    } else if (fate === 'failed') {
      this.failures.set(id, (this.failures.get(id) ?? 0) + 1);
      await node.setStatus(pod, failedStatus(pod, { exitCode: 1 }));
    } else {
      const { hash, type } = await find(id);
      const attempt = Number(metadata?.labels?.['reelwright.dev/attempt']);
      await (type === 'video:transcode' ? leaveStream : leaveThumbnail)(media, { jobId: id, hash, attempt });
      await node.setStatus(pod, { phase: 'Succeeded' });
    }
  }

  /** As the Job controller ends a Job whose pod was taken away, if it is still there. */
  async #failJob({ metadata }: BatchJob): Promise<void> {
    const { admin, namespace } = this.#rig;
    const ref = { namespace, name: metadata?.name ?? '' };
    const now = await admin.get(jobs, ref);
    if (now.metadata?.uid !== metadata?.uid || now.metadata?.deletionTimestamp !== undefined) return;
    const at = new Date().toISOString();
    const conditions = ['FailureTarget', 'Failed'].map((type) => ({
      type,
      status: 'True',
      lastTransitionTime: at,
      reason: 'BackoffLimitExceeded',
    }));
    const status = { startTime: at, failed: 1, conditions };
    await admin.mergePatch(jobs, ref, { status }, { subresource: 'status' });
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import type { MediaJobSpec } from '#domain/kubernetes/media-job.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { jobs, type MediaJob, mediaJobs, pods, runnerPools } from '#platform/kubernetes/objects.ts';
import { pick, type Random } from '../faults/random.ts';
import type { ControllerRig } from './controller.ts';

// What people do to jobs with the API and with kubectl, in a random order, while workers come and go.

const callbackUrl = 'http://127.0.0.1:9/hook';
const types = ['image:thumbnail', 'video:transcode'] as const;
/** By their first bytes a JPEG and an MP4. */
const sources = {
  'image:thumbnail': { name: 'source.jpg', bytes: Buffer.from('ffd8ffe000104a46494600010100000100010000', 'hex') },
  'video:transcode': {
    name: 'source.mp4',
    bytes: Buffer.from('\0\0\0\x20ftypisom\0\0\x02\0isomiso2avc1mp41', 'latin1'),
  },
};
const options = {
  'image:thumbnail': { outputs: [{ variant: 'thumb', width: 2, format: 'webp' as const }] },
  'video:transcode': { encrypt: true },
};
/** A pool that there is not while jobs are disturbed. */
const missingPool = 'missing';

/** There is nothing that an operation could be done to. */
class NothingThere extends Error {}

type Operation = () => Promise<string>;

export class ByHand {
  /** The acts so far, in order. */
  readonly done: string[] = [];
  /** Jobs that a person ended: by the API, or by deleting the MediaJob that runs them. */
  readonly ended = new Set<string>();
  /** The names of MediaJobs whose end a person wrote. */
  readonly written = new Set<string>();
  readonly #rig: ControllerRig;
  readonly #random: Random;
  readonly #workers: { stop(): Promise<void> }[] = [];
  #submissions = 0;

  constructor(rig: ControllerRig, random: Random) {
    this.#rig = rig;
    this.#random = random;
  }

  /** Starts a worker, and disturbs jobs for some seconds. */
  async disturb(seconds: number): Promise<void> {
    for (const { name, bytes } of Object.values(sources)) await this.#rig.writeSource(name, bytes);
    this.#workers.push(this.#rig.startWorker());
    const weighted = this.#operations().flatMap(([weight, ...operation]) =>
      Array.from({ length: weight }, () => operation),
    );
    for (const endAt = performance.now() + seconds * 1000; performance.now() < endAt;) {
      const [name, operate] = pick(this.#random, weighted);
      const what = await operate().catch(whyNot);
      this.done.push(`${new Date().toISOString()} ${name} ${what}`);
      await sleep(this.#random() * 150);
    }
  }

  /** Releases all that is held up. */
  async release(): Promise<void> {
    const { admin, namespace } = this.#rig;
    await this.#setConcurrency(8);
    await admin.create(runnerPools, { metadata: { namespace, name: missingPool }, spec: { concurrency: 2 } });
    for (const { metadata } of (await admin.list(mediaJobs, { namespace })).items) {
      const ref = { namespace, name: metadata?.name ?? '' };
      const change = { metadata: { finalizers: null }, spec: { suspend: false } };
      await admin.mergePatch(mediaJobs, ref, change).catch(whyNot);
    }
  }

  #operations(): [weight: number, name: string, operate: Operation][] {
    return [
      [4, 'submit', () => this.#submit()],
      [4, 'apply', () => this.#apply()],
      [1, 'cancel', () => this.#cancel()],
      [2, 'delete MediaJob', () => this.#deleteMediaJob()],
      [1, 'suspend', () => this.#change({ suspend: true })],
      [2, 'resume', () => this.#change({ suspend: false })],
      [1, 'change priority', () => this.#change({ priority: Math.floor(this.#random() * 20) - 10 })],
      [1, 'change pool', () => this.#change({ pool: pick(this.#random, ['default', 'video', missingPool]) })],
      [1, 'write an end', () => this.#writeEnd()],
      [1, 'delete Job', () => this.#deleteJob()],
      [1, 'delete pod', () => this.#deletePod()],
      [1, 'concurrency', () => this.#changePool()],
      [1, 'worker', () => this.#changeWorkers()],
    ];
  }

  /** Equal ones follow each other. */
  #newSubmission() {
    this.#submissions += 1;
    const type = pick(this.#random, types);
    const hash = `h${100 + Math.floor(this.#submissions / 4) - Math.floor(this.#random() * 3)}`;
    return { type, hash, source: sources[type].name, options: options[type], callbackUrl };
  }

  async #submit(): Promise<string> {
    const { type, ...more } = this.#newSubmission();
    return this.#rig.submit(type, { ...more, priority: Math.floor(this.#random() * 10) });
  }

  async #apply(): Promise<string> {
    const { admin, namespace } = this.#rig;
    const spec: MediaJobSpec = {
      ...this.#newSubmission(),
      ...(this.#random() < 0.3 ? { suspend: true } : {}),
      ...(this.#random() < 0.2 ? { pool: pick(this.#random, ['default', missingPool]) } : {}),
      ...(this.#random() < 0.2 ? { priority: 5 } : {}),
    };
    const name = `by-hand-${this.#submissions}`;
    const finalizers = this.#random() < 0.15 ? ['example.com/held'] : [];
    const made = await admin.create(mediaJobs, { metadata: { namespace, name, finalizers }, spec });
    return `${name} ${made.metadata?.uid} ${JSON.stringify(spec)}`;
  }

  async #cancel(): Promise<string> {
    const active = "select id from jobs where status in ('queued', 'processing') order by id";
    const id = this.#someOf((await this.#rig.database.pool.query<{ id: string }>(active)).rows).id;
    this.ended.add(id);
    await this.#rig.cancel(id);
    return id;
  }

  async #deleteMediaJob(): Promise<string> {
    const { name = '', uid = '', labels } = (await this.#someMediaJob()).metadata ?? {};
    // One that follows an equal job does not run it.
    this.ended.add(labels?.['reelwright.dev/job-id'] ?? uid);
    await this.#rig.admin.delete(mediaJobs, { namespace: this.#rig.namespace, name });
    return `${name} ${uid}`;
  }

  async #change(spec: Partial<MediaJobSpec>): Promise<string> {
    const { name = '' } = (await this.#someMediaJob()).metadata ?? {};
    await this.#rig.admin.mergePatch(mediaJobs, { namespace: this.#rig.namespace, name }, { spec });
    return `${name} ${JSON.stringify(spec)}`;
  }

  /** As with `kubectl edit --subresource=status`. */
  async #writeEnd(): Promise<string> {
    const { metadata, status } = await this.#someMediaJob();
    const ref = { namespace: this.#rig.namespace, name: metadata?.name ?? '' };
    const at = new Date().toISOString();
    const failed = { type: 'Failed', status: 'True', reason: 'Internal', message: 'by hand', lastTransitionTime: at };
    const end = { ...status, phase: 'failed', completionTime: at, conditions: [failed] };
    await this.#rig.admin.mergePatch(mediaJobs, ref, { status: end }, { subresource: 'status' });
    this.written.add(ref.name);
    return ref.name;
  }

  async #deleteJob(): Promise<string> {
    const { name = '' } = this.#someOf(await this.#rig.node.jobs()).metadata ?? {};
    const propagation = pick(this.#random, ['Background', 'Foreground'] as const);
    await this.#rig.admin.delete(jobs, { namespace: this.#rig.namespace, name }, { propagation });
    return `${name} ${propagation}`;
  }

  async #deletePod(): Promise<string> {
    const pod = this.#someOf((await this.#rig.admin.list(pods, { namespace: this.#rig.namespace })).items);
    await this.#rig.node.removePod(pod);
    return pod.metadata?.name ?? '';
  }

  async #changePool(): Promise<string> {
    const concurrency = Math.floor(this.#random() * 4);
    await this.#setConcurrency(concurrency);
    return String(concurrency);
  }

  async #setConcurrency(concurrency: number): Promise<void> {
    const ref = { namespace: this.#rig.namespace, name: 'default' };
    await this.#rig.admin.mergePatch(runnerPools, ref, { spec: { concurrency } });
  }

  /** One or two work; where the only one is stopped, another follows it. */
  async #changeWorkers(): Promise<string> {
    const [first] = this.#workers;
    if (first !== undefined && (this.#workers.length === 2 || this.#random() < 0.4)) {
      this.#workers.shift();
      await first.stop();
      if (this.#workers.length > 0) return 'stopped';
    }
    this.#workers.push(this.#rig.startWorker());
    return 'started';
  }

  async #someMediaJob(): Promise<MediaJob> {
    return this.#someOf((await this.#rig.admin.list(mediaJobs, { namespace: this.#rig.namespace })).items);
  }

  #someOf<T>(all: readonly T[]): T {
    if (all.length === 0) throw new NothingThere();
    return pick(this.#random, all);
  }
}

/** The reason why something cannot be done, since it is deleted, changed or complete; anything else is thrown. */
function whyNot(error: unknown): string {
  if (error instanceof NothingThere) return '(none is there)';
  if (hasReason(error, 'NotFound', 'Conflict', 'AlreadyExists', 'Invalid', 'TooManyRequests'))
    return `(${error.message})`;
  throw error;
}

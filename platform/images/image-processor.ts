import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { availableParallelism, getPriority, setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { FairQueue } from '#platform/concurrency/fair-queue.ts';
import { isolated, type Isolation, memoryLimit } from '../commands/isolation.ts';
import { frameReader, writeFrame } from './frames.ts';
import { type ImageAnswer, imagePipe, type ImageRefusal, type ImageRequest, type ImageWork } from './image-work.ts';

/** For whom an image is made. */
interface Requester {
  readonly client: string;
  /** Whether other clients have made requests lately; without it, none have. */
  readonly hasOthers?: () => boolean;
}

/** The bytes of an image, in pieces. */
type ImageSource = readonly Uint8Array[];

interface Image extends Requester {
  readonly readSource: () => Promise<ImageSource>;
  readonly work: ImageWork;
  readonly queuedAtMs: number;
  readonly resolve: (bytes: Buffer) => void;
  readonly reject: (error: unknown) => void;
  source: ImageSource | null;
  /** How often it was begun in a process that a neighbour's slowness ended. */
  restarts: number;
}

interface RunningImage {
  readonly image: Image;
  readonly timer: NodeJS.Timeout;
  readonly beganAtMs: number;
}

interface ImageChild {
  readonly process: ChildProcess;
  readonly pipe: Socket;
}

/** No variant is larger: 4096 pixels a side, in the least compact format. */
const answerBounds = { headBytesMax: 4 * 1024, sizeBytesMax: 256 * 1024 * 1024 };

/** Bounds of the work that is accepted at once; above them requests are refused with `ImagesBusy`. */
interface ImageBounds {
  readonly requestsMax: number;
  /** An image that takes longer from its beginning is given up, with the process that makes it. */
  readonly timeoutMs: number;
  /** The longest time that an image waits for its beginning: clients do not wait longer. */
  readonly waitMsMax: number;
}

/** An image may need 400 MB when it is decoded, two or three are decoded at once, and Node takes some. */
const memoryBytesMax = 2 * 1024 * 1024 * 1024;
/** Requests are answered before images are made. */
const niceness = 5;

const defaultBounds: ImageBounds = {
  requestsMax: 256,
  timeoutMs: 20_000,
  waitMsMax: 20_000,
};
/** One more than there are cores, so that none is idle between two images. */
const atOnceMax = availableParallelism() + 1;
/** The most images of one client at once while others make requests, so that those do not wait for a processor. */
const sharedAtOnceMax = Math.max(1, availableParallelism() - 1);
/** The weight of the newest image in the mean time of one. */
const meanWeight = 0.2;
const restartsMax = 3;

/** The source is not an image of a supported format, or is over a limit. */
export class ImageRefused extends Error {
  override readonly name = 'ImageRefused';
}

/** An operation does not fit the source; the message completes a sentence that begins with its name. */
export class ImageOperationRefused extends Error {
  override readonly name = 'ImageOperationRefused';
  readonly operation: string;

  constructor(operation: string, message: string) {
    super(message);
    this.operation = operation;
  }
}

/** More work waits than the bounds allow, this image was not made in time, or no descriptor is free for it. */
export class ImagesBusy extends Error {
  override readonly name = 'ImagesBusy';
}

/**
 * Resizes images in a process of its own, off the event loop, with an empty environment. The first image starts the
 * process. When it dies, the images under way fail, since one of them may be the cause; the next image starts it again.
 *
 * Images wait here in a queue for each client, and the queues take turns. A client that is not alone leaves a processor
 * to the others. The time of an image counts from its start. A slow one is rejected: the process is ended, and the
 * other images begin again in the next one.
 */
export class ImageProcessor {
  readonly #bounds: ImageBounds;
  readonly #isolation: Isolation;
  readonly #waiting = new FairQueue<Image>();
  /** Whose turn it is, while their sources are read. */
  readonly #reading = new Set<Image>();
  readonly #running = new Map<number, RunningImage>();
  #count = 0;
  #meanMs = 0;
  #child: ImageChild | null = null;
  #nextId = 1;
  #isClosed = false;

  /** With `isolation` its process has namespaces of its own, no privileges, and bounded memory. */
  constructor({ isolation = [], ...bounds }: Partial<ImageBounds> & { readonly isolation?: Isolation } = {}) {
    this.#bounds = { ...defaultBounds, ...bounds };
    this.#isolation = isolation;
  }

  /**
   * Makes an image of a source, which is read when it is the image's turn. Its bytes stay the caller's and must not
   * change until this has ended.
   *
   * @throws ImageRefused, ImageOperationRefused, ImagesBusy, Error when the process died, and what `readSource` throws
   */
  async make(
    readSource: () => Promise<ImageSource>,
    work: ImageWork,
    requester: Requester = { client: '' },
  ): Promise<Buffer> {
    if (this.#isClosed) throw new Error('the image processor is closed');
    const { requestsMax, waitMsMax } = this.#bounds;
    if (this.#count >= requestsMax) throw new ImagesBusy('too many images at once');
    // By what images took lately.
    const ofClient = atOnceOf(requester);
    if (this.#waiting.roundsBefore(requester.client, { atOnce: atOnceMax, ofClient }) * this.#meanMs > waitMsMax)
      throw new ImagesBusy('too many images are waiting');
    this.#count += 1;
    try {
      return await new Promise((resolve, reject) => {
        const queuedAtMs = performance.now();
        const image = { ...requester, readSource, work, queuedAtMs, resolve, reject, source: null, restarts: 0 };
        this.#waiting.push(image);
        this.#startNext();
      });
    } finally {
      this.#count -= 1;
    }
  }

  #startNext(): void {
    while (this.#running.size + this.#reading.size < atOnceMax) {
      const image = this.#waiting.take((next) => this.#mayStart(next));
      if (image === null) return;
      const waitedMs = performance.now() - image.queuedAtMs;
      if (waitedMs > this.#bounds.waitMsMax) image.reject(new ImagesBusy('the image waited too long'));
      else void this.#read(image);
    }
  }

  #mayStart(next: Image): boolean {
    const begun = [...this.#reading, ...this.#running.values().map(({ image }) => image)];
    return begun.filter(({ client }) => client === next.client).length < atOnceOf(next);
  }

  async #read(image: Image): Promise<void> {
    this.#reading.add(image);
    try {
      image.source ??= await image.readSource();
      if (this.#isClosed) throw new Error('the image processor was closed');
      this.#start(image, image.source);
    } catch (error) {
      image.reject(error);
    } finally {
      this.#reading.delete(image);
    }
    this.#startNext();
  }

  #start(image: Image, source: ImageSource): void {
    const id = this.#nextId++;
    const child = this.#childNow();
    const timer = setTimeout(() => this.#giveUp(id, child), this.#bounds.timeoutMs);
    this.#running.set(id, { image, timer, beganAtMs: performance.now() });
    writeFrame(child.pipe, { id, work: image.work } satisfies ImageRequest, source);
  }

  /** Ends the process, since its libraries cannot be interrupted; the other images begin again. */
  #giveUp(slowId: number, child: ImageChild): void {
    this.#conclude(slowId, (image) => image.reject(new ImagesBusy('the image took too long')));
    for (const id of this.#running.keys())
      this.#conclude(id, (image) => {
        image.restarts += 1;
        if (image.restarts > restartsMax) image.reject(new ImagesBusy('the image was interrupted too often'));
        else this.#waiting.pushFirst(image);
      });
    this.#end(child, 'an image took too long');
  }

  close(): Promise<void> {
    this.#isClosed = true;
    for (const image of this.#waiting.drain()) image.reject(new Error('the image processor was closed'));
    if (this.#child !== null) this.#end(this.#child, 'the image processor was closed');
    return Promise.resolve();
  }

  #childNow(): ImageChild {
    if (this.#child !== null) return this.#child;
    const script = fileURLToPath(new URL('image-process.ts', import.meta.url));
    // It writes no log; everything comes over the pipe.
    const stdio = ['ignore', 'ignore', 'ignore', 'pipe'] as const;
    const { program, args } = isolated({ program: process.execPath, args: [script] }, this.#limits());
    const started = spawn(program, args, { env: {}, stdio: [...stdio] });
    const child = { process: started, pipe: pipeOf(started) };
    yieldTo(started);
    const take = frameReader(answerBounds, (head, bytes) => {
      const { id, refused } = head as ImageAnswer;
      this.#conclude(id, (image, tookMs) => {
        this.#meanMs += (tookMs - this.#meanMs) * (this.#meanMs === 0 ? 1 : meanWeight);
        if (refused === null) image.resolve(bytes);
        else image.reject(errorOf(refused));
      });
      this.#startNext();
    });
    child.pipe.on('data', (chunk: Buffer) => {
      try {
        take(chunk);
      } catch {
        this.#end(child, 'the image process sent a malformed frame');
      }
    });
    for (const event of ['error', 'close'] as const)
      child.pipe.on(event, () => this.#end(child, 'the image process could not be reached'));
    started.on('error', () => this.#end(child, 'the image process could not be reached'));
    started.on('exit', () => this.#end(child, 'the image process died'));
    // Neither the child nor its pipe keeps an otherwise finished process alive.
    started.unref();
    child.pipe.unref();
    this.#child = child;
    return child;
  }

  #limits(): Isolation {
    if (this.#isolation.length === 0) return [];
    return [...this.#isolation, ...memoryLimit(memoryBytesMax)];
  }

  #end(child: ImageChild, reason: string): void {
    if (this.#child !== child) return;
    this.#child = null;
    child.process.kill('SIGKILL');
    child.pipe.destroy();
    for (const id of this.#running.keys()) this.#conclude(id, (image) => image.reject(new Error(reason)));
    if (!this.#isClosed) this.#startNext();
  }

  #conclude(id: number, how: (image: Image, tookMs: number) => void): void {
    const running = this.#running.get(id);
    if (running === undefined) return;
    this.#running.delete(id);
    clearTimeout(running.timer);
    how(running.image, performance.now() - running.beganAtMs);
  }
}

function errorOf(refused: ImageRefusal): Error {
  if (refused.kind === 'unfit') return new ImageOperationRefused(refused.operation, refused.why);
  return new (refused.kind === 'busy' ? ImagesBusy : ImageRefused)(refused.why);
}

function atOnceOf({ hasOthers }: Requester): number {
  return hasOthers?.() === true ? sharedAtOnceMax : atOnceMax;
}

/** @throws ImagesBusy where no descriptor was free for the pipe */
function pipeOf(started: ChildProcess): Socket {
  // Before all else: a process that could not be started emits its error afterwards, also one that has no pipes.
  started.on('error', () => undefined);
  // Undefined then, whatever its type says.
  const stdio = started.stdio as ChildProcess['stdio'] | undefined;
  if (stdio === undefined) throw new ImagesBusy('no descriptor is free for the image process');
  return stdio[imagePipe] as Socket;
}

/** Where processor time or memory is short, the image process comes after the server. */
function yieldTo({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, getPriority() + niceness);
  } catch {
    // It has ended already, which is noticed by its exit.
  }
  void writeFile(`/proc/${pid}/oom_score_adj`, '1000').catch(() => undefined);
}

import { type ChildProcess, spawn } from 'node:child_process';
import type { Socket } from 'node:net';
import { writeFile } from 'node:fs/promises';
import { setPriority } from 'node:os';
import { fileURLToPath } from 'node:url';
import { isolated, type Isolation, memoryLimit } from '../commands/isolation.ts';
import { frameReader, writeFrame } from './frames.ts';
import { type ImageAnswer, imagePipe, type ImageRequest, type ImageWork } from './image-work.ts';

interface Pending {
  readonly resolve: (bytes: Buffer) => void;
  readonly reject: (error: Error) => void;
  readonly timer: NodeJS.Timeout;
  readonly sizeBytes: number;
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
  readonly bytesMax: number;
  /** An image that takes longer ends the process. */
  readonly timeoutMs: number;
}

/** A picture may need 400 MB when it is decoded, two or three are decoded at once, and Node takes some. */
const memoryBytesMax = 2 * 1024 * 1024 * 1024;
/** Requests are answered before images are made. */
const niceness = 5;

const defaultBounds: ImageBounds = { requestsMax: 256, bytesMax: 512 * 1024 * 1024, timeoutMs: 20_000 };

/** The source is not an image of a supported format, or is over a limit. */
export class ImageRefused extends Error {
  override readonly name = 'ImageRefused';
}

/** More work waits than the bounds allow. */
export class ImagesBusy extends Error {
  override readonly name = 'ImagesBusy';
}

/**
 * Resizes images in a process of its own, off the event loop, with an empty environment. The process is started by
 * the first image and again after it died; its images fail then, since one of them may be the cause.
 */
export class ImageProcessor {
  readonly #bounds: ImageBounds;
  readonly #isolation: Isolation;
  readonly #pending = new Map<number, Pending>();
  #child: ImageChild | null = null;
  #nextId = 1;
  #isClosed = false;

  /** With `isolation` its process has namespaces of its own, no privileges, and bounded memory. */
  constructor({ isolation = [], ...bounds }: Partial<ImageBounds> & { readonly isolation?: Isolation } = {}) {
    this.#bounds = { ...defaultBounds, ...bounds };
    this.#isolation = isolation;
  }

  /**
   * Makes an image of `source`, whose pieces stay the caller's and must not change until this has ended.
   *
   * @throws ImageRefused, ImagesBusy, or Error when the process died or took too long
   */
  make(source: readonly Uint8Array[], work: ImageWork): Promise<Buffer> {
    if (this.#isClosed) return Promise.reject(new Error('the image processor is closed'));
    const sizeBytes = source.reduce((sum, { length }) => sum + length, 0);
    const bytesWaiting = [...this.#pending.values()].reduce((sum, pending) => sum + pending.sizeBytes, 0);
    const isFull = this.#pending.size >= this.#bounds.requestsMax || bytesWaiting + sizeBytes > this.#bounds.bytesMax;
    if (isFull && this.#pending.size > 0) return Promise.reject(new ImagesBusy('too many images at once'));
    const id = this.#nextId++;
    const child = this.#running();
    return new Promise((resolve, reject) => {
      const timer = setTimeout(() => this.#end(child, 'an image took too long'), this.#bounds.timeoutMs);
      this.#pending.set(id, { resolve, reject, timer, sizeBytes });
      writeFrame(child.pipe, { id, work } satisfies ImageRequest, source);
    });
  }

  close(): Promise<void> {
    this.#isClosed = true;
    if (this.#child !== null) this.#end(this.#child, 'the image processor was closed');
    return Promise.resolve();
  }

  #running(): ImageChild {
    if (this.#child !== null) return this.#child;
    const script = fileURLToPath(new URL('image-process.ts', import.meta.url));
    // It writes no log; everything comes over the pipe.
    const stdio = ['ignore', 'ignore', 'ignore', 'pipe'] as const;
    const { program, args } = isolated({ program: process.execPath, args: [script] }, this.#limits());
    const started = spawn(program, args, { env: {}, stdio: [...stdio] });
    yieldTo(started);
    const child = { process: started, pipe: started.stdio[imagePipe] as Socket };
    const take = frameReader(answerBounds, (head, bytes) => {
      const { id, refused } = head as ImageAnswer;
      this.#conclude(id, (pending) => {
        if (refused === null) pending.resolve(bytes);
        else pending.reject(new (refused.isBusy ? ImagesBusy : ImageRefused)(refused.why));
      });
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
    for (const id of this.#pending.keys()) this.#conclude(id, (pending) => pending.reject(new Error(reason)));
  }

  #conclude(id: number, how: (pending: Pending) => void): void {
    const pending = this.#pending.get(id);
    if (pending === undefined) return;
    this.#pending.delete(id);
    clearTimeout(pending.timer);
    how(pending);
  }
}

/** Where processor time or memory is short, the image process comes after the server. */
function yieldTo({ pid }: ChildProcess): void {
  if (pid === undefined) return;
  try {
    setPriority(pid, niceness);
  } catch {
    // It has ended already, which is noticed by its exit.
  }
  void writeFile(`/proc/${pid}/oom_score_adj`, '1000').catch(() => undefined);
}

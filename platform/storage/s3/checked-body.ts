import { Readable } from 'node:stream';
import { KnownProblem } from '#domain/errors.ts';
import { toStorageError } from '../errors.ts';

interface BodyRules {
  /** The number of bytes that must come. */
  readonly sizeBytes: number;
  /** The longest wait of the reader for the next byte; without it there is no limit. */
  readonly timeoutMs?: number;
  readonly signal?: AbortSignal | undefined;
}

const bufferBytes = 256 * 1024;

/**
 * An object's bytes. A source that fails, stalls or ends early fails the body with `storage_error`, an abort with the
 * signal's reason. A slow reader is not a stall.
 */
export class CheckedBody extends Readable {
  readonly #source: Readable;
  readonly #rules: BodyRules;
  readonly #onAbort: () => void;
  #receivedBytes = 0;
  #timer: NodeJS.Timeout | undefined;

  constructor(source: Readable, rules: BodyRules) {
    super({ highWaterMark: bufferBytes });
    this.#source = source;
    this.#rules = rules;
    this.#onAbort = () => this.destroy(rules.signal?.reason as Error);
    rules.signal?.addEventListener('abort', this.#onAbort, { once: true });
    // A body may fail before it has a reader; without this listener that would end the process.
    this.on('error', () => {});
    source.on('data', (chunk: Buffer) => this.#receive(chunk));
    source.on('end', () => this.#finish());
    source.on('error', (error) => this.destroy(toStorageError(error, rules.signal) as Error));
    source.on('close', () => {
      if (!source.readableEnded) this.#failWith('The object was cut off.');
    });
    source.pause();
    if (rules.signal?.aborted === true) this.#onAbort();
  }

  override _read(): void {
    this.#restartTimer();
    this.#source.resume();
  }

  override _destroy(error: Error | null, done: (error?: Error | null) => void): void {
    clearTimeout(this.#timer);
    this.#rules.signal?.removeEventListener('abort', this.#onAbort);
    this.#source.destroy();
    done(error);
  }

  #receive(chunk: Buffer): void {
    this.#receivedBytes += chunk.length;
    if (this.push(chunk)) {
      this.#restartTimer();
    } else {
      clearTimeout(this.#timer);
      this.#source.pause();
    }
  }

  #finish(): void {
    clearTimeout(this.#timer);
    if (this.#receivedBytes === this.#rules.sizeBytes) this.push(null);
    else this.#failWith('The object was cut off.');
  }

  #restartTimer(): void {
    clearTimeout(this.#timer);
    if (this.#rules.timeoutMs === undefined) return;
    this.#timer = setTimeout(() => this.#failWith('Object storage stopped answering.'), this.#rules.timeoutMs);
  }

  #failWith(message: string): void {
    this.destroy(new KnownProblem('storage_error', message));
  }
}

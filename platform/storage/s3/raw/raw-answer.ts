import type { ByteRange } from '../../object-store.ts';
import { type RawHead, readMissing, readRawHead, readRefusal } from './raw-head.ts';

const headBytesMax = 16 * 1024;

/** The beginning of an answer, as far as the raw path understands it. */
type AnswerStart =
  | { readonly kind: 'incomplete' }
  /** `early` is the part of the body that came with the head; it is overwritten by the next answer. */
  | { readonly kind: 'found'; readonly head: RawHead; readonly early: Buffer }
  /** No such object; the connection can be used again or not. */
  | { readonly kind: 'missing'; readonly isReusable: boolean }
  /** A server that fails. */
  | { readonly kind: 'failed'; readonly status: number }
  /** Anything else: the SDK path asks again. */
  | { readonly kind: 'unfit' };

/** The memory that an answer of one connection begins in, and what it says. */
export class RawAnswerStart {
  /** All of it: where the next answer begins. */
  readonly memory = Buffer.allocUnsafeSlow(headBytesMax);
  #filledBytes = 0;
  #range: Required<ByteRange> | undefined;

  /** The memory for the next bytes. */
  get room(): Buffer {
    return this.memory.subarray(this.#filledBytes);
  }

  /** Forgets the answer before; the next one is to a request of `range`. */
  reset(range: Required<ByteRange> | undefined): void {
    this.#filledBytes = 0;
    this.#range = range;
  }

  /** Called when `count` bytes were written at the beginning of `room`. */
  onBytes(count: number): AnswerStart {
    this.#filledBytes += count;
    const start = this.#read(this.memory.subarray(0, this.#filledBytes));
    return start.kind === 'incomplete' && this.#filledBytes === headBytesMax ? { kind: 'unfit' } : start;
  }

  #read(bytes: Buffer): AnswerStart {
    const refusal = readRefusal(bytes);
    if (refusal === 404) {
      const missing = readMissing(bytes);
      if (missing === 'incomplete') return { kind: 'incomplete' };
      return missing.what === 'bucket' ? { kind: 'unfit' } : { kind: 'missing', isReusable: missing.isReusable };
    }
    if (refusal !== null) return { kind: 'failed', status: refusal };
    const head = readRawHead(bytes, this.#range);
    if (head === 'incomplete' || head === 'unfit') return { kind: head };
    const early = bytes.subarray(head.headBytes);
    // More than the body has come: the length is not to be trusted.
    return early.length > head.bodyBytes ? { kind: 'unfit' } : { kind: 'found', head, early };
  }
}

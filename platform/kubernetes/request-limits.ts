import { KubeError } from './errors.ts';

/** The caller's signal and the time limit of one request as one signal; the error says which of them aborted. */
export class RequestLimits implements Disposable {
  readonly #controller = new AbortController();
  readonly #signal: AbortSignal | undefined;
  readonly #timeoutMs: number;
  #timer: NodeJS.Timeout | undefined;
  #isLate = false;
  readonly #abort = () => this.#controller.abort(this.#signal?.reason);

  constructor(signal: AbortSignal | undefined, timeoutMs: number) {
    this.#signal = signal;
    this.#timeoutMs = timeoutMs;
    this.#timer = setTimeout(() => {
      this.#isLate = true;
      this.#controller.abort();
    }, timeoutMs);
    if (signal?.aborted) this.#abort();
    else signal?.addEventListener('abort', this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  /** Removes the time limit; the caller's signal stays. */
  lift(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
  }

  [Symbol.dispose](): void {
    this.lift();
    this.#signal?.removeEventListener('abort', this.#abort);
  }

  /** Aborts the request of these limits. */
  abort(): void {
    this[Symbol.dispose]();
    this.#controller.abort();
  }

  /** The error to throw for an error that occurred under these limits. */
  explain(what: string, error: unknown): unknown {
    if (error instanceof KubeError) return error;
    if (this.#signal?.aborted) return this.#signal.reason;
    if (this.#isLate) {
      const message = `${what}: no answer within ${this.#timeoutMs} ms`;
      return new KubeError(message, { status: 0, reason: 'Deadline' }, { cause: error });
    }
    if (!isNetworkFault(error)) return error;
    const message = `${what}: ${error.message || error.code}`;
    return new KubeError(message, { status: 0, reason: 'Unreachable' }, { cause: error });
  }
}

// Errors of sockets, TLS and undici have a code; the error of a guard, or a bug, is thrown as it is.
function isNetworkFault(error: unknown): error is Error & { code: string } {
  return error instanceof Error && 'code' in error && typeof error.code === 'string';
}

import type { Clock } from './clock.ts';
import { KubeError } from './errors.ts';

/** Aborts a watch that is silent for `silenceMs`: a connection can die without either side noticing. */
export class Watchdog implements Disposable {
  readonly #controller = new AbortController();
  readonly #outer: AbortSignal;
  readonly #clock: Clock;
  readonly #silenceMs: number;
  readonly #name: string;
  #lastEventMs: number;
  #cancel: () => void;
  readonly #abort = () => this.#controller.abort(this.#outer.reason);

  constructor(name: string, { clock, silenceMs }: { clock: Clock; silenceMs: number }, outer: AbortSignal) {
    this.#name = name;
    this.#clock = clock;
    this.#silenceMs = silenceMs;
    this.#outer = outer;
    this.#lastEventMs = clock.nowMs();
    this.#cancel = clock.after(silenceMs, () => this.#check());
    if (outer.aborted) this.#abort();
    else outer.addEventListener('abort', this.#abort, { once: true });
  }

  get signal(): AbortSignal {
    return this.#controller.signal;
  }

  reset(): void {
    this.#lastEventMs = this.#clock.nowMs();
  }

  [Symbol.dispose](): void {
    this.#cancel();
    this.#outer.removeEventListener('abort', this.#abort);
  }

  // One timer for the whole watch instead of one for each event: it checks, and waits for the rest.
  #check(): void {
    const leftMs = this.#lastEventMs + this.#silenceMs - this.#clock.nowMs();
    if (leftMs > 0) {
      this.#cancel = this.#clock.after(leftMs, () => this.#check());
      return;
    }
    const message = `${this.#name}: no event for ${this.#silenceMs} ms`;
    this.#controller.abort(new KubeError(message, { status: 0, reason: 'Deadline' }));
  }
}

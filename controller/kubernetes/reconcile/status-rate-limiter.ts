/** Told a second, of all jobs together; a few jobs at once never wait. */
const perSecond = 5;
const burst = 25;

/**
 * How often the statuses may say how far jobs are: a bucket of tokens for all of them together. With a thousand jobs at
 * once, what each of them is at would cost the API server more than their work does.
 */
export class StatusRateLimiter {
  #tokens = burst;
  #filledMs = 0;

  mayTell(nowMs: number): boolean {
    this.#fill(nowMs);
    return this.#tokens >= 1;
  }

  told(nowMs: number): void {
    this.#fill(nowMs);
    this.#tokens = Math.max(0, this.#tokens - 1);
  }

  #fill(nowMs: number): void {
    // A clock that is set back fills nothing.
    const passedMs = Math.max(0, nowMs - this.#filledMs);
    this.#tokens = Math.min(burst, this.#tokens + (passedMs * perSecond) / 1000);
    this.#filledMs = nowMs;
  }
}

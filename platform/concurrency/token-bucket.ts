/** How many tokens a bucket gets per second, and the most it holds; it starts full. */
export interface TokenRate {
  readonly perSecond: number;
  readonly burst: number;
}

/** A token bucket. The caller brings the time, in milliseconds; a clock that is set back adds no tokens. */
export class TokenBucket {
  readonly #rate: TokenRate;
  #tokens: number;
  #filledMs = -Infinity;

  constructor(rate: TokenRate) {
    this.#rate = rate;
    this.#tokens = rate.burst;
  }

  hasToken(nowMs: number): boolean {
    this.#fill(nowMs);
    return this.#tokens >= 1;
  }

  /** Takes tokens, on credit from an empty bucket. Returns the milliseconds until the credit is paid back, else 0. */
  take(nowMs: number, count = 1): number {
    this.#fill(nowMs);
    this.#tokens -= count;
    return (Math.max(0, -this.#tokens) * 1000) / this.#rate.perSecond;
  }

  #fill(nowMs: number): void {
    const passedMs = Math.max(0, nowMs - this.#filledMs);
    this.#tokens = Math.min(this.#rate.burst, this.#tokens + (passedMs * this.#rate.perSecond) / 1000);
    this.#filledMs = nowMs;
  }
}

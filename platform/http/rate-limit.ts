import type { FastifyReply } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';
import type { WindowCounter, WindowCount } from '../rate-limit/window-counter.ts';
import { openProcessWindowCounter } from '../rate-limit/process-window-counter.ts';

// Fixed windows in the key-value store (C23.1 to C23.8), with the headers of draft-ietf-httpapi-ratelimit-headers-10.

/** A limit of `quota` requests a minute for each bucket. */
export interface RateLimit {
  readonly name:
    'api' | 'batch' | 'console' | 'events' | 'imports' | 'key' | 'profile-check' | 'rollouts' | 'sessions' | 'uploads';
  readonly quota: number;
}

const windowMs = 60_000;

interface RateLimiterDependencies {
  readonly windowCounter: WindowCounter;
  readonly clock: () => Date;
  /** Called for each hit that the key-value store could not count. */
  readonly onFallback: (limit: RateLimit, error: unknown) => void;
}

interface CountedRequest {
  readonly isExceeded: boolean;
  /** Until the window ends. */
  readonly resetSec: number;
  readonly headers: Readonly<Record<'ratelimit-policy' | 'ratelimit', string>>;
}

export class RateLimiter {
  readonly #dependencies: RateLimiterDependencies;
  readonly #local: WindowCounter;

  constructor(dependencies: RateLimiterDependencies) {
    this.#dependencies = dependencies;
    this.#local = openProcessWindowCounter(dependencies.clock);
  }

  /**
   * Counts a request and sets the headers that say how many are left.
   *
   * @throws KnownProblem `rate_limited`
   */
  async spend(limit: RateLimit, bucket: string, reply: FastifyReply): Promise<void> {
    const { isExceeded, resetSec, headers } = await this.count(limit, bucket);
    reply.headers(headers);
    if (!isExceeded) return;
    reply.header('retry-after', resetSec);
    throw rateLimited(limit, resetSec);
  }

  /** Counts a request; the headers say how many are left. */
  async count(limit: RateLimit, bucket: string): Promise<CountedRequest> {
    const { count, resetMs } = await this.#hit(limit, bucket);
    const resetSec = Math.max(1, Math.ceil(resetMs / 1000));
    const ratelimit = `"${limit.name}";r=${Math.max(0, limit.quota - count)};t=${resetSec}`;
    return { isExceeded: count > limit.quota, resetSec, headers: { ...policyOf(limit), ratelimit } };
  }

  async #hit(limit: RateLimit, bucket: string): Promise<WindowCount> {
    const key = `limit:${limit.name}:${bucket}`;
    try {
      return await this.#dependencies.windowCounter.hit(key, windowMs);
    } catch (error) {
      // Playback must survive the loss of the key-value store, and a limit for each process is better than none.
      this.#dependencies.onFallback(limit, error);
      return await this.#local.hit(key, windowMs);
    }
  }
}

/** The refusal of a request over `limit`, whose window ends in `resetSec`. */
export function rateLimited(limit: RateLimit, resetSec: number): KnownProblem<'rate_limited'> {
  return new KnownProblem('rate_limited', `At most ${limit.quota} requests a minute; try again in ${resetSec} s.`);
}

/** Sets the header with the policy of a limit, also on responses that count nothing. */
export function announceLimit(limit: RateLimit, reply: FastifyReply): void {
  reply.headers(policyOf(limit));
}

function policyOf(limit: RateLimit) {
  return { 'ratelimit-policy': `"${limit.name}";q=${limit.quota};w=${windowMs / 1000}` };
}

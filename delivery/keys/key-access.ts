import { hash as digest } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { KnownProblem, type RequestErrorCode } from '#domain/errors.ts';
import { mediaHashSchema } from '#domain/jobs/submission.ts';
import type { ContentKey } from '#domain/playback/content-key.ts';
import { type TokenVerdict, verifyPlaybackToken } from '#domain/playback/token.ts';
import type { ClientAddresses } from '#platform/http/client-addresses.ts';
import { type RateLimiter, rateLimited } from '#platform/http/rate-limit.ts';
import type { DeletedMedia } from '../deleted-media.ts';
import type { DeliveryDependencies } from '../dependencies.ts';
import type { RememberedKeys } from './remembered-keys.ts';

export const exposedHeaders = 'RateLimit, RateLimit-Policy, Retry-After, X-Trace-ID';

export interface KeyAccessDependencies {
  readonly config: Pick<DeliveryDependencies['config'], 'keyTokenSecret' | 'keyRateLimitPerMinute'>;
  readonly clock: () => Date;
  readonly keys: RememberedKeys;
  readonly deleted: DeletedMedia;
  readonly limiter: RateLimiter;
  readonly clients: ClientAddresses;
}

/** `headers` say how much of the limit is left, and of a refusal what the client is asked for. */
export type KeyDecision = { readonly headers: Readonly<Record<string, string>> } & (
  { readonly key: ContentKey } | { readonly problem: KnownProblem<RequestErrorCode> }
);

const noKey = new KnownProblem('not_found', 'There is no content key for this media.');
const tokenAdvice = 'Send Authorization: Bearer PLAYBACK_TOKEN, with a token for this media.';

/**
 * Decides who gets a content key (C18.6 to C18.11, C19.3 to C19.11, C23.8). The fast path and the routes both ask it.
 */
export class KeyAccess {
  readonly #dependencies: KeyAccessDependencies;

  constructor(dependencies: KeyAccessDependencies) {
    this.#dependencies = dependencies;
  }

  /** Whether a decision needs no database. */
  isCached(hash: string): boolean {
    return this.#dependencies.keys.cached(hash) !== null;
  }

  /** Counts the request, and decides. @throws Error when the database fails or the key does not unwrap */
  async decide(request: Pick<IncomingMessage, 'headers' | 'socket'>, hash: string): Promise<KeyDecision> {
    const { config, keys, deleted, limiter, clients } = this.#dependencies;
    const token = bearerTokenOf(request.headers);
    const verdict = token === null ? null : this.#verify(token, hash);
    // Invented tokens must not each have a window of their own, so only one whose signature holds names a bucket.
    const isSigned = token !== null && verdict !== 'invalid_signature';
    const bucket = isSigned ? `token:${digest('sha256', token)}` : `address:${clients.bucketOf(request)}`;
    const limit = { name: 'key', quota: config.keyRateLimitPerMinute } as const;
    const counted = await limiter.count(limit, bucket);
    const { headers, resetSec } = counted;
    if (counted.isExceeded)
      return { headers: { ...headers, 'retry-after': String(resetSec) }, problem: rateLimited(limit, resetSec) };
    if (token === null)
      return {
        headers: { ...headers, 'www-authenticate': 'Bearer' },
        problem: new KnownProblem('unauthorized', tokenAdvice),
      };
    // The same body for all reasons, so that a guess reveals nothing.
    if (verdict !== 'valid') return { headers, problem: new KnownProblem('forbidden') };
    if (!mediaHashSchema.safeParse(hash).success) return { headers, problem: noKey };
    const refusal = await deleted.refusalOf(hash);
    if (refusal !== null) return { headers, problem: refusal };
    const key = await keys.find(hash);
    return key === null ? { headers, problem: await deleted.explain(hash, noKey) } : { headers, key };
  }

  #verify(token: string, hash: string): TokenVerdict {
    const nowSec = Math.floor(this.#dependencies.clock().getTime() / 1000);
    return verifyPlaybackToken(token, this.#dependencies.config.keyTokenSecret, { hash, nowSec });
  }
}

function bearerTokenOf({ authorization }: IncomingMessage['headers']): string | null {
  const [, token = ''] = /^bearer +(.+)$/i.exec(authorization?.trim() ?? '') ?? [];
  return token === '' ? null : token;
}

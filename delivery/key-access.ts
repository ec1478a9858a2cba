import { hash as digest } from 'node:crypto';
import type { IncomingMessage } from 'node:http';
import { type TokenVerdict, verifyPlaybackToken } from '#domain/playback/token.ts';
import type { RateLimit, RateLimiter } from '#platform/http/rate-limit.ts';
import type { DeliveryDependencies } from './dependencies.ts';
import type { RememberedKeys } from './remembered-keys.ts';

// Who may have a content key, as the routes and their fast path ask it.

export const exposedHeaders = 'RateLimit, RateLimit-Policy, Retry-After, X-Trace-ID';

export type KeyDependencies = Pick<DeliveryDependencies, 'config' | 'clock' | 'metrics'> & {
  readonly keys: RememberedKeys;
  readonly limiter: RateLimiter;
};

export function keyLimit({ keyRateLimitPerMinute }: KeyDependencies['config']): RateLimit {
  return { name: 'key', quota: keyRateLimitPerMinute };
}

export interface CheckedToken {
  readonly verdict: Exclude<TokenVerdict, 'invalid_signature'>;
  /** The bucket of its limit. */
  readonly bucket: string;
}

/**
 * The Bearer token of a request for the key of `hash`; null for none, or one whose signature does not hold: invented
 * tokens must not each have a window of their own, so only a signed one names a bucket (C8.8).
 */
export function checkToken(
  { headers }: Pick<IncomingMessage, 'headers'>,
  hash: string,
  { config, clock }: Pick<KeyDependencies, 'config' | 'clock'>,
): CheckedToken | null {
  const token = bearerTokenOf(headers);
  if (token === null) return null;
  const nowSec = Math.floor(clock().getTime() / 1000);
  const verdict = verifyPlaybackToken(token, config.keyTokenSecret, { hash, nowSec });
  return verdict === 'invalid_signature' ? null : { verdict, bucket: `token:${digest('sha256', token)}` };
}

export function bearerTokenOf({ authorization }: IncomingMessage['headers']): string | null {
  const [, token = ''] = /^bearer +(.+)$/i.exec(authorization?.trim() ?? '') ?? [];
  return token === '' ? null : token;
}

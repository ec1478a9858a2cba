import { hash as digestOf } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { JobType } from '../job-types/index.ts';

/** The fields by which two submissions are equal (C11.24, C11.25); `options` with its defaults filled in. */
export interface IdempotentRequest {
  readonly type: JobType;
  readonly hash: string;
  readonly source: string;
  readonly options: unknown;
}

/**
 * The key of an active rerun, whose job would have `key`: equal reruns at once make one job, beside the live one that
 * answers submissions. A completed rerun takes `key` itself.
 */
export function rerunKey(key: string): string {
  return `${rerunPrefix}${key}`;
}

/** How the key of every active rerun begins. */
export const rerunPrefix = 'rerun ';

/** SHA-256, in hex, of the RFC 8785 canonical JSON of `{type, hash, source, options}`. */
export function idempotencyKey({ type, hash, source, options }: IdempotentRequest): string {
  return digestOf('sha256', String(canonicalize({ type, hash, source, options })));
}

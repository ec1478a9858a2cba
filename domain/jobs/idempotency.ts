import { hash as digestOf } from 'node:crypto';
import canonicalize from 'canonicalize';
import type { JobType } from '../job-types/index.ts';
import { type NamedProfile, profileDigest } from '../media/profiles.ts';

/** What makes two submissions equal (C2.27, C2.28); `options` with its defaults filled in. */
export interface IdempotentRequest {
  readonly type: JobType;
  readonly hash: string;
  readonly source: string;
  readonly options: unknown;
  /** Absent or null: the built-in `default`. */
  readonly profile?: NamedProfile | null;
}

/** SHA-256, in hex, of the RFC 8785 canonical JSON of `{type, hash, source, options}`, and the digest of a profile. */
export function idempotencyKey({ type, hash, source, options, profile = null }: IdempotentRequest): string {
  const digest = profile === null ? null : profileDigest(profile);
  const canonical = canonicalize({ type, hash, source, options, ...(digest === null ? {} : { profile: digest }) });
  if (canonical === undefined) throw new TypeError('an idempotency key needs a JSON value');
  return digestOf('sha256', canonical);
}

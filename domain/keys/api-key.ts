import { hash, timingSafeEqual } from 'node:crypto';
import { KnownProblem } from '../errors.ts';
import { priorityMax } from '../jobs/ticket.ts';
import type { KeyQuotas } from './quotas.ts';
import type { Right } from './rights.ts';

/** An API key without its secret. A named key never changes: it is made, and revoked. */
export interface ApiKey {
  /** The first 8 hex digits of its SHA-256, by which log lines and rows name it. */
  readonly id: string;
  readonly name: string;
  readonly rights: readonly Right[];
  /** Media whose hash begins with it are all that the key submits and sees; null: every media. */
  readonly hashPrefix: string | null;
  /** Sources that it may submit, beside its own uploads and imports; null: every source. */
  readonly sourcePrefix: string | null;
  /** Profiles that it may choose; the first is the one of submissions that name none. Null: every profile. */
  readonly profiles: readonly string[] | null;
  /** The greatest `X-Priority` that it may send. */
  readonly priorityMax: number;
  /** How many slots it gets beside others, in proportion to theirs (domain/jobs/turns.ts): 1 to `weightMax`. */
  readonly weight: number;
  /** The quotas of the key; absent and null: it has none. */
  readonly quotas?: KeyQuotas | null;
}

/** The greatest weight of a key. */
export const weightMax = 100;

/** The key of a value of `API_KEY`, which may do everything. */
export function configuredKey(digest: Buffer): ApiKey {
  return {
    id: keyIdOf(digest),
    name: 'API_KEY',
    rights: ['admin'],
    hashPrefix: null,
    sourcePrefix: null,
    profiles: null,
    priorityMax,
    weight: 1,
  };
}

/** The SHA-256 of a key, which is all of it that is stored. */
export function digestOfKey(key: string): Buffer {
  return hash('sha256', key, 'buffer');
}

/** The `id` of the key with this digest, which does not reveal it. */
export function keyIdOf(digest: Buffer): string {
  return digest.toString('hex').slice(0, 8);
}

/** Whether `digest` is one of those of secrets; each is compared, in constant time. */
export function isDigestOfOne(digests: readonly Buffer[], digest: Buffer): boolean {
  let isKnown = false;
  for (const each of digests) isKnown = timingSafeEqual(each, digest) || isKnown;
  return isKnown;
}

const keyBytes = 32;

/** A named key: `rw_` and 256 random bits. */
export function namedKeyOf(random: (bytes: number) => Buffer): string {
  return `rw_${random(keyBytes).toString('base64url')}`;
}

/** Whether `text` has the form of a named key; nothing else is looked up. */
export function isNamedKey(text: string): boolean {
  return /^rw_[A-Za-z0-9_-]{43}$/.test(text);
}

/** Whether a key owns the media of a hash. */
export function ownsHash({ hashPrefix }: Pick<ApiKey, 'hashPrefix'>, mediaHash: string): boolean {
  return hashPrefix === null || mediaHash.startsWith(hashPrefix);
}

/** @throws KnownProblem `forbidden` for a hash that is not below the key's prefix */
export function requireHash(key: ApiKey, mediaHash: string): void {
  if (ownsHash(key, mediaHash)) return;
  throw new KnownProblem('forbidden', `hash must begin with ${key.hashPrefix}, the hash_prefix of this API key.`);
}

/** Whether a key may submit a source whoever stored it. */
export function ownsSource({ sourcePrefix }: Pick<ApiKey, 'sourcePrefix'>, source: string): boolean {
  return sourcePrefix === null || source.startsWith(sourcePrefix);
}

/** The refusal of a source that is neither below the key's prefix nor stored by an upload or import of the key. */
export function sourceRefused({ sourcePrefix }: ApiKey): KnownProblem {
  return new KnownProblem(
    'forbidden',
    `source must begin with ${sourcePrefix}, the source_prefix of this API key, or be an upload or import of this key.`,
  );
}

/** The choices of a caller for a job beside the fields that make submissions equal. */
interface ChosenByCaller {
  readonly profile?: string | undefined;
  readonly priority?: number | undefined;
}

/** @throws KnownProblem `forbidden` for a profile or a priority that the key may not choose */
export function requireChoices(key: ApiKey, { profile, priority }: ChosenByCaller): void {
  if (profile !== undefined && key.profiles !== null && !key.profiles.includes(profile))
    throw new KnownProblem('forbidden', `profile must be one of those of this API key: ${key.profiles.join(', ')}.`);
  if (priority !== undefined && priority > key.priorityMax)
    throw new KnownProblem(
      'forbidden',
      `priority must be at most ${key.priorityMax}, the priority_max of this API key.`,
    );
}

import { createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import type { Fault } from '../errors.ts';
import { sourceKeySchema } from '../jobs/submission.ts';
import { isNamedAsImage } from '../media/image-names.ts';
import { objectKeyBytesMax } from '../media/object-keys.ts';
import { readThumbQuery, thumbOptionsShape, type ThumbPresets, type ThumbQuery } from './thumb-options.ts';

/**
 * Signed image addresses, `/thumb/{sig}/{encoded_key}` (C20.1 to C20.10):
 *
 * - `encoded_key` = base64url(object key), without padding;
 * - `sig` = base64url(HMAC-SHA256(secret, `"/" + encoded_key` and, when there is a query, `"?"` + the sorted query)).
 *
 * The sorted query is its `name=value` pairs ordered by name and joined by `&`, as `application/x-www-form-urlencoded`
 * writes them. The signature covers everything that an answer depends on.
 */

/** An image and how it is shown, as numbers; what the query is to an address. */
export const thumbRequestSchema = z.strictObject({
  key: z
    .string()
    .max(objectKeyBytesMax)
    .refine(isImageKey, 'must be the key of an image below images/ or videos/ of the media bucket')
    .describe('The key of the image.'),
  ...thumbOptionsShape,
});

type RawQuery = Readonly<Record<string, string | number | undefined>>;

function sortedQuery(pairs: readonly (readonly [string, string])[]): string {
  const inOrder = pairs.toSorted(([a], [b]) => (a < b ? -1 : a > b ? 1 : 0));
  const query = new URLSearchParams();
  for (const [name, value] of inOrder) query.append(name, value);
  return query.toString();
}

function thumbSignature(encodedKey: string, query: string, secret: string): string {
  return createHmac('sha256', secret)
    .update(`/${encodedKey}${query === '' ? '' : `?${query}`}`)
    .digest('base64url');
}

/** The path, with its query, at which `key` is served as `query` asks. */
export function signThumbPath(key: string, query: RawQuery, secret: string): string {
  const sorted = sortedQuery(pairsOf(query));
  return thumbPathOf(key, query, thumbSignature(Buffer.from(key).toString('base64url'), sorted, secret));
}

/** The path of an image with a signature that the caller has, or a word in its place. */
export function thumbPathOf(key: string, query: RawQuery, signature: string): string {
  const sorted = sortedQuery(pairsOf(query));
  return `/thumb/${signature}/${Buffer.from(key).toString('base64url')}${sorted === '' ? '' : `?${sorted}`}`;
}

function pairsOf(query: RawQuery): readonly (readonly [string, string])[] {
  return Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
}

export type ThumbVerdict =
  | { readonly kind: 'valid'; readonly key: string; readonly query: ThumbQuery }
  /** The same pairs in another order: `path` is the one spelling that is answered. */
  | { readonly kind: 'moved'; readonly path: string }
  /** The signature does not hold. */
  | { readonly kind: 'forbidden' }
  /** There is no signature, and this server wants one. */
  | { readonly kind: 'unsigned' }
  /** The signature is valid for the query as sent, but must be made over the sorted one. */
  | { readonly kind: 'unsorted' }
  /** The signature holds, and `exp`, in Unix seconds, has passed. */
  | { readonly kind: 'expired'; readonly exp: number }
  /** Signed, and yet no image of this service. */
  | { readonly kind: 'not_an_image' }
  /** Signed, and yet no image of a source that this server shows; `prefix` is null where it shows none. */
  | { readonly kind: 'not_a_source'; readonly prefix: string | null }
  /** Signed, and yet not a query of this service. */
  | { readonly kind: 'invalid'; readonly faults: readonly Fault[] };

/** The settings by which a server checks addresses. */
export interface ThumbSettings {
  readonly secrets: readonly string[];
  readonly presets: ThumbPresets;
  /** Whether addresses without a signature are answered too, for development. */
  readonly isUnsigned: boolean;
  /** The beginning of the keys of sources that are shown as images; null where none are. */
  readonly sourcePrefix: string | null;
}

/** Where an address without a signature begins; its key is written as it is, or encoded. */
export const unsignedPrefix = '/thumb/unsigned/';

/**
 * Checks an address, path and query as they were sent: the signature in constant time before anything else is read,
 * then its spelling, expiry, key and options. An image has one spelling, so that caches store it once.
 */
export function readThumb(address: string, settings: ThumbSettings, nowSec: number): ThumbVerdict {
  const [path = '', ...searches] = address.split('?');
  const search = searches.join('?');
  const pairs = [...new URLSearchParams(search)];
  const isTwice = new Set(pairs.map(([name]) => name)).size !== pairs.length;
  if (!path.startsWith(unsignedPrefix)) {
    const refusal = refusalOfSigned({ address, path, search, pairs, isTwice }, settings.secrets);
    return refusal ?? verdictOf(keyOf(path.split('/')[3] ?? ''), pairs, settings, nowSec);
  }
  if (!settings.isUnsigned) return { kind: 'unsigned' };
  const twice = { pointer: '', code: 'invalid_value', detail: 'may have each option once' };
  if (isTwice) return { kind: 'invalid', faults: [twice] };
  return verdictOf(keyOfUnsigned(path.slice(unsignedPrefix.length)), pairs, settings, nowSec);
}

interface SentAddress {
  readonly address: string;
  readonly path: string;
  readonly search: string;
  readonly pairs: readonly (readonly [string, string])[];
  readonly isTwice: boolean;
}

/** Why the signature or the spelling of an address does not hold; null for one that holds. */
function refusalOfSigned(sent: SentAddress, secrets: readonly string[]): ThumbVerdict | null {
  const { address, path, search, pairs, isTwice } = sent;
  const [, , signature = '', encodedKey = ''] = path.split('/');
  const sorted = sortedQuery(pairs);
  // Every secret is tried, so that the time it takes does not reveal which one holds.
  const holds = secrets.map((secret) => isEqual(signature, thumbSignature(encodedKey, sorted, secret)));
  const holdsUnsorted = secrets.map((secret) => isEqual(signature, thumbSignature(encodedKey, search, secret)));
  if (isTwice) return { kind: 'forbidden' };
  if (!holds.includes(true)) return { kind: holdsUnsorted.includes(true) ? 'unsorted' : 'forbidden' };
  const spelling = `/thumb/${signature}/${encodedKey}${sorted === '' ? '' : `?${sorted}`}`;
  if (address === spelling) return null;
  const isInOtherOrder = `${path}?${search.split('&').toSorted().join('&')}` === spelling;
  return isInOtherOrder ? { kind: 'moved', path: spelling } : { kind: 'forbidden' };
}

function keyOf(encodedKey: string): string {
  return Buffer.from(encodedKey, 'base64url').toString('utf8');
}

/** A key has a slash or a dot, which no encoded one has. */
function keyOfUnsigned(written: string): string {
  if (!/[/.%]/.test(written)) return keyOf(written);
  try {
    return decodeURIComponent(written);
  } catch {
    return '';
  }
}

function verdictOf(
  key: string,
  pairs: readonly (readonly [string, string])[],
  { presets, sourcePrefix: prefix }: ThumbSettings,
  nowSec: number,
): ThumbVerdict {
  const read = readThumbQuery(Object.fromEntries(pairs), presets);
  if ('faults' in read) return { kind: 'invalid', faults: read.faults };
  const { query } = read;
  const { exp } = query;
  if (exp !== undefined && exp < nowSec) return { kind: 'expired', exp };
  if (query.from === 'source')
    return isShownSource(key, prefix) ? { kind: 'valid', key, query } : { kind: 'not_a_source', prefix };
  return isImageKey(key) ? { kind: 'valid', key, query } : { kind: 'not_an_image' };
}

/** Whether `key` may be that of a source and is named as an image below the prefix: no video is read to look at it. */
function isShownSource(key: string, prefix: string | null): boolean {
  return prefix !== null && sourceKeySchema.safeParse(key).success && key.startsWith(prefix) && isNamedAsImage(key);
}

function isEqual(given: string, expected: string): boolean {
  const [a, b] = [Buffer.from(given), Buffer.from(expected)];
  return a.length === b.length && timingSafeEqual(a, b);
}

/** Whether `key` is an image below the two prefixes of results. */
function isImageKey(key: string): boolean {
  if (Buffer.byteLength(key) > objectKeyBytesMax) return false;
  const isSafe = key.isWellFormed() && !key.split('/').some((segment) => ['', '.', '..'].includes(segment));
  return isSafe && /^(?:images|videos)\/[0-9a-f]{2}\/[^\0]+\.(?:webp|jpg|png|avif|gif)$/.test(key);
}

/** The secrets of thumb addresses: `THUMB_SECRET`, or one derived from `KEY_TOKEN_SECRET` when there is none. */
export function thumbSecretsOf(given: readonly string[], keyTokenSecret: string): readonly string[] {
  if (given.length > 0) return given;
  return [Buffer.from(hkdfSync('sha256', keyTokenSecret, '', 'thumb/v1', 32)).toString('hex')];
}

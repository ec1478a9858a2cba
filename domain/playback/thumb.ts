import { createHash, createHmac, hkdfSync, timingSafeEqual } from 'node:crypto';
import { z } from 'zod';
import { acceptedValues } from '../accepted-values.ts';
import { hashOfKey, mediaPrefix, objectKeyBytesMax } from '../media/object-keys.ts';

/**
 * Signed image addresses, `/thumb/{sig}/{encoded_key}` (C20.1 to C20.10):
 *
 * - `encoded_key` = base64url(object key), without padding;
 * - `sig` = base64url(HMAC-SHA256(secret, `"/" + encoded_key` and, when there is a query, `"?"` + the sorted query)).
 *
 * The sorted query is its `name=value` pairs ordered by name and joined by `&`, as `application/x-www-form-urlencoded`
 * writes them. The signature covers everything that an answer depends on.
 */

const side = z.int().min(1).max(4096);
const percent = z.int().min(1).max(100);
const shape = {
  fit: z.enum(['cover', 'contain', 'inside']).optional().describe('How it fits into width and height.'),
  f: z.enum(['webp', 'jpg', 'png', 'avif', 'auto']).optional().describe('The format.'),
};

/** A number as an address writes it. */
const written = (number: z.ZodInt) =>
  z
    .string()
    .regex(/^\d{1,15}$/, 'must be a whole number')
    .transform(Number)
    .pipe(number)
    .optional();

const thumbQuery = z.strictObject({
  w: written(side),
  h: written(side),
  ...shape,
  q: written(percent),
  /** Unix seconds; once it is past the address answers 403. */
  exp: written(z.int()),
});
/** The query of a thumb address: sizes in pixels, quality 1–100. */
export type ThumbQuery = z.output<typeof thumbQuery>;

/** An image and how it is shown, as numbers; what `thumbQuery` is to an address. */
export const thumbRequestSchema = z.strictObject({
  key: z
    .string()
    .max(objectKeyBytesMax)
    .refine(isImageKey, 'must be the key of an image below images/ or videos/ of the media bucket')
    .describe('The key of the image.'),
  w: side.optional().describe('The width in pixels.'),
  h: side.optional().describe('The height in pixels.'),
  ...shape,
  q: percent.optional().describe('The quality, 1–100.'),
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
  const encodedKey = Buffer.from(key).toString('base64url');
  const given = Object.entries(query).filter(([, value]) => value !== undefined);
  const sorted = sortedQuery(given.map(([name, value]) => [name, String(value)]));
  return `/thumb/${thumbSignature(encodedKey, sorted, secret)}/${encodedKey}${sorted === '' ? '' : `?${sorted}`}`;
}

export type ThumbVerdict =
  | { readonly kind: 'valid'; readonly key: string; readonly query: ThumbQuery }
  /** The same pairs in another order: `path` is the one spelling that is answered. */
  | { readonly kind: 'moved'; readonly path: string }
  /** The signature does not hold. */
  | { readonly kind: 'forbidden' }
  /** The signature is valid for the query as sent, but must be made over the sorted one. */
  | { readonly kind: 'unsorted' }
  /** The signature holds, and `exp`, in Unix seconds, has passed. */
  | { readonly kind: 'expired'; readonly exp: number }
  /** Signed, and yet no image of this service. */
  | { readonly kind: 'not_an_image' }
  /** Signed, and yet not a query of this service. */
  | { readonly kind: 'invalid'; readonly error: z.ZodError };

/**
 * Checks an address, path and query as they were sent: the signature in constant time before anything else is read,
 * then its spelling, expiry, key and options. An image has one spelling, so that caches store it once.
 */
export function readThumb(address: string, secrets: readonly string[], nowSec: number): ThumbVerdict {
  const [path = '', ...searches] = address.split('?');
  const search = searches.join('?');
  const [, , signature = '', encodedKey = ''] = path.split('/');
  const pairs = [...new URLSearchParams(search)];
  const sorted = sortedQuery(pairs);
  // Every secret is tried, so that the time it takes does not reveal which one holds.
  const holds = secrets.map((secret) => isEqual(signature, thumbSignature(encodedKey, sorted, secret)));
  const isTwice = new Set(pairs.map(([name]) => name)).size !== pairs.length;
  const holdsUnsorted = secrets.map((secret) => isEqual(signature, thumbSignature(encodedKey, search, secret)));
  if (isTwice) return { kind: 'forbidden' };
  if (!holds.includes(true)) return { kind: holdsUnsorted.includes(true) ? 'unsorted' : 'forbidden' };
  const spelling = `/thumb/${signature}/${encodedKey}${sorted === '' ? '' : `?${sorted}`}`;
  if (address !== spelling) {
    const isInOtherOrder = `${path}?${search.split('&').toSorted().join('&')}` === spelling;
    return isInOtherOrder ? { kind: 'moved', path: spelling } : { kind: 'forbidden' };
  }
  const query = thumbQuery.safeParse(Object.fromEntries(pairs));
  if (!query.success) return { kind: 'invalid', error: query.error };
  const { exp } = query.data;
  if (exp !== undefined && exp < nowSec) return { kind: 'expired', exp };
  const key = Buffer.from(encodedKey, 'base64url').toString('utf8');
  return isImageKey(key) ? { kind: 'valid', key, query: query.data } : { kind: 'not_an_image' };
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

export type ThumbFormat = 'webp' | 'jpg' | 'png' | 'avif';

/** The result that is made of an image: the same for equal requests, so that equal work is done once. */
export interface ThumbVariant {
  readonly key: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly fit: 'cover' | 'contain' | 'inside';
  readonly format: ThumbFormat;
  readonly quality: number;
}

/** The qualities of stored outputs; PNG's number is a compression effort. */
const qualityOf = { webp: 80, jpg: 82, avif: 50, png: 80 } as const satisfies Record<ThumbFormat, number>;

/**
 * The variant that a query asks for.
 *
 * @param accept the request's `Accept`, which decides for `f=auto` alone
 */
export function thumbVariantOf(key: string, query: ThumbQuery, accept: string): ThumbVariant {
  const asked = query.f === 'auto' ? (mayMove(key) ? 'webp' : bestFormat(accept)) : query.f;
  const format = asked ?? formatOfKey(key);
  return {
    key,
    width: query.w ?? null,
    height: query.h ?? null,
    fit: query.fit ?? 'inside',
    format,
    quality: query.q ?? qualityOf[format],
  };
}

/** A preview of a video. Of the formats that are made, only WebP keeps an animation (C20.13). */
function mayMove(key: string): boolean {
  return key.startsWith('videos/') && /\.(?:webp|gif)$/.test(key);
}

function bestFormat(accept: string): ThumbFormat {
  const values = acceptedValues(accept).filter(({ isWanted }) => isWanted);
  const wanted = new Set(values.map(({ name }) => name));
  if (wanted.has('image/avif')) return 'avif';
  return wanted.has('image/webp') ? 'webp' : 'jpg';
}

/** An image keeps its format; an animated GIF becomes an animated WebP, which is smaller and looks better. */
function formatOfKey(key: string): ThumbFormat {
  const extension = key.slice(key.lastIndexOf('.') + 1);
  return extension === 'jpg' || extension === 'png' || extension === 'avif' ? extension : 'webp';
}

/** The folder of a media's variants, with a slash at its end. */
export function thumbCacheFolder(hash: string): string {
  return `cache/thumb/${mediaPrefix(hash)}/${hash}/`;
}

/** The key of a variant in the media bucket, in the folder of its media, so that it is deleted with it. */
export function thumbCacheKey(variant: ThumbVariant): string {
  const { key, width, height, fit, format, quality } = variant;
  const digest = createHash('sha256').update(JSON.stringify(['thumb/v1', key, width, height, fit, format, quality]));
  const name = digest.digest('hex');
  return `${thumbCacheFolder(hashOfKey(key))}${name}.${format}`;
}

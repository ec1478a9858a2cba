import { createHash } from 'node:crypto';
import { acceptedValues } from '../accepted-values.ts';
import { hashOfKey, mediaPrefix } from '../media/object-keys.ts';
import type { ThumbGravity, ThumbQuery, ThumbTurn } from './thumb-options.ts';

type ThumbFormat = 'webp' | 'jpg' | 'png' | 'avif';

/** A part of an image in pixels. */
interface ThumbCrop {
  readonly left: number;
  readonly top: number;
  readonly width: number;
  readonly height: number;
}

/** Operations on an image besides its size, in the order of cache keys; one without effect is left out. */
interface ThumbOperations {
  readonly rotate?: Exclude<ThumbTurn, 0>;
  /** Margins that differ from the first pixel by at most this are cut off after `rotate`. */
  readonly trim?: number;
  /** The part that is cut out of the image after `rotate`. */
  readonly crop?: ThumbCrop;
  readonly gravity?: Exclude<ThumbGravity, 'center'>;
  readonly blur?: number;
  readonly sharpen?: number;
  /** Six hexadecimal digits in lower case. */
  readonly background?: string;
}

/** The variant that is made of an image: the same for equal requests, so that equal work is done once. */
export interface ThumbVariant {
  readonly key: string;
  readonly width: number | null;
  readonly height: number | null;
  readonly fit: 'cover' | 'contain' | 'inside';
  readonly format: ThumbFormat;
  readonly quality: number;
  readonly operations: ThumbOperations;
  /** The key is one of the source bucket. */
  readonly isOfSource?: true;
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
  const pixels = (side: number | undefined) => (side === undefined ? null : Math.round(side * (query.dpr ?? 1)));
  return {
    key,
    width: pixels(query.w),
    height: pixels(query.h),
    fit: query.fit ?? 'inside',
    format,
    quality: query.q ?? qualityOf[format],
    operations: operationsOf(query),
    ...(query.from === 'source' ? { isOfSource: true } : {}),
  };
}

function operationsOf({ rotate = 0, trim, crop, gravity = 'center', blur, sharpen, background }: ThumbQuery) {
  const [left = 0, top = 0, width = 0, height = 0] = crop?.split('-').map(Number) ?? [];
  return {
    ...(rotate === 0 ? {} : { rotate }),
    ...(trim === undefined ? {} : { trim }),
    ...(crop === undefined ? {} : { crop: { left, top, width, height } }),
    ...(gravity === 'center' ? {} : { gravity }),
    ...(blur === undefined ? {} : { blur }),
    ...(sharpen === undefined ? {} : { sharpen }),
    ...(background === undefined ? {} : { background: background.toLowerCase() }),
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
  return `${thumbCacheFolder(hashOfKey(variant.key))}${digestOf('thumb/v1', variant)}.${variant.format}`;
}

/**
 * The key of a variant of a source in memory, which nothing of the media bucket has.
 *
 * @param etag the source's: it may be written again under its key
 */
export function sourceThumbCacheKey(variant: ThumbVariant, etag: string): string {
  return `source/${digestOf(`source/${etag}`, variant)}.${variant.format}`;
}

function digestOf(of: string, { key, width, height, fit, format, quality, operations }: ThumbVariant): string {
  // Without operations the list is the one of versions that had none, whose images stay valid.
  const made = Object.keys(operations).length === 0 ? [] : [operations];
  const list = [of, key, width, height, fit, format, quality, ...made];
  return createHash('sha256').update(JSON.stringify(list)).digest('hex');
}

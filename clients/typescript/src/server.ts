import { ReelwrightError } from './errors.ts';
import type { WebhookEvent } from './types.ts';

// What only a holder of a secret can make or check. For servers: a secret never goes to a browser.

const encoder = new TextEncoder();

/** How long a token holds: seconds from now, or a Unix time. */
type Expiry = { readonly expiresInSec: number } | { readonly exp: number };

/** A playback token for a hash, signed with `KEY_TOKEN_SECRET`. */
export async function playbackToken(hash: string, keyTokenSecret: string, expiry: Expiry): Promise<string> {
  const exp = 'exp' in expiry ? expiry.exp : Math.floor(Date.now() / 1000) + expiry.expiresInSec;
  const payload = base64url(encoder.encode(JSON.stringify({ hash, exp })));
  return `${payload}.${base64url(await hmac(encoder.encode(keyTokenSecret), payload))}`;
}

/** Further fields of the address of the player page. */
export interface PlayerUrlOptions {
  /** The ticket of a signed stream. */
  readonly ticket?: string;
  /** Shown in place of the hash. Whoever has the address can read it. */
  readonly title?: string;
  /** Where it begins, in seconds. */
  readonly startSec?: number;
}

/**
 * The address of the page that plays a hash: the token, and the ticket of a signed stream, which may stand for the
 * options, are in the fragment, which no server sees.
 */
export function playerUrl(
  baseUrl: string,
  hash: string,
  token: string,
  options: string | PlayerUrlOptions = {},
): string {
  const { ticket = '', title = '', startSec = 0 } = typeof options === 'string' ? { ticket: options } : options;
  const fragment = new URLSearchParams({
    hash,
    token,
    ...(ticket === '' ? {} : { ticket }),
    ...(title === '' ? {} : { title }),
    ...(startSec > 0 ? { t: String(startSec) } : {}),
  });
  return `${baseUrl.replace(/\/+$/, '')}/player/#${fragment.toString()}`;
}

export type TicketOptions = Expiry & {
  /** `playback_generation` of the media, which withdrawing its tickets raises; 0 by default. */
  readonly generation?: number;
  /** `audio`, a height such as `720p`, or `sid-` and the id of a session, which the first two may be followed by: `720p~sid-a1`. */
  readonly scope?: string;
};

/** The ticket of a stream, signed with `STREAM_SECRET`: it plays at `/s/{ticket}/{hash}/master.m3u8`. */
export async function streamTicket(hash: string, streamSecret: string, options: TicketOptions): Promise<string> {
  const exp = 'exp' in options ? options.exp : Math.floor(Date.now() / 1000) + options.expiresInSec;
  const mac = async (text: string) => base64url(await hmac(encoder.encode(streamSecret), text));
  const claims = [exp, (await mac('kid')).slice(0, 8), options.generation ?? 0];
  const written = [...claims, ...(options.scope === undefined ? [] : [options.scope])].join('.');
  return `${written}.${await mac(`/s/${written}/${hash}`)}`;
}

/** The address at which a stream plays by a ticket. */
export function signedStreamUrl(baseUrl: string, hash: string, ticket: string): string {
  return `${baseUrl.replace(/\/+$/, '')}/s/${ticket}/${hash}/master.m3u8`;
}

export interface ThumbQuery {
  /** Pixels, 1–4096. */
  readonly w?: number;
  readonly h?: number;
  /** 1–4: multiplies `w` and `h`. */
  readonly dpr?: number;
  readonly fit?: 'cover' | 'contain' | 'inside';
  /** The part of the image that `fit: 'cover'` keeps. */
  readonly gravity?: ThumbGravity;
  /** Degrees clockwise. */
  readonly rotate?: 0 | 90 | 180 | 270;
  /** Margins whose values differ from the first pixel's by at most this are cut off, 1–254; not with `crop`. */
  readonly trim?: number;
  /** `left-top-width-height` in pixels of the turned image: `100-0-640-480`. */
  readonly crop?: string;
  /** Sigma in pixels of the result, 0.3–100. */
  readonly blur?: number;
  /** Sigma in pixels of the result, 0.3–10. */
  readonly sharpen?: number;
  /** `rrggbb`: the colour of margins and of what is transparent. */
  readonly background?: string;
  readonly f?: 'webp' | 'jpg' | 'png' | 'avif' | 'auto';
  /** Quality, 1–100. */
  readonly q?: number;
  /** A name of `THUMB_PRESETS`. */
  readonly preset?: string;
  /** The key is one of the source bucket, where `THUMB_SOURCES` allows it. */
  readonly from?: 'source';
  /** Unix seconds from which on the address is refused. */
  readonly exp?: number;
}

export type ThumbGravity =
  | 'center'
  | 'north'
  | 'northeast'
  | 'east'
  | 'southeast'
  | 'south'
  | 'southwest'
  | 'west'
  | 'northwest'
  | 'attention'
  | 'entropy';

/** `THUMB_SECRET`, or, where the service has none, the `KEY_TOKEN_SECRET` that it is derived from. */
export type ThumbSecret = { readonly thumbSecret: string } | { readonly keyTokenSecret: string };

/** The signed address of an image by its object key; without `baseUrl` the path alone. */
export async function thumbUrl(
  key: string,
  query: ThumbQuery,
  options: ThumbSecret & { readonly baseUrl?: string },
): Promise<string> {
  const secret = 'thumbSecret' in options ? options.thumbSecret : await derivedThumbSecret(options.keyTokenSecret);
  const pairs = Object.entries(query).filter(([, value]) => value !== undefined);
  const search = new URLSearchParams(pairs.map(([name, value]): [string, string] => [name, String(value)]));
  search.sort();
  const encoded = base64url(encoder.encode(key));
  const path = search.size === 0 ? `/${encoded}` : `/${encoded}?${search.toString()}`;
  const signature = base64url(await hmac(encoder.encode(secret), path));
  return `${options.baseUrl?.replace(/\/+$/, '') ?? ''}/thumb/${signature}${path}`;
}

/** The widths of `srcset`, for images whose size follows the page, or the densities, for those of one size. */
export type ThumbSizes = { readonly widths: readonly number[] } | { readonly densities: readonly number[] };

/**
 * The `srcset` of an image: `… 320w, … 640w` by widths, `… 1x, … 2x` by densities, which need `w` or `h`. A height that
 * `query` has is of its width, and grows with it.
 */
export async function thumbSrcset(
  key: string,
  query: ThumbQuery,
  options: ThumbSecret & { readonly baseUrl?: string } & ThumbSizes,
): Promise<string> {
  const secret = 'thumbSecret' in options ? options.thumbSecret : await derivedThumbSecret(options.keyTokenSecret);
  const { w, h } = query;
  const sizes =
    'widths' in options
      ? options.widths.map((width) => ({
          name: `${width}w`,
          size: { w: width, ...(w === undefined || h === undefined ? {} : { h: Math.floor((h * width) / w + 0.5) }) },
        }))
      : options.densities.map((dpr) => ({ name: `${dpr}x`, size: { dpr } }));
  const { baseUrl = '' } = options;
  const addresses = sizes.map(async ({ name, size }) => {
    const url = await thumbUrl(key, { ...query, ...size }, { thumbSecret: secret, baseUrl });
    return `${url} ${name}`;
  });
  return (await Promise.all(addresses)).join(', ');
}

/** HKDF-SHA256 without salt, in hex. */
async function derivedThumbSecret(keyTokenSecret: string): Promise<string> {
  const key = await crypto.subtle.importKey('raw', encoder.encode(keyTokenSecret), 'HKDF', false, ['deriveBits']);
  const info = encoder.encode('thumb/v1');
  const bits = await crypto.subtle.deriveBits(
    { name: 'HKDF', hash: 'SHA-256', salt: new Uint8Array(), info },
    key,
    256,
  );
  return [...new Uint8Array(bits)].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

type Headers = { get(name: string): string | null } | Readonly<Record<string, string | readonly string[] | undefined>>;

interface ReceivedWebhook {
  /** The headers of the request: `Headers`, or an object with names in lower case, as Node has it. */
  readonly headers: Headers;
  /** The body as it came, before any parsing. */
  readonly body: string | Uint8Array<ArrayBuffer>;
  /** `WEBHOOK_SECRET`, with or without `whsec_`. */
  readonly secret: string;
  /** The most that the clocks may differ; default 300. */
  readonly toleranceSec?: number;
}

/**
 * The event of a genuine webhook (Standard Webhooks).
 *
 * @throws ReelwrightError `invalid_signature`
 */
export async function verifyWebhook({
  headers,
  body,
  secret,
  toleranceSec = 300,
}: ReceivedWebhook): Promise<WebhookEvent> {
  const [id, time, given] = ['id', 'timestamp', 'signature'].map((name) => headerOf(headers, `webhook-${name}`));
  if (!id || !time || !given) throw refused('webhook-id, webhook-timestamp or webhook-signature is missing');
  if (!/^\d{1,12}$/.test(time) || Math.abs(Date.now() / 1000 - Number(time)) > toleranceSec)
    throw refused(`webhook-timestamp ${time} is more than ${toleranceSec} s from this clock`);
  const text = typeof body === 'string' ? body : new TextDecoder().decode(body);
  const signed = await hmac(webhookKey(secret), `${id}.${time}.${text}`);
  const isGenuine = given.split(' ').map((each) => isEqual(signed, each));
  if (!isGenuine.includes(true)) throw refused('webhook-signature does not hold');
  return JSON.parse(text) as WebhookEvent;
}

function webhookKey(secret: string): Uint8Array<ArrayBuffer> {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  return encoded === undefined
    ? encoder.encode(secret)
    : Uint8Array.from(atob(encoded), (character) => character.charCodeAt(0));
}

/** Whether `given` is `v1,` and the base64 of `expected`, in a time that does not depend on where they differ. */
function isEqual(expected: Uint8Array, given: string): boolean {
  const text = `v1,${btoa(String.fromCharCode(...expected))}`;
  let difference = text.length ^ given.length;
  for (let index = 0; index < text.length; index += 1)
    difference |= text.charCodeAt(index) ^ (given.charCodeAt(index) || 0);
  return difference === 0;
}

function headerOf(headers: Headers, name: string): string | null {
  const value = typeof headers.get === 'function' ? headers.get(name) : (headers as Record<string, unknown>)[name];
  return typeof value === 'string' ? value : null;
}

function refused(detail: string): ReelwrightError {
  return new ReelwrightError({ code: 'invalid_signature', detail });
}

async function hmac(secret: Uint8Array<ArrayBuffer>, text: string): Promise<Uint8Array> {
  const algorithm = { name: 'HMAC', hash: 'SHA-256' };
  const key = await crypto.subtle.importKey('raw', secret, algorithm, false, ['sign']);
  return new Uint8Array(await crypto.subtle.sign('HMAC', key, encoder.encode(text)));
}

function base64url(bytes: Uint8Array): string {
  const text = Array.from(bytes, (byte) => String.fromCharCode(byte)).join('');
  return btoa(text).replaceAll('+', '-').replaceAll('/', '_').replaceAll('=', '');
}

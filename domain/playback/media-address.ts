import { hashOfKey } from '../media/object-keys.ts';

const address = /^\/(?:stream|api\/key|s\/[^/?#]*)\/([^/?#]+)|^\/thumb\/[^/?#]*\/([^/?#]+)/;

/** An address without its query, which never names another object. */
export function withoutQuery(url: string): string {
  const end = url.indexOf('?');
  return end < 0 ? url : url.slice(0, end);
}

/**
 * The media of an address of delivery, as it is written: `/stream/{hash}/…`, `/s/{ticket}/{hash}/…`,
 * `/api/key/{hash}…`, `/thumb/…`.
 */
export function mediaOfAddress(url: string): string | null {
  const [, hash, encodedKey] = address.exec(url) ?? [];
  if (hash !== undefined) return hash;
  if (encodedKey === undefined) return null;
  return hashOfKey(Buffer.from(encodedKey, 'base64url').toString('utf8')) || null;
}

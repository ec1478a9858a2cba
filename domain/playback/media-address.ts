const address = /^\/(?:stream|api\/key)\/([^/?#]+)|^\/thumb\/[^/?#]*\/([^/?#]+)/;

/** The media of an address of delivery, as it is written: `/stream/{hash}/…`, `/api/key/{hash}…`, `/thumb/…`. */
export function mediaOfAddress(url: string): string | null {
  const [, hash, encodedKey] = address.exec(url) ?? [];
  if (hash !== undefined) return hash;
  if (encodedKey === undefined) return null;
  // `videos/<prefix>/<hash>/…` or `images/<prefix>/<hash>/…`.
  return Buffer.from(encodedKey, 'base64url').toString('utf8').split('/')[2] ?? null;
}

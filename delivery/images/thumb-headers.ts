export const exposedHeaders = 'Content-Encoding, Content-Length, ETag, X-Trace-ID';

/** `Cache-Control` of an image whose address expires at `exp`; null when it has. */
export function thumbCacheControl(exp: number | null, clock: () => Date): string | null {
  if (exp === null) return 'public, max-age=31536000, immutable';
  const secondsLeft = exp - Math.floor(clock().getTime() / 1000);
  return secondsLeft < 0 ? null : `public, max-age=${secondsLeft}`;
}

import type { ThumbQuery } from '#domain/playback/thumb-options.ts';

export const exposedHeaders = 'Content-Encoding, Content-Length, ETag, X-Trace-ID';

/** How long an address may be cached whose preset may change, or whose source may be written again. */
const changeableSec = 300;

/** `Cache-Control` of an image, which no cache has for longer than its address is valid; null when it has expired. */
export function thumbCacheControl(
  { exp, preset, from }: Pick<ThumbQuery, 'exp' | 'preset' | 'from'>,
  clock: () => Date,
): string | null {
  const secondsMax = preset === undefined && from === undefined ? Infinity : changeableSec;
  const secondsLeft = exp === undefined ? Infinity : exp - Math.floor(clock().getTime() / 1000);
  if (secondsLeft < 0) return null;
  const seconds = Math.min(secondsLeft, secondsMax);
  return seconds === Infinity ? 'public, max-age=31536000, immutable' : `public, max-age=${seconds}`;
}

import { mediaHashSchema } from '../jobs/submission.ts';
import { objectKeyBytesMax, videoRoot } from '../media/object-keys.ts';
import { dashManifestPath, waveformPath } from '../media/revision-layout.ts';

/**
 * Which object a `/stream` address means (C17.1, C17.7, C17.9).
 *
 * - `malformed`: answered with 400. Checked after decoding twice, since a proxy before us may decode once more;
 * - `unknown`: no object can be there; answered with 404, without asking the bucket;
 * - `object`: `path` lies below the media's root, decoded once and never normalised. `spelling` is its canonical
 *   address, which percent-encodes only what a URL cannot contain.
 */
export type StreamPath =
  | { readonly kind: 'malformed' }
  | { readonly kind: 'unknown' }
  | { readonly kind: 'object'; readonly hash: string; readonly path: string; readonly spelling: string };

/** Two dots anywhere, a segment that is empty or one dot, a character that no path has. */
const unfit = /\.\.|(?:^|\/)\.?(?:\/|$)|[\p{Cc}\\]/u;

/** Reads what stands after `/stream/` in the request line, still percent-encoded and without the query. */
export function readStreamPath(encoded: string): StreamPath {
  const decoded = decode(encoded);
  if (decoded === null || !decoded.isWellFormed() || unfit.test(decoded) || unfit.test(decodeLeniently(decoded)))
    return { kind: 'malformed' };
  const slash = decoded.indexOf('/');
  const hash = decoded.slice(0, slash);
  const path = decoded.slice(slash + 1);
  if (slash < 0 || !mediaHashSchema.safeParse(hash).success) return { kind: 'unknown' };
  if (Buffer.byteLength(`${videoRoot(hash)}/${path}`) > objectKeyBytesMax) return { kind: 'unknown' };
  return { kind: 'object', hash, path, spelling: spellingOf(decoded) };
}

/**
 * The folders that playlists and the DASH manifest name by relative paths. Some players resolve these against the
 * address that they requested and not against the one that they were redirected to.
 */
const aliasFolders = ['video', 'audio', 'text', 'storyboard'];

/** Whether `path` is one of the specified shapes without a revision, which mean the current revision. */
export function isAlias(path: string): boolean {
  const isInFolder = aliasFolders.some((folder) => path.startsWith(`${folder}/`));
  return isInFolder || [dashManifestPath, waveformPath].includes(path);
}

function spellingOf(decoded: string): string {
  return encodeURI(decoded).replaceAll(/[?#]/g, encodeURIComponent);
}

function decode(encoded: string): string | null {
  try {
    return decodeURIComponent(encoded);
  } catch {
    return null;
  }
}

/**
 * Decodes every escape of a character up to U+009F, the last control character, and leaves all others, where
 * `decodeURIComponent` would throw.
 */
function decodeLeniently(text: string): string {
  return text.replaceAll(/%(?:([0-7][0-9a-f])|c2%([89][0-9a-f]))/gi, (_, ascii?: string, c1?: string) =>
    String.fromCodePoint(Number.parseInt(ascii ?? c1 ?? '', 16)),
  );
}

import { KnownProblem } from '#domain/errors.ts';
import { streamContentType } from '#domain/media/content-types.ts';
import { currentRevision, isBelowRevision, videoKey, videoRoot } from '#domain/media/object-keys.ts';
import { dashManifestPath, masterPath } from '#domain/media/revision-layout.ts';
import { withoutQuery } from '#domain/playback/media-address.ts';
import { isAlias, readStreamPath } from '#domain/playback/stream-path.ts';
import type { MediaReader, PlainTarget } from '../data-plane/data-plane.ts';
import { corsHeaders } from '../cors.ts';

// Which object an address below `/stream/` names, and how long it may be cached.

export const streamPrefix = '/stream/';
export const immutable = 'public, max-age=31536000, immutable';

export const exposedHeaders = 'Content-Encoding, Content-Length, Content-Range, ETag, X-Trace-ID';
const plainHeaders = Object.entries({ ...corsHeaders(exposedHeaders), 'accept-ranges': 'bytes' }).flat();

/** A requested object: its key, and its type by the extension. */
export interface Target {
  /** Where the media's addresses begin, before the hash. */
  readonly prefix: string;
  readonly hash: string;
  /** As it was asked for, below the hash. */
  readonly path: string;
  readonly key: string;
  readonly contentType: string;
  readonly cacheControl: string;
}

/**
 * The object of an address as it was sent: the router has decoded and split it by its own rules, and ours apply here.
 * A query is ignored: players and CDNs add theirs, and all get the one cached object.
 *
 * @throws KnownProblem `invalid_request` for a path that breaks the rules, `not_found`
 */
export async function findTarget(
  url: string,
  media: MediaReader,
  mutable: string,
): Promise<Target | { readonly movedTo: string; readonly status: 302 | 308 }> {
  const sent = withoutQuery(url);
  const path = readStreamPath(sent.startsWith(streamPrefix) ? sent.slice(streamPrefix.length) : '');
  if (path.kind === 'malformed') throw new KnownProblem('invalid_request', 'The path is not one of a media object.');
  if (path.kind === 'unknown')
    throw new KnownProblem('not_found', `Playback begins at ${streamPrefix}{hash}/${masterPath}.`);
  const { hash } = path;
  const contentType = streamContentType(path.path);
  if (contentType === null) throw missingObject({ hash, path: path.path });
  if (sent !== streamPrefix + path.spelling) return { movedTo: streamPrefix + path.spelling, status: 308 };
  // What the manifest names is relative to its address: below its own revision, whatever is published meanwhile.
  if (path.path === dashManifestPath) {
    const revision = await revisionNow(path.hash, media);
    return { movedTo: `${revision}/${dashManifestPath}`, status: 302 };
  }
  if (isAlias(path.path)) {
    const key = videoKey(path.hash, await revisionNow(path.hash, media), path.path);
    return { prefix: streamPrefix, hash, path: path.path, key, contentType, cacheControl: mutable };
  }
  const key = `${videoRoot(path.hash)}/${path.path}`;
  const cacheControl = isBelowRevision(key) ? immutable : mutable;
  return { prefix: streamPrefix, hash, path: path.path, key, contentType, cacheControl };
}

/** The target of an address that needs no lookup: no alias, in its one spelling. */
export function plainTargetOf(url: string, mutable: string): PlainTarget | null {
  if (!url.startsWith(streamPrefix)) return null;
  const path = readStreamPath(url.slice(streamPrefix.length));
  const contentType = path.kind === 'object' && !isAlias(path.path) ? streamContentType(path.path) : null;
  if (path.kind !== 'object' || contentType === null || url !== streamPrefix + path.spelling) return null;
  const isPlaylist = path.path.endsWith('.m3u8');
  const key = `${videoRoot(path.hash)}/${path.path}`;
  const cacheControl = isBelowRevision(key) ? immutable : mutable;
  const described = ['cache-control', cacheControl, 'content-type', contentType];
  const headers = [...plainHeaders, ...described, ...(isPlaylist ? ['vary', 'Accept-Encoding'] : [])];
  return { key, isPlaylist, headers };
}

type Missing = Pick<Target, 'hash' | 'path'> & { readonly prefix?: string };

export function missingObject({ hash, path, prefix = streamPrefix }: Missing): KnownProblem<'not_found'> {
  if (path === masterPath) return new KnownProblem('not_found', `No stream is published for ${hash}.`);
  const begins = `playback of ${hash} begins at ${prefix}${hash}/${masterPath}.`;
  return new KnownProblem('not_found', `There is no such object; ${begins}`);
}

async function revisionNow(hash: string, media: MediaReader): Promise<string> {
  const rev = await currentRevision(hash, async (key) => (await media.playlist(key))?.bytes.toString('utf8') ?? null);
  if (rev === null) throw missingObject({ hash, path: masterPath });
  return rev;
}

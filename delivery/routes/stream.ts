import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isJobProblem, KnownProblem } from '#domain/errors.ts';
import { streamContentType } from '#domain/media/content-types.ts';
import { revisionOfMaster } from '#domain/media/master-playlist.ts';
import { masterKey, videoKey, videoRoot } from '#domain/media/object-keys.ts';
import { dashManifestPath } from '#domain/media/revision-layout.ts';
import { isAlias, readStreamPath } from '#domain/playback/stream-path.ts';
import type { ByteRange, ObjectInfo } from '#platform/storage/object-store.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { acceptsGzip, matchesEtag, readRange } from '#platform/http/request-headers.ts';
import type { MediaReader, Playlist } from '../media-reader.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import { corsHeaders, corsHook, preflightHandler } from '../cors.ts';
import { addStreamFastPath, type PlainTarget, throwFastPathFailure } from '../stream-fast-path.ts';
import { countStreamBytes } from '../stream-bytes.ts';
import { sendRead } from '../send-read.ts';
import type { CoalescedRead } from '../coalesced-read.ts';

// `GET /stream/{hash}/*` (C4.21 to C4.36): objects of the media bucket, as players and CDNs want them.

const prefix = '/stream/';
const immutable = 'public, max-age=31536000, immutable';

const exposedHeaders = 'Content-Length, Content-Range, ETag, X-Trace-ID';
const plainHeaders = Object.entries({ ...corsHeaders(exposedHeaders), 'accept-ranges': 'bytes' }).flat();
/** Paths below a revision, whose objects never change. */
const belowRevision = /^[0-9a-f]{16}\//;
const doc: RouteDoc = {
  tag: 'Playback',
  operationId: 'getStreamObject',
  summary: 'Get a playlist, segment or image of a media',
  description:
    'Playback begins at `/stream/{hash}/master.m3u8` (HLS) or `/stream/{hash}/manifest.mpd` (DASH). Ranges, `ETag` and HEAD work; playlists may be gzipped.',
  credential: 'none',
  path: { hash: 'The media.', path: 'One or more segments: what the playlists name.' },
  headers: { Range: 'One range of bytes.', 'If-None-Match': 'An `ETag`.' },
  answers: {
    200: { description: 'The object, immutable.', contentType: '*/*' },
    302: { description: 'The DASH manifest of the current revision.' },
    206: { description: 'The range.', contentType: '*/*' },
    304: { description: 'Nothing has changed.' },
    308: { description: 'The one spelling of the address, without a query.' },
    416: { description: 'The range lies outside the object.' },
  },
  problems: ['invalid_request', 'not_found', 'busy'],
};

/** A requested object: its key, and its type by the extension. */
interface Target {
  readonly key: string;
  readonly contentType: string;
  readonly cacheControl: string;
}

interface StreamDependencies {
  /** `Cache-Control` of the addresses that a new revision changes: the top master and the aliases. */
  readonly mutableCacheControl?: string | null;
  readonly media: MediaReader;
  readonly metrics: Metrics;
}

export function addStreamRoutes(
  app: FastifyInstance,
  { media, metrics, mutableCacheControl }: StreamDependencies,
): void {
  const mutable = mutableCacheControl ?? immutable;
  addStreamFastPath(app, { media, metrics, targetOf: (url) => plainTargetOf(url, mutable) });
  const withCors = corsHook(exposedHeaders);
  const preflight = preflightHandler('GET, HEAD, OPTIONS', 'Range, If-None-Match, If-Range');
  app.options('/stream/*', { onRequest: withCors }, preflight);
  app.route({
    method: ['GET', 'HEAD'],
    url: '/stream/*',
    onRequest: withCors,
    config: { doc },
    handler: async (request, reply) => {
      countStreamBytes(request.raw, reply.raw, metrics);
      throwFastPathFailure(request.raw);
      const target = await findTarget(request, media, mutable);
      if ('movedTo' in target)
        return reply.headers({ 'cache-control': 'no-store' }).redirect(target.movedTo, target.status);
      if (target.key.endsWith('.m3u8')) return answerPlaylist(request, reply, { media, target });
      return answerObject(request, reply, { media, target });
    },
  });
}

/** @throws KnownProblem `invalid_request` for a path that breaks the rules, `not_found` */
async function findTarget(
  request: FastifyRequest,
  media: MediaReader,
  mutable: string,
): Promise<Target | { readonly movedTo: string; readonly status: 302 | 308 }> {
  // The router has decoded and split the path by its own rules; ours apply to what was really sent.
  const sent = request.raw.url ?? '';
  const path = readStreamPath(sent.startsWith(prefix) ? (sent.slice(prefix.length).split('?', 1)[0] ?? '') : '');
  if (path.kind === 'malformed') throw new KnownProblem('invalid_request', 'The path is not one of a media object.');
  if (path.kind === 'unknown') throw new KnownProblem('not_found');
  const contentType = streamContentType(path.path);
  if (contentType === null) throw new KnownProblem('not_found');
  if (sent !== prefix + path.spelling) return { movedTo: prefix + path.spelling, status: 308 };
  // What the manifest names is relative to its address: below the revision that is its own, whatever is published meanwhile.
  if (path.path === dashManifestPath) {
    const revision = await currentRevision(path.hash, media);
    return { movedTo: `${revision}/${dashManifestPath}`, status: 302 };
  }
  const cacheControl = belowRevision.test(path.path) ? immutable : mutable;
  const key = isAlias(path.path)
    ? videoKey(path.hash, await currentRevision(path.hash, media), path.path)
    : `${videoRoot(path.hash)}/${path.path}`;
  return { key, contentType, cacheControl };
}

/** The target of an address that needs no lookup: no alias, in its one spelling. */
function plainTargetOf(url: string, mutable: string): PlainTarget | null {
  if (!url.startsWith(prefix)) return null;
  const path = readStreamPath(url.slice(prefix.length));
  const contentType = path.kind === 'object' && !isAlias(path.path) ? streamContentType(path.path) : null;
  if (path.kind !== 'object' || contentType === null || url !== prefix + path.spelling) return null;
  const isPlaylist = path.path.endsWith('.m3u8');
  const cacheControl = belowRevision.test(path.path) ? immutable : mutable;
  const described = ['cache-control', cacheControl, 'content-type', contentType];
  const headers = [...plainHeaders, ...described, ...(isPlaylist ? ['vary', 'Accept-Encoding'] : [])];
  return { key: `${videoRoot(path.hash)}/${path.path}`, isPlaylist, headers };
}

async function currentRevision(hash: string, media: MediaReader): Promise<string> {
  const master = await media.playlist(masterKey(hash));
  const rev = master === null ? null : revisionOfMaster(master.bytes.toString('utf8'));
  if (rev === null) throw new KnownProblem('not_found');
  return rev;
}

/** What a response is made of. */
interface Answer {
  readonly media: MediaReader;
  readonly target: Target;
}

/** Playlists are small and are read whole, so that they can be compressed and HEAD has the length of GET. */
async function answerPlaylist(
  request: FastifyRequest,
  reply: FastifyReply,
  { media, target }: Answer,
): Promise<unknown> {
  reply.header('vary', 'Accept-Encoding');
  const playlist = await media.playlist(target.key);
  if (playlist === null) return answerObject(request, reply, { media, target });
  const { range, 'accept-encoding': acceptEncoding } = request.headers;
  if (acceptsGzip(acceptEncoding) && range === undefined) return answerGzipped(request, reply, { playlist, target });
  const wanted = answerBodyless(request, reply, { target, info: playlist.info });
  if (wanted === 'answered') return reply;
  describePart(reply, { target, info: playlist.info, wanted });
  return reply.send(wanted === null ? playlist.bytes : playlist.bytes.subarray(wanted.start, wanted.end + 1));
}

async function answerGzipped(
  request: FastifyRequest,
  reply: FastifyReply,
  { playlist, target }: { readonly playlist: Playlist; readonly target: Target },
): Promise<unknown> {
  describe(reply, target, playlist.gzipEtag);
  if (matchesEtag(request.headers['if-none-match'], playlist.gzipEtag)) return reply.code(304).send();
  const bytes = await playlist.gzipped();
  reply.header('content-encoding', 'gzip').header('content-length', bytes.length);
  return request.method === 'HEAD' ? reply.send() : reply.send(bytes);
}

async function answerObject(request: FastifyRequest, reply: FastifyReply, { media, target }: Answer): Promise<unknown> {
  const { range, 'if-none-match': ifNoneMatch } = request.headers;
  const needsHead = request.method === 'HEAD' || range !== undefined || ifNoneMatch !== undefined;
  if (!needsHead) return sendWhole(reply, { media, target });
  const info = await media.head(target.key, request.signal);
  if (info === null) throw new KnownProblem('not_found');
  const wanted = answerBodyless(request, reply, { target, info });
  if (wanted === 'answered') return reply;
  if (wanted === null) return sendWhole(reply, { media, target });
  const read = media.kept(target.key);
  if (read?.info.etag === info.etag) {
    describePart(reply, { target, info, wanted });
    return sendShared(reply, { media, read, start: wanted.start, end: wanted.end + 1 });
  }
  const found = await openSame(target.key, { media, info, range: wanted, signal: request.signal });
  if (found === null) return sendWhole(reply, { media, target });
  return describePart(reply, { target, info, wanted }).send(found.body);
}

async function sendWhole(reply: FastifyReply, { media, target }: Answer): Promise<unknown> {
  const read = await media.open(target.key);
  if (read === null) throw new KnownProblem('not_found');
  describePart(reply, { target, info: read.info, wanted: null });
  return sendShared(reply, { media, read, start: 0, end: read.info.sizeBytes });
}

/**
 * Answers a request that needs no body: HEAD, a matching `If-None-Match`, a range that cannot be met (RFC 9110, sections 13, 14).
 * Otherwise returns the requested part of the body: a range, or null for the whole.
 */
function answerBodyless(
  request: FastifyRequest,
  reply: FastifyReply,
  { target, info }: { readonly target: Target; readonly info: ObjectInfo },
): 'answered' | Required<ByteRange> | null {
  const { range, 'if-none-match': ifNoneMatch, 'if-range': ifRange } = request.headers;
  const { sizeBytes, etag } = info;
  const isMatch = matchesEtag(ifNoneMatch, etag);
  const wanted = isRangeValid(ifRange, info) ? readRange(range, sizeBytes) : null;
  if (isMatch) describe(reply, target, etag).code(304).send();
  else if (request.method === 'HEAD') describe(reply, target, etag).header('content-length', sizeBytes).send();
  else if (wanted === 'unsatisfiable')
    reply
      .code(416)
      .headers({ 'content-range': `bytes */${sizeBytes}`, 'cache-control': 'no-store' })
      .send();
  else return wanted;
  return 'answered';
}

interface Part {
  readonly target: Target;
  readonly info: ObjectInfo;
  /** Null: the whole. */
  readonly wanted: Required<ByteRange> | null;
}

function describePart(reply: FastifyReply, { target, info, wanted }: Part): FastifyReply {
  describe(reply, target, info.etag);
  if (wanted === null) return reply.header('content-length', info.sizeBytes);
  const { start, end } = wanted;
  return reply
    .code(206)
    .header('content-range', `bytes ${start}-${end}/${info.sizeBytes}`)
    .header('content-length', end - start + 1);
}

interface SharedPart {
  readonly media: MediaReader;
  readonly read: CoalescedRead;
  readonly start: number;
  readonly end: number;
}

/** Sends from memory, without the framework's streams: the response is written to the socket directly. */
function sendShared(reply: FastifyReply, { media, read, start, end }: SharedPart): FastifyReply {
  reply.hijack();
  reply.raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders);
  sendRead(reply.raw, read, { start, end, media });
  return reply;
}

interface SameRange {
  readonly media: MediaReader;
  readonly info: ObjectInfo;
  readonly range: Required<ByteRange>;
  readonly signal: AbortSignal;
}

/** The range of the object that `info` describes; null when it was replaced meanwhile. */
async function openSame(key: string, { media, info, range, signal }: SameRange) {
  try {
    return await media.openRange(key, { range, ifMatch: info.etag, signal });
  } catch (error) {
    if (isJobProblem(error) && error.code === 'source_changed') return null;
    throw error;
  }
}

function describe(reply: FastifyReply, target: Target, etag: string): FastifyReply {
  const { cacheControl, contentType } = target;
  return reply.headers({ 'cache-control': cacheControl, 'accept-ranges': 'bytes', 'content-type': contentType, etag });
}

/** A date in `If-Range` never matches (RFC 9110, section 13.1.5 allows answering with the whole). */
function isRangeValid(ifRange: string | string[] | undefined, info: ObjectInfo): boolean {
  return ifRange === undefined || ifRange === info.etag;
}

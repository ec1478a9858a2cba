import type { OutgoingHttpHeaders } from 'node:http';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { isJobProblem } from '#domain/errors.ts';
import type { ByteRange, ObjectInfo } from '#platform/storage/object-store.ts';
import { acceptsGzip, matchesEtag, readRange, refusesEtag } from '#platform/http/request-headers.ts';
import type { CoalescedRead, DataPlane, MediaReader, Playlist } from '../data-plane/data-plane.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import { mediaOfAddress } from '#domain/playback/media-address.ts';
import { cmcdHeaders, corsHeaders, preflightHandler } from '../cors.ts';
import type { DeletedMedia } from '../deleted-media.ts';
import type { PlaybackStates } from '../playback-states.ts';
import type { FastPaths } from '#platform/http/fast-paths.ts';
import {
  exposedHeaders,
  findTarget,
  immutable,
  missingObject,
  plainTargetOf,
  streamPrefix,
  type Target,
} from './stream-target.ts';

// `GET /stream/{hash}/*` (C17.1 to C17.20): objects of the media bucket, as players and CDNs want them.

const doc: RouteDoc = {
  tag: 'Playback',
  operationId: 'getStreamObject',
  summary: 'Get a playlist, segment or image of a media',
  description:
    'Playback begins at `/stream/{hash}/master.m3u8` (HLS) or `/stream/{hash}/manifest.mpd` (DASH). Ranges, `ETag` and HEAD work; playlists may be gzipped. A query is ignored, but for `CMCD`.',
  credential: 'none',
  path: { hash: 'The media.', path: 'One or more segments: what the playlists name.' },
  headers: { Range: 'One range of bytes.', 'If-Match': 'An `ETag`.', 'If-None-Match': 'An `ETag`.' },
  answers: {
    200: { description: 'The object, immutable.', contentType: '*/*' },
    302: { description: 'The DASH manifest of the current revision.' },
    206: { description: 'The range.', contentType: '*/*' },
    304: { description: 'Nothing has changed.' },
    308: { description: 'The one spelling of the address.' },
    412: { description: 'The object has another `ETag` than `If-Match` names.' },
    416: { description: 'The range lies outside the object.' },
  },
  problems: ['invalid_request', 'not_found', 'media_deleted', 'rate_limited', 'busy'],
};

export const streamPreflight = preflightHandler(
  'GET, HEAD, OPTIONS',
  `Range, If-Match, If-None-Match, If-Range, ${cmcdHeaders}`,
);

interface StreamDependencies {
  /** `Cache-Control` of the addresses that a new revision changes: the top master and the aliases. */
  readonly mutableCacheControl?: string | null;
  readonly plane: DataPlane;
  readonly deleted: DeletedMedia;
  readonly playback: PlaybackStates;
  readonly fastPaths: FastPaths;
}

export function addStreamRoutes(
  app: FastifyInstance,
  { plane, deleted, playback, fastPaths, mutableCacheControl }: StreamDependencies,
): void {
  const mutable = mutableCacheControl ?? immutable;
  plane.answerStreams((url) => plainTargetOf(url, mutable));
  fastPaths.addHeaders(streamPrefix, corsHeaders(exposedHeaders));
  app.options('/stream/*', streamPreflight);
  app.route({
    method: ['GET', 'HEAD'],
    url: '/stream/*',
    config: { doc },
    handler: async (request, reply) => {
      plane.countBytes(request.raw, reply.raw);
      plane.throwFailure(request.raw);
      const url = request.raw.url ?? '';
      const hash = mediaOfAddress(url);
      return deleted.answerUnlessDeleted(hash, async () => {
        if (hash !== null) await playback.requireOpen(hash);
        const target = await findTarget(url, plane.media, mutable);
        if ('movedTo' in target)
          return reply.headers({ 'cache-control': 'no-store' }).redirect(target.movedTo, target.status);
        return answerTarget(request, reply, { plane, target });
      });
    },
  });
}

/** The parts of a response. */
interface Answer {
  readonly plane: DataPlane;
  readonly target: Target;
}

/** Answers a request with an object. */
export function answerTarget(request: FastifyRequest, reply: FastifyReply, answer: Answer): Promise<unknown> {
  return answer.target.key.endsWith('.m3u8')
    ? answerPlaylist(request, reply, answer)
    : answerObject(request, reply, answer);
}

/** Playlists are small and are read whole, so that they can be compressed and HEAD has the length of GET. */
async function answerPlaylist(
  request: FastifyRequest,
  reply: FastifyReply,
  { plane, target }: Answer,
): Promise<unknown> {
  reply.header('vary', 'Accept-Encoding');
  const { media } = plane;
  const playlist = await media.playlist(target.key);
  if (playlist === null) return answerObject(request, reply, { plane, target });
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
  if (refusesEtag(request.headers['if-match'], playlist.gzipEtag)) return answerOther(reply);
  describe(reply, target, playlist.gzipEtag);
  if (matchesEtag(request.headers['if-none-match'], playlist.gzipEtag)) return reply.code(304).send();
  const bytes = await playlist.gzipped();
  reply.header('content-encoding', 'gzip').header('content-length', bytes.length);
  return request.method === 'HEAD' ? reply.send() : reply.send(bytes);
}

async function answerObject(request: FastifyRequest, reply: FastifyReply, { plane, target }: Answer): Promise<unknown> {
  const { media } = plane;
  const { range, 'if-match': ifMatch, 'if-none-match': ifNoneMatch } = request.headers;
  const isPlain = request.method === 'GET' && (range ?? ifMatch ?? ifNoneMatch) === undefined;
  if (isPlain) return sendWhole(request, reply, { plane, target });
  const info = await media.head(target.key, request.raw);
  if (info === null) throw missingObject(target);
  const wanted = answerBodyless(request, reply, { target, info });
  if (wanted === 'answered') return reply;
  if (wanted === null) return sendWhole(request, reply, { plane, target });
  const read = media.cached(target.key);
  if (read?.info.etag === info.etag) {
    describePart(reply, { target, info, wanted });
    return sendShared(reply, { plane, read, start: wanted.start, end: wanted.end + 1 });
  }
  const found = await openSame(target.key, { media, info, range: wanted, request });
  if (found === null) return sendWhole(request, reply, { plane, target });
  beginBody(describePart(reply, { target, info, wanted }));
  plane.sendRange(reply.raw, found);
  return reply;
}

async function sendWhole(request: FastifyRequest, reply: FastifyReply, { plane, target }: Answer): Promise<unknown> {
  const read = await plane.media.open(target.key, request.raw);
  if (read === null) throw missingObject(target);
  describePart(reply, { target, info: read.info, wanted: null });
  return sendShared(reply, { plane, read, start: 0, end: read.info.sizeBytes });
}

/**
 * Answers a request that needs no body: HEAD, an `If-Match` of another object, a matching `If-None-Match`, a range that
 * cannot be met (RFC 9110, sections 13, 14). Otherwise returns the requested part of the body: a range, or null for the whole.
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
  if (refusesEtag(request.headers['if-match'], etag)) answerOther(reply);
  else if (isMatch) describe(reply, target, etag).code(304).send();
  else if (request.method === 'HEAD') describe(reply, target, etag).header('content-length', sizeBytes).send();
  else if (wanted === 'unsatisfiable')
    reply
      .code(416)
      .headers({ 'content-range': `bytes */${sizeBytes}`, 'cache-control': 'no-store' })
      .send();
  else return wanted;
  return 'answered';
}

/** The object is not the one of `If-Match`. */
export function answerOther(reply: FastifyReply): FastifyReply {
  return reply.code(412).header('cache-control', 'no-store').send();
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
  readonly plane: DataPlane;
  readonly read: CoalescedRead;
  readonly start: number;
  readonly end: number;
}

function sendShared(reply: FastifyReply, { plane, read, start, end }: SharedPart): FastifyReply {
  beginBody(reply);
  plane.send(reply.raw, read, { start, end });
  return reply;
}

/** The body follows without the framework's streams: it is written to the socket directly. */
function beginBody(reply: FastifyReply): void {
  reply.hijack();
  reply.raw.writeHead(reply.statusCode, reply.getHeaders() as OutgoingHttpHeaders);
}

interface SameRange {
  readonly media: MediaReader;
  readonly info: ObjectInfo;
  readonly range: Required<ByteRange>;
  readonly request: FastifyRequest;
}

/** The range of the object that `info` describes; null when it was replaced meanwhile. */
async function openSame(key: string, { media, info, range, request }: SameRange) {
  try {
    return await media.openRange(key, { range, ifMatch: info.etag, signal: request.signal }, request.raw);
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

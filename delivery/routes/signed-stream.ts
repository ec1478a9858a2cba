import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import {
  isInScope,
  isLimiting,
  manifestInScope,
  masterInScope,
  type TicketScope,
} from '#domain/playback/ticket-scope.ts';
import type { FastPaths } from '#platform/http/fast-paths.ts';
import { matchesEtag, refusesEtag } from '#platform/http/request-headers.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import { corsHeaders } from '../cors.ts';
import type { DataPlane, MediaReader, PlainTarget } from '../data-plane/data-plane.ts';
import type { DeletedMedia } from '../deleted-media.ts';
import { refused, type TicketAccess, type TicketedAddress, ticketPrefix } from '../tickets/ticket-access.ts';
import { answerOther, answerTarget, streamPreflight } from './stream.ts';
import {
  exposedHeaders,
  findTarget,
  immutable,
  missingObject,
  plainTargetOf,
  streamPrefix,
  type Target,
} from './stream-target.ts';

// `GET /s/{ticket}/{hash}/*` (C33.1 to C33.7): the objects of `/stream/{hash}/*` for whoever has a ticket.

const doc: RouteDoc = {
  tag: 'Playback',
  operationId: 'getSignedStreamObject',
  summary: 'Get a playlist, segment or image of a media by a ticket',
  description:
    'What `/stream/{hash}/…` serves, for as long as the ticket in the address is valid: playback begins at `/s/{ticket}/{hash}/master.m3u8` or `/s/{ticket}/{hash}/manifest.mpd`, and everything that these name has the ticket in its address too. A server that holds `STREAM_SECRET` makes tickets (docs/guides/tickets.md).',
  credential: 'none',
  path: {
    ticket: '`{exp}.{kid}.{generation}.{sig}`.',
    hash: 'The media.',
    path: 'One or more segments: what the playlists name.',
  },
  headers: { Range: 'One range of bytes.', 'If-Match': 'An `ETag`.', 'If-None-Match': 'An `ETag`.' },
  answers: {
    200: { description: 'The object, to be cached until the ticket expires.', contentType: '*/*' },
    302: { description: 'The DASH manifest of the current revision.' },
    206: { description: 'The range.', contentType: '*/*' },
    304: { description: 'Nothing has changed.' },
    308: { description: 'The one spelling of the address.' },
    412: { description: 'The object has another `ETag` than `If-Match` names.' },
    416: { description: 'The range lies outside the object.' },
  },
  problems: ['invalid_request', 'forbidden', 'not_configured', 'not_found', 'media_deleted', 'busy'],
};

/** The longest time that addresses are cached which a new revision changes, in seconds. */
const mutableSecMax = 60;
const immutableSecMax = 31_536_000;
/** Addresses of playlists with their tickets; dropped all at once when there are more. */
const knownPlaylistsMax = 10_000;

interface SignedStreamDependencies {
  readonly plane: DataPlane;
  readonly deleted: DeletedMedia;
  readonly fastPaths: FastPaths;
  readonly tickets: TicketAccess;
}

export function addSignedStreamRoutes(app: FastifyInstance, dependencies: SignedStreamDependencies): void {
  const { plane, deleted, fastPaths, tickets } = dependencies;
  plane.answerStreams(plainTargets(tickets), '/s/{ticket}/{hash}/*');
  fastPaths.addHeaders(ticketPrefix, corsHeaders(exposedHeaders));
  app.options('/s/*', streamPreflight);
  app.route({
    method: ['GET', 'HEAD'],
    url: '/s/*',
    config: { doc },
    handler: async (request, reply) => {
      plane.countBytes(request.raw, reply.raw);
      plane.throwFailure(request.raw);
      const address = tickets.require(request.raw.url ?? '');
      return deleted.answerUnlessDeleted(address.hash, async () => {
        await tickets.requireInForce(address);
        const target = await signedTarget(address, plane.media, tickets.leftSec(address));
        if ('movedTo' in target)
          return reply.headers({ 'cache-control': 'no-store' }).redirect(target.movedTo, target.status);
        const { scope } = address.ticket;
        if (scope !== null && !isInScope(scope, target.path))
          throw refused(`The ticket's scope does not open ${target.path}.`);
        if (scope !== null && isLimiting(scope) && isFiltered(target.path))
          return answerFiltered(request, reply, { media: plane.media, target, scope });
        return answerTarget(request, reply, { plane, target });
      });
    },
  });
}

/** Whether a path below a media names one revision, whose objects never change. */
function isOfRevision(path: string): boolean {
  return /^[0-9a-f]{16}\//.test(path);
}

/** Masters and manifests name what a scope may leave out. */
function isFiltered(path: string): boolean {
  return /(?:^|\/)(?:master\.m3u8|manifest\.mpd)$/.test(path);
}

/** An address that its ticket opens, for as long as that is in force. */
interface OpenAddress {
  readonly address: TicketedAddress;
  readonly path: string;
  readonly plain: PlainTarget;
  /** The last answer, and for how many seconds the ticket was valid then. */
  answered: { readonly leftSec: number; readonly target: PlainTarget } | null;
}

/** The targets of addresses that need no lookup, whose ticket is in force and opens them. */
function plainTargets(tickets: TicketAccess): (url: string) => PlainTarget | null {
  const playlists = new Map<string, OpenAddress>();
  return (url) => {
    const open = playlists.get(url) ?? openAddress(url, tickets);
    if (open === null) return null;
    const leftSec = tickets.leftSec(open.address);
    if (leftSec === 0 || !tickets.isKnownCurrent(open.address)) return null;
    if (open.answered?.leftSec !== leftSec) open.answered = { leftSec, target: targetFor(open, leftSec) };
    if (!open.plain.isPlaylist || playlists.has(url)) return open.answered.target;
    if (playlists.size >= knownPlaylistsMax) playlists.clear();
    playlists.set(url, open);
    return open.answered.target;
  };
}

/** Null for an address without a signed ticket, that its scope does not open, or that needs a lookup. */
function openAddress(url: string, tickets: TicketAccess): OpenAddress | null {
  const address = tickets.find(url);
  if (address === null) return null;
  const { scope } = address.ticket;
  const path = address.rest.slice(address.hash.length + 1);
  if (scope !== null && isLimiting(scope) && (isFiltered(path) || !isInScope(scope, path))) return null;
  const plain = plainTargetOf(streamPrefix + address.rest, immutable);
  return plain && { address, path, plain, answered: null };
}

function targetFor({ path, plain: { key, isPlaylist, headers } }: OpenAddress, leftSec: number): PlainTarget {
  const cached = headers.with(headers.indexOf('cache-control') + 1, cacheControlOf(path, leftSec));
  return { key, isPlaylist, headers: cached, isPassing: true };
}

/** Nothing is cached for longer than the ticket is valid. `path` is the one below the media that was asked for. */
function cacheControlOf(path: string, leftSec: number): string {
  if (isOfRevision(path)) return `public, max-age=${Math.min(leftSec, immutableSecMax)}, immutable`;
  return `public, max-age=${Math.min(leftSec, mutableSecMax)}`;
}

type Found = Awaited<ReturnType<typeof findTarget>>;

/** The target that `findTarget` finds at the address of the ticket. */
async function signedTarget({ prefix, rest }: TicketedAddress, media: MediaReader, leftSec: number): Promise<Found> {
  const found = await findTarget(streamPrefix + rest, media, immutable);
  if (!('movedTo' in found)) return { ...found, prefix, cacheControl: cacheControlOf(found.path, leftSec) };
  const { movedTo, status } = found;
  const isAbsolute = movedTo.startsWith(streamPrefix);
  return { movedTo: isAbsolute ? prefix + movedTo.slice(streamPrefix.length) : movedTo, status };
}

interface FilteredAnswer {
  readonly media: MediaReader;
  readonly target: Target;
  readonly scope: TicketScope;
}

/** A master playlist or manifest without what is outside of the scope: whole, and not compressed. */
async function answerFiltered(
  request: FastifyRequest,
  reply: FastifyReply,
  { media, target, scope }: FilteredAnswer,
): Promise<unknown> {
  const whole = await media.playlist(target.key);
  if (whole === null) throw missingObject(target);
  const filter = target.key.endsWith('.m3u8') ? masterInScope : manifestInScope;
  const text = filter(whole.bytes.toString('utf8'), scope);
  if (text === null) throw refused("The ticket's scope leaves nothing of this media.");
  const limit = scope.isAudioOnly ? 'audio' : `${scope.heightMax}p`;
  const etag = whole.info.etag.replace(/"$/, `-${limit}"`);
  if (refusesEtag(request.headers['if-match'], etag)) return answerOther(reply);
  reply.headers({ 'cache-control': target.cacheControl, 'content-type': target.contentType, etag });
  if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
  const bytes = Buffer.from(text);
  reply.header('content-length', bytes.length);
  return request.method === 'HEAD' ? reply.send() : reply.send(bytes);
}

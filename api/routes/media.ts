import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { type Fault, KnownProblem } from '#domain/errors.ts';
import { mediaHashSchema } from '#domain/jobs/submission.ts';
import { mediaFolders } from '#domain/library/deletion.ts';
import { metadataOfPairs, searchQuery } from '#domain/media/description.ts';
import {
  currentRevisionSchema,
  mediaChangeSchema,
  mediaFilesQuerySchema,
  mediaListQuerySchema,
} from '#domain/library/media.ts';
import { deleteMedia, unknownMedia } from '#jobs/delete-media.ts';
import { withDigests } from '#jobs/completion/object-digests.ts';
import { publishRevision } from '#jobs/completion/publish-revision.ts';
import { listMedia, type MediaFilter, orderValueOf } from '#platform/postgres/media-list.ts';
import type { Purge } from '#platform/postgres/purge-events.ts';
import { audit } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { apiKeyId, apiKeyOf } from '../hooks/api-key.ts';
import { type Guards, requireRight } from '../hooks/guards.ts';
import { readMediaCursor, writeMediaCursor } from '../media-cursor.ts';
import { validated } from '../validated.ts';
import { deletionToWire, listedMediaToWire, mediaToWire } from '../wire/media.ts';
import * as docs from './media.doc.ts';
import type { mediaDeletionSchema, mediaFilesSchema, mediaListSchema, mediaSchema } from '../wire/media-schemas.ts';

// Media: everything made under one hash (docs/reference/contract.md, "Media").

type MediaRequest = FastifyRequest<{ Params: { hash: string } }>;
type MediaRouteDependencies = ApiDependencies & { readonly guards: Guards };

export function addMediaRoutes(app: FastifyInstance, dependencies: MediaRouteDependencies): void {
  const { guards, library, playbacks, deletions, media, log, config } = dependencies;
  const onRequest = guards.authenticated;

  app.get('/api/media', { onRequest, config: { doc: docs.list } }, (request) => list(request, dependencies));

  app.get('/api/media/:hash', { onRequest, config: { doc: docs.find } }, (request: MediaRequest) =>
    findMedia(hashOf(request), dependencies),
  );

  app.get('/api/media/:hash/files', { onRequest, config: { doc: docs.files } }, async (request: MediaRequest) => {
    const { limit, cursor } = validated(mediaFilesQuerySchema, request.query);
    return listFiles(hashOf(request), { limit, after: cursor ?? '' }, dependencies);
  });

  app.patch('/api/media/:hash', { onRequest, config: { doc: docs.change } }, async (request: MediaRequest) => {
    const hash = hashOf(request);
    const change = validated(mediaChangeSchema, request.body);
    const { expires_at: expiresAt, legal_hold: legalHold, playback, title, metadata } = change;
    const other = Object.keys(change).find((name) => name !== 'title' && name !== 'metadata');
    if (other !== undefined) requireRight(request, 'delete', other);
    const isKnown = await library.change(hash, {
      ...(expiresAt === undefined ? {} : { expiresAt: expiresAt === null ? null : new Date(expiresAt) }),
      ...(legalHold === undefined ? {} : { legalHold }),
      ...(playback === undefined ? {} : { playback, purge: purgeOf(dependencies) }),
      title,
      metadata,
    });
    if (!isKnown) throw unknownMedia;
    audit(log, request, { what: 'media changed', hash });
    return findMedia(hash, dependencies);
  });

  app.post(
    '/api/media/:hash/playback/withdraw',
    { onRequest, config: { doc: docs.withdraw } },
    async (request: MediaRequest) => {
      const hash = hashOf(request);
      if (!(await playbacks.withdraw(hash, purgeOf(dependencies)))) throw unknownMedia;
      audit(log, request, { what: 'tickets withdrawn', hash });
      return findMedia(hash, dependencies);
    },
  );

  app.put('/api/media/:hash/current', { onRequest, config: { doc: docs.publish } }, async (request: MediaRequest) => {
    const hash = hashOf(request);
    const { revision: rev } = validated(currentRevisionSchema, request.body);
    await publishRevision({ library, media }, { hash, rev });
    audit(log, request, { what: 'revision published', hash });
    return findMedia(hash, dependencies);
  });

  app.delete('/api/media/:hash', { onRequest, config: { doc: docs.remove } }, async (request: MediaRequest, reply) => {
    const hash = hashOf(request);
    const { deletion, isNew } = await deleteMedia(
      { ...dependencies, purgeHookUrl: config.purgeHookUrl },
      { hash, reason: 'request', keyId: apiKeyId(request) },
    );
    if (isNew) audit(log, request, { what: 'media deletion requested', hash });
    return answerDeletion(reply.code(isNew ? 202 : 200), deletionToWire(deletion));
  });

  app.get(
    '/api/media/:hash/deletion',
    { onRequest, config: { doc: docs.deletion } },
    async (request: MediaRequest, reply) => {
      const deletion = await deletions.find(hashOf(request));
      if (deletion === null) throw new KnownProblem('not_found', 'The media is not deleted.');
      return answerDeletion(reply, deletionToWire(deletion));
    },
  );
}

function purgeOf({ config, randomUuid }: MediaRouteDependencies): Purge | null {
  return config.purgeHookUrl === null ? null : { url: config.purgeHookUrl, eventId: randomUuid() };
}

/** A hint for those who wait for its end, in seconds. */
const pollAfterSec = 2;

function answerDeletion(reply: FastifyReply, deletion: z.output<typeof mediaDeletionSchema>): FastifyReply {
  if (deletion.status === 'deleting') reply.header('retry-after', pollAfterSec);
  return reply.send(deletion);
}

/** @throws KnownProblem `not_found`, also for what is no hash */
function hashOf({ params }: MediaRequest): string {
  const parsed = mediaHashSchema.safeParse(params.hash);
  if (!parsed.success) throw unknownMedia;
  return parsed.data;
}

async function findMedia(
  hash: string,
  { library }: Pick<MediaRouteDependencies, 'library'>,
): Promise<z.output<typeof mediaSchema>> {
  const found = await library.find(hash);
  if (found === null) throw unknownMedia;
  return mediaToWire(found);
}

async function list(
  request: FastifyRequest,
  { listDatabase }: MediaRouteDependencies,
): Promise<z.output<typeof mediaListSchema>> {
  const { cursor, limit, ...given } = validated(mediaListQuerySchema, request.query);
  const filter = filterOf(given);
  const after = cursor === undefined ? null : readMediaCursor(filter.by, cursor);
  // One more than is shown: it exists when there is another page.
  const media = await listMedia(listDatabase, filter, {
    after,
    limit: limit + 1,
    hashPrefix: apiKeyOf(request)?.hashPrefix ?? null,
  });
  const last = media.length > limit ? media[limit - 1] : undefined;
  return {
    media: media.slice(0, limit).map(listedMediaToWire),
    next_cursor:
      last === undefined
        ? null
        : writeMediaCursor(filter.by, { value: orderValueOf(last, filter.by), hash: last.hash }),
  };
}

type GivenFilters = Omit<ReturnType<typeof mediaListQuerySchema.parse>, 'cursor' | 'limit'>;

const filterNames = [
  'q',
  'metadata',
  'prefix',
  'expires_before',
  'bytes_min',
  'created_after',
  'created_before',
] as const;
/** Filters that one index serves together. */
const combinable: readonly (readonly string[])[] = [
  ['created_after', 'created_before'],
  ['metadata', 'prefix'],
];

/** @throws KnownProblem `invalid_request` for filters of which no index serves both */
function filterOf(given: GivenFilters): MediaFilter {
  const names = filterNames.filter((name) => given[name] !== undefined);
  const [first] = names;
  const areCombinable = combinable.some((group) => names.every((name) => group.includes(name)));
  if (names.length > 1 && !areCombinable)
    throw new KnownProblem('invalid_request', undefined, { faults: together(names) });
  if (given.q !== undefined) return searchOf(given.q);
  if (given.metadata !== undefined)
    return { by: 'metadata', metadata: metadataOfPairs(given.metadata), prefix: given.prefix ?? '' };
  if (given.prefix !== undefined) return { by: 'prefix', prefix: given.prefix };
  if (given.bytes_min !== undefined) return { by: 'bytes', bytesMin: given.bytes_min };
  if (first === 'expires_before') return { by: 'expiry', expiresBefore: new Date(given.expires_before ?? '') };
  return { by: 'age', createdAfter: dateOf(given.created_after), createdBefore: dateOf(given.created_before) };
}

function searchOf(text: string): MediaFilter {
  const prefix = mediaHashSchema.safeParse(text);
  return { by: 'search', words: searchQuery(text), prefix: prefix.data ?? null };
}

const dateOf = (time: string | undefined) => (time === undefined ? null : new Date(time));

function together([first, ...others]: readonly string[]): Fault[] {
  const detail = `cannot be combined with ${first}; ask for one of them and filter the page`;
  return others.map((name) => ({ pointer: `/${name}`, code: 'not_combinable', detail }));
}

/** All objects in one order: the folders of a media do not mix. */
async function listFiles(
  hash: string,
  { limit, after }: { readonly limit: number; readonly after: string },
  { media, library }: Pick<MediaRouteDependencies, 'media' | 'library'>,
): Promise<z.output<typeof mediaFilesSchema>> {
  if (!(await library.isKnown(hash))) throw unknownMedia;
  const files: z.output<typeof mediaFilesSchema>['files'] = [];
  for (const folder of mediaFolders(hash).toSorted()) {
    if (files.length > limit) break;
    for await (const file of withDigests(media, media.list(folder, after), after)) {
      const { key, sizeBytes: size, etag, sha256, lastModified } = file;
      files.push({ key, size, etag, sha256, last_modified: lastModified.toISOString() });
      if (files.length > limit) break;
    }
  }
  const shown = files.slice(0, limit);
  return { files: shown, next_cursor: files.length > limit ? (shown.at(-1)?.key ?? null) : null };
}

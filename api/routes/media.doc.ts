import { mediaFilesQuerySchema, mediaListQuerySchema } from '#domain/library/media.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import {
  changeBodySchema,
  mediaDeletionSchema,
  mediaFilesSchema,
  mediaListSchema,
  mediaSchema,
  publishBodySchema,
} from '../wire/media-schemas.ts';

// Documentation of the media routes in the OpenAPI document.

const shared = { tag: 'Media', credential: 'api_key', path: { hash: 'The media.' } } as const;

export const list: RouteDoc = {
  tag: 'Media',
  credential: 'api_key',
  operationId: 'listMedia',
  right: 'read',
  subject: 'own',
  summary: 'List media, newest first',
  description:
    'One of `q`, `metadata`, `prefix`, `expires_before` and `bytes_min` may be given, which decides the order; `prefix` goes with `metadata`, and `created_after` and `created_before` go with none of them. For the next page, repeat the request with `cursor` set to `next_cursor`.',
  query: mediaListQuerySchema,
  answers: { 200: { description: 'One page.', schemas: [mediaListSchema] } },
  problems: ['invalid_request', 'busy'],
};

export const find: RouteDoc = {
  ...shared,
  operationId: 'getMedia',
  right: 'read',
  subject: 'media',
  summary: 'Get what is known of a media',
  description:
    'Its revisions (at most the newest 50 outputs), images, jobs (the newest 100), key id and expiry. A deleted media has `status` `deleted` and its receipt until something new is made under its hash.',
  answers: { 200: { description: 'The media.', schemas: [mediaSchema] } },
  problems: ['not_found', 'invalid_request'],
};

export const files: RouteDoc = {
  ...shared,
  operationId: 'listMediaFiles',
  right: 'read',
  subject: 'media',
  summary: 'List the objects of a media in the media bucket',
  description: 'Of all revisions, in the order of their keys, with size, `etag` and, where it was recorded, `sha256`.',
  query: mediaFilesQuerySchema,
  answers: { 200: { description: 'One page.', schemas: [mediaFilesSchema] } },
  problems: ['not_found', 'invalid_request'],
};

export const change: RouteDoc = {
  ...shared,
  operationId: 'changeMedia',
  right: 'delete',
  partRight: 'submit',
  subject: 'media',
  summary: 'Set expiry, hold, title or metadata of a media, or how it plays',
  description:
    'At `expires_at` it is deleted as by DELETE; null removes the time. Under `legal_hold: true` neither a request, a time nor a retention deletes anything of it. With `playback: signed`, `/stream` of the media is 404 within five seconds, and `/s/{ticket}` plays it. `title` and `metadata` replace what there is, and null removes it; for these two the right `submit` suffices.',
  body: { schema: changeBodySchema, isRequired: true, example: { expires_at: '2027-01-31T00:00:00Z' } },
  answers: { 200: { description: 'The media.', schemas: [mediaSchema] } },
  problems: ['not_found', 'conflict'],
};

export const withdraw: RouteDoc = {
  ...shared,
  operationId: 'withdrawTickets',
  right: 'publish',
  subject: 'media',
  summary: 'Withdraw the tickets of a media',
  description:
    'Every ticket of the media so far is refused within five seconds; new ones are made with the `playback_generation` of the answer.',
  answers: { 200: { description: 'The media.', schemas: [mediaSchema] } },
  problems: ['not_found', 'conflict', 'invalid_request'],
};

export const publish: RouteDoc = {
  ...shared,
  operationId: 'publishRevision',
  right: 'publish',
  subject: 'media',
  summary: 'Publish an earlier revision again',
  description: 'Players that begin from now on get its stream; a revision that plays goes on.',
  body: { schema: publishBodySchema, isRequired: true },
  answers: { 200: { description: 'The media.', schemas: [mediaSchema] } },
  problems: ['not_found', 'conflict'],
};

export const remove: RouteDoc = {
  ...shared,
  operationId: 'deleteMedia',
  right: 'delete',
  subject: 'media',
  summary: 'Delete a media',
  description:
    'Its content key is destroyed at once, its jobs are cancelled, and its addresses answer 410 within seconds; then its objects are removed. The jobs stay without their results. Deleting again answers 200 with the same deletion, and covers what was accepted meanwhile; it answers 202 with another one where something was submitted after the end of the first. Jobs that are submitted under the hash meanwhile wait for its end.',
  answers: {
    202: { description: 'The deletion has begun.', schemas: [mediaDeletionSchema] },
    200: { description: 'It had begun before.', schemas: [mediaDeletionSchema] },
  },
  problems: ['not_found', 'conflict', 'invalid_request'],
};

export const deletion: RouteDoc = {
  ...shared,
  operationId: 'getMediaDeletion',
  right: 'read',
  subject: 'media',
  summary: 'Follow the deletion of a media',
  description: 'What is left to remove; once nothing is, the signed receipt.',
  answers: { 200: { description: 'The deletion.', schemas: [mediaDeletionSchema] } },
  problems: ['not_found', 'invalid_request'],
};

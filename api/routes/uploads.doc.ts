import type { RouteDoc } from '#platform/http/route-doc.ts';
import { noFieldsSchema } from '../wire/job-schemas.ts';
import { uploadBodySchema, uploadPartQuerySchema, uploadQuerySchema, uploadSchema } from '../wire/upload.ts';

// Documentation of the routes of uploads in the OpenAPI document.

const idOfUpload = { id: 'The upload, a UUID.' };

export const begin: RouteDoc = {
  tag: 'Uploads',
  operationId: 'beginUpload',
  right: 'upload',
  subject: 'nothing',
  summary: 'Begin an upload',
  description:
    'Put each part to its `url`, in any order and as often as needed, then complete the upload. The addresses need no API key. `source` is the key to submit jobs with, once the upload has completed.',
  credential: 'api_key',
  isLimited: true,
  body: {
    schema: uploadBodySchema,
    isRequired: true,
    example: { name: 'movie-1.mp4', size: 3221225472, content_type: 'video/mp4' },
  },
  answers: { 201: { description: 'An open upload and its parts.', schemas: [uploadSchema] } },
  problems: ['source_too_large', 'not_configured'],
};

export const find: RouteDoc = {
  tag: 'Uploads',
  operationId: 'getUpload',
  right: 'upload',
  subject: 'upload',
  summary: 'Get an upload, to go on with it',
  description:
    'Says which parts are there and gives new addresses; of more than 1,000 parts a page, from `part_from` on.',
  credential: 'api_key',
  path: idOfUpload,
  query: uploadQuerySchema,
  answers: { 200: { description: 'The upload.', schemas: [uploadSchema] } },
  problems: ['invalid_request', 'not_found', 'not_configured'],
};

export const complete: RouteDoc = {
  tag: 'Uploads',
  operationId: 'completeUpload',
  right: 'upload',
  subject: 'upload',
  summary: 'Complete an upload',
  description:
    'Checks the parts, the size, the digest and the kind of the file. Completing again changes nothing, also after an answer that was lost.',
  credential: 'api_key',
  path: idOfUpload,
  body: { schema: noFieldsSchema, isRequired: false },
  answers: {
    200: { description: 'The upload has completed.', schemas: [uploadSchema] },
    202: { description: 'The checks go on; the same request again, after `Retry-After`.', schemas: [uploadSchema] },
  },
  problems: ['unsupported', 'not_found', 'not_configured', 'upload_conflict', 'upload_mismatch'],
};

export const remove: RouteDoc = {
  tag: 'Uploads',
  operationId: 'deleteUpload',
  right: 'upload',
  subject: 'upload',
  summary: 'Delete an upload that has not completed',
  credential: 'api_key',
  path: idOfUpload,
  answers: { 204: { description: 'The upload and its parts are deleted.' } },
  problems: ['invalid_request', 'not_found', 'not_configured', 'upload_conflict'],
};

export const putPart: RouteDoc = {
  tag: 'Uploads',
  operationId: 'putUploadPart',
  summary: 'Put a part of an upload to a folder',
  description:
    'Only at the addresses that an upload names; uploads to a bucket go to the S3 server instead. The body is the bytes of the part.',
  credential: 'none',
  path: { ...idOfUpload, number: 'The part, from 1.' },
  query: uploadPartQuerySchema,
  answers: { 200: { description: 'The part is stored; `ETag` is of its bytes.' } },
  problems: ['invalid_request', 'forbidden', 'not_found', 'not_configured', 'upload_conflict'],
};

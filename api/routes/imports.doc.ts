import type { RouteDoc } from '#platform/http/route-doc.ts';
import { importBodySchema, importListQuerySchema, importListSchema, importSchema } from '../wire/import.ts';

// Documentation of the routes of imports in the OpenAPI document.

const idOfImport = { id: 'The import, a UUID.' };

export const begin: RouteDoc = {
  tag: 'Imports',
  operationId: 'beginImport',
  right: 'import',
  subject: 'nothing',
  summary: 'Import a file from another server',
  description:
    'A worker fetches the file into the bucket of uploads, and goes on by ranges after an interruption. `source` is the key to submit jobs with, once the import has completed. The host is one that the operator has named.',
  credential: 'api_key',
  isLimited: true,
  body: {
    schema: importBodySchema,
    isRequired: true,
    example: { url: 'https://media.example.com/movie-1.mp4' },
  },
  answers: { 202: { description: 'The import, which a worker carries out.', schemas: [importSchema] } },
  problems: ['not_configured'],
};

export const list: RouteDoc = {
  tag: 'Imports',
  operationId: 'listImports',
  right: 'import',
  subject: 'own',
  summary: 'List imports, the newest first',
  credential: 'api_key',
  query: importListQuerySchema,
  answers: { 200: { description: 'A page of imports.', schemas: [importListSchema] } },
  problems: ['invalid_request', 'not_configured'],
};

export const find: RouteDoc = {
  tag: 'Imports',
  operationId: 'getImport',
  right: 'import',
  subject: 'import',
  summary: 'Get an import',
  description: 'Between two attempts it stays `running`. A failed one says why, and what to do.',
  credential: 'api_key',
  path: idOfImport,
  answers: { 200: { description: 'The import.', schemas: [importSchema] } },
  problems: ['not_found', 'not_configured'],
};

export const remove: RouteDoc = {
  tag: 'Imports',
  operationId: 'cancelImport',
  right: 'import',
  subject: 'import',
  summary: 'Cancel an import that has not ended',
  credential: 'api_key',
  path: idOfImport,
  answers: { 204: { description: 'The import has ended, and the worker removes what it stored.' } },
  problems: ['invalid_request', 'not_found', 'not_configured', 'conflict'],
};

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';
import { beginImport, cancelImport } from '#jobs/imports/begin.ts';
import type { ImportSettings } from '#platform/config/import-settings.ts';
import type { ImportStore } from '#platform/postgres/import-store.ts';
import type { UploadBucket } from '#platform/storage/upload-bucket.ts';
import { audit } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { apiKeyId, apiKeyOf } from '../hooks/api-key.ts';
import type { Guards } from '../hooks/guards.ts';
import { readJobCursor, writeJobCursor } from '../job-cursor.ts';
import { noSuchImport } from '../missing.ts';
import { validated } from '../validated.ts';
import * as docs from './imports.doc.ts';
import { refuseFields } from './jobs.ts';
import { importBodySchema, importListQuerySchema, importToWire } from '../wire/import.ts';

// Imports (docs/reference/contract.md, "Bring in"): a row here, and a worker fetches the file.

type ImportRequest = FastifyRequest<{ Params: { id: string } }>;
type ImportRouteDependencies = Pick<ApiDependencies, 'config' | 'uploads' | 'log' | 'randomUuid'> & {
  readonly guards: Guards;
  readonly rows: ImportStore;
};

export function addImportRoutes(app: FastifyInstance, dependencies: ImportRouteDependencies): void {
  const { rows, log, randomUuid } = dependencies;
  const { authenticated, limitedByImport } = dependencies.guards;

  app.post('/api/imports', { onRequest: limitedByImport, config: { doc: docs.begin } }, async (request, reply) => {
    const { settings, bucket } = configured(dependencies);
    const given = validated(importBodySchema, request.body);
    const file = {
      keyId: apiKeyId(request),
      url: given.url,
      name: given.name ?? null,
      sha256: given.sha256?.toLowerCase() ?? null,
      title: given.title ?? null,
    };
    const begun = await beginImport({ settings, bucket: bucket.settings, rows, randomUuid }, file);
    audit(log, request, { what: 'import begun', importId: begun.id });
    return reply.code(202).header('location', `/api/imports/${begun.id}`).send(importToWire(begun));
  });

  app.get('/api/imports', { onRequest: authenticated, config: { doc: docs.list } }, async (request) => {
    configured(dependencies);
    const { limit, cursor } = validated(importListQuerySchema, request.query);
    const key = apiKeyOf(request);
    const keyId = key === null || key.hashPrefix === null ? null : key.id;
    const after = cursor === undefined ? null : readJobCursor(cursor);
    const page = await rows.list({ after, limit: limit + 1, keyId });
    const last = page.length > limit ? page[limit - 1] : undefined;
    const imports = page.slice(0, limit).map(importToWire);
    return { imports, next_cursor: last === undefined ? null : writeJobCursor(last) };
  });

  app.get(
    '/api/imports/:id',
    { onRequest: authenticated, config: { doc: docs.find } },
    async (request: ImportRequest) => {
      configured(dependencies);
      const found = await rows.find(request.params.id);
      if (found === null) throw noSuchImport();
      return importToWire(found);
    },
  );

  app.delete(
    '/api/imports/:id',
    { onRequest: authenticated, config: { doc: docs.remove } },
    async (request: ImportRequest, reply) => {
      refuseFields(request);
      configured(dependencies);
      const { id } = request.params;
      if (await cancelImport({ rows }, id)) audit(log, request, { what: 'import cancelled', importId: id });
      return reply.code(204).send();
    },
  );
}

const adviceForOperators =
  'Imports are off. The operator names in IMPORT_HOSTS the hosts that files may be fetched from, and lets uploads in.';

/** @throws KnownProblem `not_configured` */
function configured({ config, uploads }: ImportRouteDependencies): {
  readonly settings: ImportSettings;
  readonly bucket: UploadBucket;
} {
  if (config.imports === null || uploads === null) throw new KnownProblem('not_configured', adviceForOperators);
  return { settings: config.imports, bucket: uploads };
}

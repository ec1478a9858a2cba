import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance, FastifyRequest } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';
import { listedPartsMax, sizeOfPart } from '#domain/uploads/part-plan.ts';
import { partSecretsOf, signPartPath } from '#domain/uploads/part-address.ts';
import type { Upload } from '#domain/uploads/upload.ts';
import { FewAtOnce } from '#platform/concurrency/few-at-once.ts';
import { beginUpload } from '#jobs/uploads/begin.ts';
import { completeUpload } from '#jobs/uploads/complete.ts';
import { deleteUpload } from '#jobs/uploads/remove.ts';
import type { UploadStore } from '#platform/postgres/upload-store.ts';
import type { UploadBucket } from '#platform/storage/upload-bucket.ts';
import { audit } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { apiKeyId } from '../hooks/api-key.ts';
import type { Guards } from '../hooks/guards.ts';
import { noSuchUpload } from '../missing.ts';
import { validated } from '../validated.ts';
import { refuseFields } from './jobs.ts';
import * as docs from './uploads.doc.ts';
import { type ShownParts, uploadBodySchema, uploadQuerySchema, uploadToWire } from '../wire/upload.ts';

// Uploads (docs/reference/contract.md, "Bring in"). Their bytes go to the store: by presigned addresses to an S3
// server, by signed addresses of this service (upload-parts.ts) to a folder.

type UploadRequest = FastifyRequest<{ Params: { id: string } }>;
export type UploadRouteDependencies = Pick<ApiDependencies, 'config' | 'log' | 'clock' | 'randomUuid'> & {
  readonly guards: Guards;
  readonly rows: UploadStore;
  readonly bucket: UploadBucket | null;
};

/** How long a request waits for a completion, which goes on without it: load balancers wait for about a minute. */
const completionWaitMs = 25_000;
const retryAfterSec = 2;
/** Completions at once that read a whole object back for its digest; the others wait. */
const digestsMax = 2;

export function addUploadRoutes(app: FastifyInstance, dependencies: UploadRouteDependencies): void {
  const { log } = dependencies;
  const { authenticated, limitedByUpload } = dependencies.guards;
  const completions = new Completions();
  const digests = new FewAtOnce(digestsMax);

  app.post('/api/uploads', { onRequest: limitedByUpload, config: { doc: docs.begin } }, async (request, reply) => {
    const given = validated(uploadBodySchema, request.body);
    const file = {
      keyId: apiKeyId(request),
      name: given.name,
      sizeBytes: given.size,
      contentType: given.content_type ?? null,
      sha256: given.sha256?.toLowerCase() ?? null,
      title: given.title ?? null,
    };
    const upload = await beginUpload(withBucket(dependencies), file);
    audit(log, request, { what: 'upload begun', uploadId: upload.id });
    const parts = await partsToShow(dependencies, request, { upload, from: 1, isNew: true });
    return reply
      .code(201)
      .header('location', `/api/uploads/${upload.id}`)
      .send(await uploadToWire(upload, parts));
  });

  app.get(
    '/api/uploads/:id',
    { onRequest: authenticated, config: { doc: docs.find } },
    async (request: UploadRequest) => {
      const { part_from: from } = validated(uploadQuerySchema, request.query);
      const upload = await findUpload(dependencies, request.params.id);
      return uploadToWire(upload, await partsToShow(dependencies, request, { upload, from }));
    },
  );

  app.post(
    '/api/uploads/:id/complete',
    { onRequest: authenticated, config: { doc: docs.complete } },
    async (request: UploadRequest, reply) => {
      refuseFields(request);
      const { id, status, sha256 } = await findUpload(dependencies, request.params.id);
      const complete = () => completeUpload(withBucket(dependencies), id);
      const completed = await completions.run(id, sha256 === null ? complete : () => digests.run(complete));
      if (completed === null) {
        reply.code(202).header('retry-after', retryAfterSec);
        return uploadToWire(await findUpload(dependencies, id), null);
      }
      if (status !== 'completed') audit(log, request, { what: 'upload completed', uploadId: id });
      return uploadToWire(completed, null);
    },
  );

  app.delete(
    '/api/uploads/:id',
    { onRequest: authenticated, config: { doc: docs.remove } },
    async (request: UploadRequest, reply) => {
      refuseFields(request);
      const isDeleted = await deleteUpload(withBucket(dependencies), request.params.id);
      if (isDeleted) audit(log, request, { what: 'upload deleted', uploadId: request.params.id });
      return reply.code(204).send();
    },
  );
}

const adviceForOperators =
  'Uploads are off: the source bucket is only read. The operator sets UPLOAD_S3_ACCESS_KEY_ID, a key that may write ' +
  'below UPLOAD_PREFIX, or UPLOAD_BUCKET.';

/** @throws KnownProblem `not_configured` */
export function withBucket<T extends Pick<UploadRouteDependencies, 'bucket'>>(
  dependencies: T,
): Omit<T, 'bucket'> & { readonly bucket: UploadBucket } {
  const { bucket } = dependencies;
  if (bucket === null) throw new KnownProblem('not_configured', adviceForOperators);
  return { ...dependencies, bucket };
}

/** @throws KnownProblem `not_configured`; `not_found`, also for a malformed id */
export async function findUpload(dependencies: UploadRouteDependencies, id: string): Promise<Upload> {
  const upload = await withBucket(dependencies).rows.find(id);
  if (upload === null) throw noSuchUpload();
  return upload;
}

/** One page of the parts of an open upload, with addresses that hold as long as it may stay open. */
async function partsToShow(
  dependencies: UploadRouteDependencies,
  request: FastifyRequest,
  { upload, from, isNew = false }: { readonly upload: Upload; readonly from: number; readonly isNew?: boolean },
): Promise<ShownParts | null> {
  if (upload.status !== 'open' || upload.multipartId === null) return null;
  const { bucket, config, clock } = withBucket(dependencies);
  const of = { key: upload.source, id: upload.multipartId };
  const stored = isNew ? [] : await bucket.parts.list(of, { after: from - 1, limit: listedPartsMax });
  const exp = Math.floor(upload.expiresAt.getTime() / 1000);
  const expiresInSec = exp - Math.floor(clock().getTime() / 1000);
  const [secret = Buffer.alloc(0)] = partSecretsOf(config.apiKeys);
  const origin = `${request.protocol}://${request.host}`;
  const addressOf = async (number: number) =>
    (await bucket.parts.addressOf(of, { number, sizeBytes: sizeOfPart(upload, number) }, expiresInSec)) ??
    origin + signPartPath({ id: upload.id, number, exp }, secret);
  return { from, stored: stored ?? [], addressOf };
}

/** Completions under way in this process: requests that come meanwhile wait for the same one. */
class Completions {
  readonly #underWay = new Map<string, Promise<Upload>>();

  /** Null when it is not done in time. */
  async run(id: string, complete: () => Promise<Upload>): Promise<Upload | null> {
    const completion = this.#underWay.get(id) ?? this.#start(id, complete);
    const waiting = new AbortController();
    const late = sleep(completionWaitMs, null, { signal: waiting.signal }).catch(() => null);
    try {
      return await Promise.race([completion, late]);
    } finally {
      waiting.abort();
    }
  }

  #start(id: string, complete: () => Promise<Upload>): Promise<Upload> {
    const completion = complete().finally(() => this.#underWay.delete(id));
    this.#underWay.set(id, completion);
    // The request may have stopped waiting; the next one finds the same failure.
    completion.catch(() => undefined);
    return completion;
  }
}

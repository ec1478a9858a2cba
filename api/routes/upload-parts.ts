import type { Readable } from 'node:stream';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';
import { isPartSignature, partSecretsOf } from '#domain/uploads/part-address.ts';
import { sizeOfPart } from '#domain/uploads/part-plan.ts';
import type { Upload } from '#domain/uploads/upload.ts';
import type { RequestTime } from '#platform/http/request-time.ts';
import { partNumberOf } from '../wire/upload.ts';
import { putPart } from './uploads.doc.ts';
import { findUpload, type UploadRouteDependencies, withBucket } from './uploads.ts';

// The parts of an upload to a folder, at signed addresses, without an API key: any page may put them. The body goes to
// the disk as it comes.

type PartRequest = FastifyRequest<{
  Params: { id: string; number: string };
  Querystring: { exp?: string; sig?: string };
}>;

type PartRouteDependencies = UploadRouteDependencies & { readonly requestTime: Pick<RequestTime, 'allow'> };

const cors = { 'access-control-allow-origin': '*', 'access-control-expose-headers': 'ETag, X-Trace-ID' };
const preflight = {
  ...cors,
  'access-control-allow-methods': 'PUT',
  'access-control-allow-headers': 'Content-Type, Content-MD5',
  'access-control-max-age': '86400',
};

/** `PUT /api/uploads/{id}/parts/{number}`; resolves once it is there, before other methods are refused. */
export async function addUploadPartRoute(app: FastifyInstance, dependencies: PartRouteDependencies): Promise<void> {
  const secrets = partSecretsOf(dependencies.config.apiKeys);
  const url = '/api/uploads/:id/parts/:number';
  app.options(url, async (_request, reply) => reply.headers(preflight).code(204).send());
  await app.register(async (scope) => {
    scope.removeAllContentTypeParsers();
    scope.addContentTypeParser('*', (_request, body, done) => done(null, body));
    scope.put(
      url,
      {
        config: { doc: putPart },
        // Before the first byte of the body is read.
        onRequest: async (request: PartRequest, reply) => {
          reply.headers(cors);
          const { number } = request.params;
          const { exp = '', sig = '' } = request.query;
          const nowSec = Math.floor(dependencies.clock().getTime() / 1000);
          const part = { id: request.params.id, number: Number(number), exp: Number(exp) };
          const isWellFormed = /^[1-9]\d{0,4}$/.test(number) && /^\d{1,12}$/.test(exp);
          if (!isWellFormed || !isPartSignature(part, sig, secrets))
            throw new KnownProblem('forbidden', 'The address is not one that an upload named.');
          if (part.exp <= nowSec)
            throw new KnownProblem('forbidden', 'The address has expired; get the upload for a new one.');
        },
      },
      (request: PartRequest, reply) => storePart(dependencies, request, reply),
    );
  });
}

async function storePart(
  dependencies: PartRouteDependencies,
  request: PartRequest,
  reply: FastifyReply,
): Promise<FastifyReply> {
  const { bucket } = withBucket(dependencies);
  const upload = await findUpload(dependencies, request.params.id);
  const number = partNumberOf(request.params.number, upload);
  const id = openMultipartOf(upload);
  const sizeBytes = sizeOfPart(upload, number);
  const given = request.headers['content-length'];
  if (given !== String(sizeBytes))
    throw new KnownProblem(
      'invalid_request',
      `Part ${number} needs Content-Length: ${sizeBytes}, not ${given ?? 'none'}.`,
    );
  // At 1 Mbit/s a part takes longer than a request may.
  dependencies.requestTime.allow(request.raw, sizeBytes);
  const body = request.body as Readable;
  const part = await bucket.parts
    .put({ key: upload.source, id }, number, { body, sizeBytes, ...digestOf(request) })
    .catch((error: unknown) => {
      // A client that left is no failure of the service.
      if (!request.raw.complete) throw new KnownProblem('invalid_request', 'The body ended early.', { cause: error });
      throw error;
    });
  // It may have ended meanwhile: then nothing else would remove this part.
  const now = await findUpload(dependencies, upload.id);
  if (now.status !== 'open' && now.status !== 'completing') await bucket.parts.abort(upload.source);
  openMultipartOf(now);
  return reply.header('etag', part.etag).code(200).send();
}

/** @throws KnownProblem `invalid_request` for a `Content-MD5` that is no digest */
function digestOf({ headers }: PartRequest): { readonly md5?: string } {
  const md5 = headers['content-md5'];
  if (md5 === undefined) return {};
  if (typeof md5 === 'string' && /^[A-Za-z0-9+/]{22}==$/.test(md5)) return { md5 };
  throw new KnownProblem('invalid_request', 'Content-MD5 must be 16 bytes in base64.');
}

/** @throws KnownProblem `upload_conflict` when the upload takes no parts */
function openMultipartOf({ status, multipartId }: Upload): string {
  if (status === 'open' && multipartId !== null) return multipartId;
  throw new KnownProblem('upload_conflict', `The upload takes no parts: its status is ${status}.`);
}

import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';
import { mediaHashSchema } from '#domain/jobs/submission.ts';
import type { ContentKey } from '#domain/playback/content-key.ts';
import { corsHook, preflightHandler } from '../cors.ts';
import { addKeyFastPath } from '../key-fast-path.ts';
import { bearerTokenOf, checkToken, exposedHeaders, type KeyDependencies, keyLimit } from '../key-access.ts';
import { addressBucket } from '#platform/http/rate-limit.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';

// `GET /api/key/{hash}` (C4.37 to C4.41, C5.3, C7.13 to C7.16): a content key for a playback token. `X-API-Key` means nothing here.

const withCors = corsHook(exposedHeaders);
const noStore = { 'cache-control': 'no-store' };
/** A ClearKey licence request is a list of key ids: well below this. */
const licenceRequestBytesMax = 16 * 1024;

const doc: RouteDoc = {
  tag: 'Playback',
  operationId: 'getContentKey',
  summary: 'Get the content key of an encrypted media',
  credential: 'playback_token',
  isLimited: true,
  path: { hash: 'The media, which the token must name.' },
  answers: { 200: { description: 'The raw 16 bytes.', contentType: 'application/octet-stream' } },
  problems: ['forbidden', 'not_found', 'invalid_request'],
};
const clearKeyDoc: RouteDoc = {
  ...doc,
  operationId: 'getClearKeyLicence',
  summary: 'Get the content key as a W3C ClearKey licence',
  answers: { 200: { description: 'The licence.', schemas: ['ClearKeyLicence'] } },
};
const licenceRequestDoc: RouteDoc = {
  ...clearKeyDoc,
  operationId: 'requestClearKeyLicence',
  summary: 'Request the content key as a W3C ClearKey licence',
  description: 'For players, which POST a licence request (EME). The body is not read.',
  problems: [...clearKeyDoc.problems, 'body_too_large'],
};

interface KeyRoute {
  Params: { hash: string };
}
type KeyRequest = FastifyRequest<KeyRoute>;
/** The outcome of a request by the status of its answer, for `svc_key_requests_total`. */
const outcomes: Readonly<Record<number, string>> = {
  200: 'served',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  429: 'limited',
};

export async function addKeyRoutes(app: FastifyInstance, dependencies: KeyDependencies): Promise<void> {
  addKeyFastPath(app, dependencies);
  const onResponse = async (_request: FastifyRequest, { statusCode }: FastifyReply) =>
    dependencies.metrics.keyRequests.inc({ outcome: outcomes[statusCode] ?? 'failed' });
  const shared = { onRequest: withCors, onResponse };
  app.options('/api/key/:hash', { onRequest: withCors }, preflightHandler('GET, OPTIONS', 'Authorization'));

  app.get('/api/key/:hash', { ...shared, config: { doc } }, async (request: KeyRequest, reply) => {
    const { key } = await findKey(request, reply, dependencies);
    return reply.header('content-type', 'application/octet-stream').send(key);
  });

  await app.register(async (scope) => addClearKeyRoutes(scope, dependencies, shared));
}

/**
 * The licence of EME's ClearKey (W3C Encrypted Media Extensions, section 9.1.4). Players POST a licence request, some
 * without a content type. Its key ids are not read: the token decides, and a media has one key.
 */
function addClearKeyRoutes(scope: FastifyInstance, dependencies: KeyDependencies, shared: RouteShorthandOptions): void {
  const url = '/api/key/:hash/clearkey';
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, undefined));
  const preflight = preflightHandler('GET, POST, OPTIONS', 'Authorization, Content-Type');
  scope.options(url, { onRequest: withCors }, preflight);
  const sendLicence = async (request: KeyRequest, reply: FastifyReply) => {
    const { kid, key } = await findKey(request, reply, dependencies);
    const jwk = { kty: 'oct', kid: Buffer.from(kid, 'hex').toString('base64url'), k: key.toString('base64url') };
    return reply.send({ keys: [jwk], type: 'temporary' });
  };
  scope.get<KeyRoute>(url, { ...shared, config: { doc: clearKeyDoc } }, sendLicence);
  scope.post<KeyRoute>(
    url,
    { ...shared, bodyLimit: licenceRequestBytesMax, config: { doc: licenceRequestDoc } },
    sendLicence,
  );
}

/** @throws KnownProblem `rate_limited`, `unauthorized`, `forbidden`, `not_found` */
async function findKey(request: KeyRequest, reply: FastifyReply, dependencies: KeyDependencies): Promise<ContentKey> {
  reply.headers(noStore);
  const { hash } = request.params;
  const token = checkToken(request, hash, dependencies);
  const bucket = token?.bucket ?? `address:${addressBucket(request.ip)}`;
  await dependencies.limiter.spend(keyLimit(dependencies.config), bucket, reply);
  if (bearerTokenOf(request.headers) === null) {
    reply.header('www-authenticate', 'Bearer');
    throw new KnownProblem('unauthorized');
  }
  // The same body for all reasons, so that a guess reveals nothing.
  if (token?.verdict !== 'valid') throw new KnownProblem('forbidden');
  const key = mediaHashSchema.safeParse(hash).success ? await dependencies.keys.find(hash) : null;
  if (key === null) throw new KnownProblem('not_found', 'There is no content key for this media.');
  return key;
}

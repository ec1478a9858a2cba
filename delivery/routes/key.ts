import type { FastifyInstance, FastifyReply, FastifyRequest, RouteShorthandOptions } from 'fastify';
import { z } from 'zod';
import type { ContentKey } from '#domain/playback/content-key.ts';
import { cmcdHeaders, corsHeaders, preflightHandler } from '../cors.ts';
import type { FastPaths } from '#platform/http/fast-paths.ts';
import type { DataPlane } from '../data-plane/data-plane.ts';
import { exposedHeaders, type KeyAccess } from '../keys/key-access.ts';
import { answers, type RouteDoc } from '#platform/http/route-doc.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';

// `GET /api/key/{hash}` (C18.6 to C18.11, C19.3, C22.14 to C22.17): a content key for a playback token. `X-API-Key`
// means nothing here.

/** A ClearKey licence request is a list of key ids: well below this. */
const licenceRequestBytesMax = 16 * 1024;

const licenceSchema = z
  .object({
    keys: z
      .array(
        z.object({
          kty: z.literal('oct').describe('The kind of the key.'),
          kid: z
            .string()
            .describe('The key id, base64url.')
            .meta({ examples: ['R-S-S3rDe0FcjNFUVEFMog'] }),
          k: z
            .string()
            .describe('The content key, base64url.')
            .meta({ examples: ['AAECAwQFBgcICQoLDA0ODw'] }),
        }),
      )
      .describe('The content key of the media.'),
    type: z.literal('temporary').describe('Players do not store it.'),
  })
  .register(answers, { id: 'ClearKeyLicence' });

const doc: RouteDoc = {
  tag: 'Playback',
  operationId: 'getContentKey',
  summary: 'Get the content key of an encrypted media',
  credential: 'playback_token',
  isLimited: true,
  path: { hash: 'The media, which the token must name.' },
  answers: { 200: { description: 'The raw 16 bytes.', contentType: 'application/octet-stream' } },
  problems: ['forbidden', 'not_found', 'media_deleted', 'invalid_request'],
};
const clearKeyDoc: RouteDoc = {
  ...doc,
  operationId: 'getClearKeyLicence',
  summary: 'Get the content key as a W3C ClearKey licence',
  answers: { 200: { description: 'The licence.', schemas: [licenceSchema] } },
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

interface KeyRouteDependencies {
  readonly plane: DataPlane;
  readonly fastPaths: FastPaths;
  readonly access: KeyAccess;
  readonly metrics: Metrics;
}

/** The outcome of a request by the status of its answer, for `svc_key_requests_total`. */
const outcomes: Readonly<Record<number, string>> = {
  200: 'served',
  401: 'unauthorized',
  403: 'forbidden',
  404: 'not_found',
  410: 'deleted',
  429: 'limited',
};

export async function addKeyRoutes(app: FastifyInstance, dependencies: KeyRouteDependencies): Promise<void> {
  const { plane, access, metrics, fastPaths } = dependencies;
  fastPaths.addHeaders('/api/key/', corsHeaders(exposedHeaders));
  plane.answerKeys(access);
  const onResponse = async (_request: FastifyRequest, { statusCode }: FastifyReply) =>
    metrics.keyRequests.inc({ outcome: outcomes[statusCode] ?? 'failed' });
  const shared = { onResponse };
  app.options('/api/key/:hash', preflightHandler('GET, OPTIONS', `Authorization, ${cmcdHeaders}`));

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
function addClearKeyRoutes(
  scope: FastifyInstance,
  dependencies: KeyRouteDependencies,
  shared: RouteShorthandOptions,
): void {
  const url = '/api/key/:hash/clearkey';
  scope.removeAllContentTypeParsers();
  scope.addContentTypeParser('*', { parseAs: 'buffer' }, (_request, _body, done) => done(null, undefined));
  const preflight = preflightHandler('GET, POST, OPTIONS', `Authorization, Content-Type, ${cmcdHeaders}`);
  scope.options(url, preflight);
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
async function findKey(
  request: KeyRequest,
  reply: FastifyReply,
  { plane, access }: KeyRouteDependencies,
): Promise<ContentKey> {
  const decision = plane.decisionOf(request.raw) ?? (await access.decide(request.raw, request.params.hash));
  reply.headers({ 'cache-control': 'no-store', ...decision.headers });
  if ('problem' in decision) throw decision.problem;
  return decision.key;
}

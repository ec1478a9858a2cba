import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';
import { faultsOf } from '#domain/jobs/faults.ts';
import { storedContentType } from '#domain/media/content-types.ts';
import { readThumb, thumbSecretsOf, type ThumbQuery, thumbVariantOf } from '#domain/playback/thumb.ts';
import { corsHook } from '../cors.ts';
import type { DeliveryDependencies } from '../dependencies.ts';
import { matchesEtag } from '#platform/http/request-headers.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import { requestProblemOf, statusOfProblem } from '#platform/http/problem-response.ts';
import type { ThumbMaker } from '../thumb-maker.ts';

// `GET /thumb/{sig}/{encoded_key}` (C4.42 to C4.53): signed, resized images.

const doc: RouteDoc = {
  tag: 'Playback',
  operationId: 'getImage',
  summary: 'Get an image of a media, resized',
  description:
    'The address is made by a server that holds the secret (domain/playback/thumb.ts); all of its query is signed: ' +
    '`w`, `h` (1–4096), `fit` (`cover`, `contain`, `inside`), `f` (`webp`, `jpg`, `png`, `avif`, `auto`), `q` (1–100), `exp`.',
  credential: 'none',
  path: { sig: 'The signature.', encoded_key: 'base64url of the object key.' },
  headers: { 'If-None-Match': 'An `ETag`.', Accept: 'Decides the format where `f=auto`.' },
  answers: { 200: { description: 'The image.', contentType: 'image/*' }, 304: { description: 'Nothing has changed.' } },
  problems: ['invalid_request', 'forbidden', 'not_found', 'unreadable_image', 'busy'],
};

interface ThumbRoute {
  Params: { sig: string; encoded_key: string };
}
type ThumbDependencies = Pick<DeliveryDependencies, 'config' | 'clock' | 'metrics'> & { readonly thumbs: ThumbMaker };

export function addThumbRoutes(app: FastifyInstance, dependencies: ThumbDependencies): void {
  const { config, metrics, thumbs } = dependencies;
  const secrets = thumbSecretsOf(config.thumbSecrets, config.keyTokenSecret);
  app.route<ThumbRoute>({
    method: ['GET', 'HEAD'],
    url: '/thumb/:sig/:encoded_key',
    config: { doc },
    onRequest: corsHook('Content-Length, ETag, X-Trace-ID'),
    handler: async (request, reply) => {
      let stage = 'address';
      try {
        const { key, query } = readAddress(request, secrets, dependencies);
        stage = 'image';
        const variant = thumbVariantOf(key, query, request.headers.accept ?? '');
        const { bytes, etag } = await thumbs.get(variant);
        describe(reply, query, dependencies).headers({ etag, 'content-type': storedContentType(`.${variant.format}`) });
        if (matchesEtag(request.headers['if-none-match'], etag)) return reply.code(304).send();
        return reply.header('content-length', bytes.length).send(request.method === 'HEAD' ? undefined : bytes);
      } catch (error) {
        const problem = requestProblemOf(error);
        metrics.imageErrors.inc({ stage, status: statusOfProblem(problem.code) });
        throw error;
      }
    },
  });
}

/** @throws KnownProblem `forbidden`, `not_found`, `invalid_request` */
function readAddress(
  request: FastifyRequest<ThumbRoute>,
  secrets: readonly string[],
  { clock }: Pick<ThumbDependencies, 'clock'>,
): { key: string; query: ThumbQuery } {
  const url = request.raw.url ?? '';
  const search = url.includes('?') ? url.slice(url.indexOf('?') + 1) : '';
  const { sig: signature, encoded_key: encodedKey } = request.params;
  const nowSec = Math.floor(clock().getTime() / 1000);
  const verdict = readThumb({ signature, encodedKey, search, nowSec }, secrets);
  if (verdict.kind === 'valid') return verdict;
  if (verdict.kind === 'not_an_image') throw new KnownProblem('not_found');
  if (verdict.kind === 'forbidden')
    throw new KnownProblem('forbidden', 'The signature does not hold, or the address has expired.');
  throw new KnownProblem('invalid_request', 'The options are not valid.', { faults: faultsOf(verdict.error) });
}

function describe(reply: FastifyReply, query: ThumbQuery, { clock }: Pick<ThumbDependencies, 'clock'>): FastifyReply {
  const secondsLeft = query.exp === undefined ? null : Math.max(0, query.exp - Math.floor(clock().getTime() / 1000));
  if (query.f === 'auto') reply.header('vary', 'Accept');
  return reply.header(
    'cache-control',
    secondsLeft === null ? 'public, max-age=31536000, immutable' : `public, max-age=${secondsLeft}`,
  );
}

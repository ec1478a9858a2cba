import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';
import { storedContentType } from '#domain/media/content-types.ts';
import { hashOfKey } from '#domain/media/object-keys.ts';
import { translateImgproxy } from '#domain/playback/imgproxy-address.ts';
import { withoutQuery } from '#domain/playback/media-address.ts';
import {
  readThumb,
  thumbPathOf,
  thumbSecretsOf,
  type ThumbSettings,
  type ThumbVerdict,
  unsignedPrefix,
} from '#domain/playback/thumb.ts';
import type { ThumbQuery } from '#domain/playback/thumb-options.ts';
import { thumbVariantOf } from '#domain/playback/thumb-variant.ts';
import { corsHeaders } from '../cors.ts';
import type { FastPaths } from '#platform/http/fast-paths.ts';
import type { DeletedMedia } from '../deleted-media.ts';
import type { DeliveryDependencies } from '../dependencies.ts';
import { matchesEtag } from '#platform/http/request-headers.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import { requestProblemOf, statusOfProblem } from '#platform/http/problem-response.ts';
import type { DataPlane } from '../data-plane/data-plane.ts';
import { exposedHeaders, thumbCacheControl } from '../images/thumb-headers.ts';
import type { ThumbMaker } from '../images/thumb-maker.ts';

// `GET /thumb/{sig}/{encoded_key}` (C20.1 to C20.13): signed, resized images.

const doc: RouteDoc = {
  tag: 'Playback',
  operationId: 'getImage',
  summary: 'Get an image of a media, resized',
  description:
    'The address is made by a server that holds the secret (domain/playback/thumb.ts); all of its query is signed: ' +
    '`w`, `h` (1–4096), `dpr` (1–4), `fit` (`cover`, `contain`, `inside`), `gravity` (a side, a corner, `attention`, ' +
    '`entropy`), `rotate` (0, 90, 180, 270), `trim` (1–254), `crop` (left-top-width-height), `blur` (0.3–100), `sharpen` (0.3–10), ' +
    '`background` (`rrggbb`), `f` (`webp`, `jpg`, `png`, `avif`, `auto`), `q` (1–100), `preset`, `from` (`source`), `exp`.',
  credential: 'none',
  path: { sig: 'The signature.', encoded_key: 'base64url of the object key.' },
  headers: { 'If-None-Match': 'An `ETag`.', Accept: 'Decides the format where `f=auto`.' },
  answers: {
    200: { description: 'The image.', contentType: 'image/*' },
    304: { description: 'Nothing has changed.' },
    308: { description: 'The query is sorted there.' },
  },
  problems: [
    'invalid_request',
    'forbidden',
    'not_configured',
    'not_found',
    'media_deleted',
    'unreadable_image',
    'busy',
  ],
};

type ThumbDependencies = Pick<DeliveryDependencies, 'config' | 'clock' | 'metrics'> & {
  readonly thumbs: ThumbMaker;
  readonly plane: DataPlane;
  readonly deleted: DeletedMedia;
  readonly fastPaths: FastPaths;
};

export function addThumbRoutes(app: FastifyInstance, dependencies: ThumbDependencies): void {
  const { config, metrics, thumbs, plane, deleted, fastPaths, clock } = dependencies;
  fastPaths.addHeaders('/thumb/', corsHeaders(exposedHeaders));
  const settings = {
    secrets: thumbSecretsOf(config.thumbSecrets, config.keyTokenSecret),
    presets: config.thumbPresets,
    isUnsigned: config.thumbUnsigned === 'on',
    sourcePrefix: config.thumbSources,
  };
  const fastPath = plane.answerThumbs(thumbs, clock);
  const answer = async (request: FastifyRequest, reply: FastifyReply) => {
    let stage = 'address';
    try {
      const url = request.raw.url ?? '';
      const address = readAddress(url, settings, dependencies);
      if (address.kind === 'moved') return await reply.header('cache-control', 'no-store').redirect(address.path, 308);
      const { key, query } = address;
      stage = 'image';
      const variant = thumbVariantOf(key, query, request.headers.accept ?? '');
      const media = query.from === 'source' ? null : hashOfKey(key);
      const { bytes, etag } = await deleted.answerUnlessDeleted(media, () => thumbs.get(variant, request.raw));
      if (!url.startsWith(unsignedPrefix)) fastPath.remember(url, variant, query);
      describe(reply, query, dependencies).headers({ etag, 'content-type': storedContentType(`.${variant.format}`) });
      if (matchesEtag(request.headers['if-none-match'], etag)) return await reply.code(304).send();
      return await reply.header('content-length', bytes.length).send(request.method === 'HEAD' ? undefined : bytes);
    } catch (error) {
      const problem = requestProblemOf(error);
      metrics.imageErrors.inc({ stage, status: statusOfProblem(problem.code) });
      throw error;
    }
  };
  app.route({ method: ['GET', 'HEAD'], url: '/thumb/:sig/:encoded_key', config: { doc }, handler: answer });
  app.route({
    method: ['GET', 'HEAD'],
    url: '/thumb/*',
    handler: (request, reply) => {
      if (request.raw.url?.startsWith(unsignedPrefix) === true) return answer(request, reply);
      throw noAddress(request.raw.url ?? '', settings);
    },
  });
}

/** The problem of an address that is none here; one in the form of imgproxy is translated. */
function noAddress(url: string, { isUnsigned }: ThumbSettings): KnownProblem {
  const translated = translateImgproxy(withoutQuery(url));
  if (translated === null)
    return new KnownProblem(
      'not_found',
      'There is no image at this address; it must be /thumb/{signature}/{encoded_key}.',
    );
  const { key, query, left } = translated;
  const ours = thumbPathOf(key, query, isUnsigned ? 'unsigned' : '{signature}');
  const rest = left.length === 0 ? '' : ` It has nothing for ${left.join(', ')}.`;
  return new KnownProblem(
    'invalid_request',
    `Addresses of imgproxy are not answered; this service has ${ours}.${rest}`,
  );
}

/** The fault, and then the remedy. */
const messageOf = {
  forbidden: 'The signature does not hold for this address; sign its key and its whole query with THUMB_SECRET.',
  unsorted: 'The signature covers the query as it is written; sign its names in alphabetical order.',
  unsigned: 'The address is not signed; sign it. In development THUMB_UNSIGNED=on lets a server answer it.',
} as const;

/** @throws KnownProblem `forbidden`, `not_configured`, `not_found`, `invalid_request` */
function readAddress(
  url: string,
  settings: ThumbSettings,
  { clock }: Pick<ThumbDependencies, 'clock'>,
): ThumbVerdict & { kind: 'valid' | 'moved' } {
  const verdict = readThumb(url, settings, Math.floor(clock().getTime() / 1000));
  if (verdict.kind === 'valid' || verdict.kind === 'moved') return verdict;
  if (verdict.kind === 'invalid') throw new KnownProblem('invalid_request', undefined, { faults: verdict.faults });
  if (verdict.kind === 'not_an_image')
    throw new KnownProblem(
      'not_found',
      'encoded_key names no image of the media bucket; it must be a key below images/ or videos/, as results name it.',
    );
  if (verdict.kind === 'not_a_source') throw refusalOfSource(verdict.prefix);
  if (verdict.kind === 'expired') {
    const at = new Date(verdict.exp * 1000).toISOString();
    throw new KnownProblem('forbidden', `The address expired at ${at}; sign it with a later exp.`);
  }
  throw new KnownProblem('forbidden', messageOf[verdict.kind]);
}

function refusalOfSource(prefix: string | null): KnownProblem {
  if (prefix === null)
    return new KnownProblem(
      'not_configured',
      'Sources are not shown as images here; set THUMB_SOURCES on this server.',
    );
  const below = prefix === '' ? 'of the source bucket' : `of the source bucket below ${prefix}`;
  return new KnownProblem('not_found', `encoded_key names no image ${below}; it must end as an image does, as .jpg.`);
}

function describe(reply: FastifyReply, query: ThumbQuery, { clock }: Pick<ThumbDependencies, 'clock'>): FastifyReply {
  if (query.f === 'auto') reply.header('vary', 'Accept');
  // The address may have expired while the image was made.
  return reply.header('cache-control', thumbCacheControl(query, clock) ?? 'public, max-age=0');
}

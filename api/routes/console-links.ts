import type { FastifyInstance, FastifyRequest } from 'fastify';
import { z } from 'zod';
import { requireHash } from '#domain/keys/api-key.ts';
import { hashOfKey } from '#domain/media/object-keys.ts';
import { mediaHashSchema } from '#domain/jobs/submission.ts';
import { signThumbPath, thumbRequestSchema, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { signStreamTicket } from '#domain/playback/ticket.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { answers, bodies, type RouteDoc } from '#platform/http/route-doc.ts';
import { callerOf } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import { apiKeyOf } from '../hooks/api-key.ts';
import type { Guards } from '../hooks/guards.ts';
import { validated } from '../validated.ts';
import { hashField, time } from '../wire/fields.ts';

// `POST /api/console/links`: signed image addresses and a short playback token for the console, whose page has no
// secret. The route exists only where the console does and the process delivers too: a server of the surface `api`
// alone does not have the secrets that sign.

/** Addresses expire at full quarters of an hour, so that a page that asks again gets the same, which is cached. */
const imageStepSec = 15 * 60;

const consoleLinksSchema = z
  .object({
    images: z
      .array(
        z.object({
          key: z
            .string()
            .describe('The key of the image.')
            .meta({ examples: ['images/9e/photo-1/daf4f904f14ca0cd/small.webp'] }),
          path: z
            .string()
            .describe('Where it is shown, relative to the server.')
            .meta({
              examples: ['/thumb/Zm9yLWV4YW1wbGUtb25seQ/aW1hZ2VzLzllL3Bob3RvLTEvc21hbGwud2VicA?exp=1789000200'],
            }),
          expires_at: time.describe('Until when the path is valid.'),
        }),
      )
      .describe('One for each image that was asked for, in order.'),
    playback: z
      .object({
        hash: hashField,
        token: z
          .string()
          .describe('The playback token.')
          .meta({ examples: ['payload.signature'] }),
        ticket: z
          .string()
          .nullable()
          .describe('The ticket of a signed stream, valid as long; null for an open one.')
          .meta({ examples: [null] }),
        expires_at: time.describe('Until when it is valid.'),
      })
      .nullable()
      .describe('The token of the stream; null where none was asked for.'),
  })
  .register(answers, { id: 'ConsoleLinks' });

const consoleLinksBodySchema = z
  .strictObject({
    images: z.array(thumbRequestSchema).max(100).default([]).describe('The images to show.'),
    playback: mediaHashSchema.optional().describe('The hash of the stream to play.'),
    playback_expires_in_sec: z
      .int()
      .min(60)
      .max(604_800)
      .default(600)
      .describe('How long its token is valid, in seconds: a minute to a week.'),
  })
  .register(bodies, { id: 'ConsoleLinksRequest' });

const doc: RouteDoc = {
  tag: 'Console',
  operationId: 'signConsoleLinks',
  right: 'read',
  subject: 'own',
  summary: 'Sign addresses of images and a playback token',
  description:
    'For the console: each image gets a `/thumb` path that is valid for 15 to 30 minutes, and `playback`, the hash of a stream, a playback token for `playback_expires_in_sec`, by default ten minutes and at most a week, with a ticket where the media is signed. At most 120 requests a minute for each API key.',
  credential: 'api_key',
  isLimited: true,
  body: {
    schema: consoleLinksBodySchema,
    isRequired: true,
    example: { images: [{ key: 'images/9e/photo-1/daf4f904f14ca0cd/small.webp', w: 320 }], playback: 'movie-1' },
  },
  answers: {
    200: { description: 'The links, the images in the order of the request.', schemas: [consoleLinksSchema] },
  },
  problems: [],
};

type LinkDependencies = Pick<ApiDependencies, 'clock' | 'config' | 'log' | 'playbacks'> & { readonly guards: Guards };

export function addConsoleLinkRoute(app: FastifyInstance, dependencies: LinkDependencies): void {
  const { clock, config, log, guards } = dependencies;
  if (!config.surfaces.has('delivery')) return;
  const [thumbSecret = ''] = thumbSecretsOf(config.thumbSecrets, config.keyTokenSecret);
  app.post(
    '/api/console/links',
    { config: { doc }, onRequest: guards.limitedByLinks },
    async (request, reply): Promise<z.output<typeof consoleLinksSchema>> => {
      const {
        images,
        playback,
        playback_expires_in_sec: lifetimeSec,
      } = validated(consoleLinksBodySchema, request.body);
      requireOwn(request, [...images.map(({ key }) => hashOfKey(key)), ...(playback === undefined ? [] : [playback])]);
      const nowSec = Math.floor(clock().getTime() / 1000);
      const exp = (Math.floor(nowSec / imageStepSec) + 2) * imageStepSec;
      const expiresAt = new Date(exp * 1000).toISOString();
      reply.header('cache-control', 'no-store');
      if (playback !== undefined) {
        const subject = { hash: playback, expires_in_sec: lifetimeSec };
        log.info({ ...subject, ...callerOf(request) }, 'playback token issued');
      }
      return {
        images: images.map(({ key, ...query }) => ({
          key,
          path: signThumbPath(key, { ...query, exp }, thumbSecret),
          expires_at: expiresAt,
        })),
        playback: playback === undefined ? null : await linkOf(playback, nowSec + lifetimeSec, dependencies),
      };
    },
  );
}

/** @throws KnownProblem `forbidden` where a key with a prefix asks for what is not below it */
function requireOwn(request: FastifyRequest, hashes: readonly string[]): void {
  const key = apiKeyOf(request);
  if (key !== null) for (const hash of hashes) requireHash(key, hash);
}

async function linkOf(
  hash: string,
  exp: number,
  { config, playbacks }: LinkDependencies,
): Promise<NonNullable<z.output<typeof consoleLinksSchema>['playback']>> {
  const [secret] = config.streamSecrets;
  const { mode, generation } = await playbacks.find(hash);
  const isSigned = mode === 'signed' && secret !== undefined;
  return {
    hash,
    token: signPlaybackToken({ hash, exp }, config.keyTokenSecret),
    ticket: isSigned ? signStreamTicket({ hash, exp, generation }, secret) : null,
    expires_at: new Date(exp * 1000).toISOString(),
  };
}

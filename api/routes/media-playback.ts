import type { FastifyInstance, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import { mediaHashSchema } from '#domain/jobs/submission.ts';
import { playbackQuerySchema } from '#domain/playback/playback-query.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Guards } from '../hooks/guards.ts';
import { validated } from '../validated.ts';
import { playbackDaysSchema, playbackToWire } from '../wire/playback.ts';

const doc: RouteDoc = {
  tag: 'Media',
  credential: 'api_key',
  path: { hash: 'The media.' },
  operationId: 'listMediaPlayback',
  right: 'read',
  subject: 'media',
  summary: 'List how a media played, by day',
  description:
    'By day (UTC), the newest first, what players said of their state by CMCD, where `PLAYBACK_FIGURES` is on. `sessions` is an estimate, and figures may be ten seconds old. A day without any is left out.',
  query: playbackQuerySchema,
  answers: { 200: { description: 'The days.', schemas: [playbackDaysSchema] } },
  problems: ['not_found', 'invalid_request'],
};

type PlaybackRequest = FastifyRequest<{ Params: { hash: string } }>;
type PlaybackRouteDependencies = Pick<ApiDependencies, 'library' | 'playbackDays'> & { readonly guards: Guards };

/** `GET /api/media/{hash}/playback` (C34.6). */
export function addMediaPlaybackRoute(
  app: FastifyInstance,
  { guards, library, playbackDays }: PlaybackRouteDependencies,
): void {
  app.get(
    '/api/media/:hash/playback',
    { onRequest: guards.authenticated, config: { doc } },
    async ({ params, query }: PlaybackRequest): Promise<z.output<typeof playbackDaysSchema>> => {
      const hash = mediaHashSchema.safeParse(params.hash);
      if (!hash.success || !(await library.isKnown(hash.data)))
        throw new KnownProblem('not_found', 'There is no media with this hash.');
      const { days } = validated(playbackQuerySchema, query);
      return playbackToWire(await playbackDays.find(hash.data, days));
    },
  );
}

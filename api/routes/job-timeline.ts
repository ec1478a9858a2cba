import type { FastifyInstance } from 'fastify';
import type { z } from 'zod';
import { KnownProblem } from '#domain/errors.ts';
import { jobTimeline } from '#platform/postgres/job-timeline.ts';
import type { RouteDoc } from '#platform/http/route-doc.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Guards } from '../hooks/guards.ts';
import { jobTimelineSchema, timelineToWire } from '../wire/timeline.ts';

const doc: RouteDoc = {
  tag: 'Jobs',
  operationId: 'getTimeline',
  right: 'read',
  subject: 'job',
  summary: 'Show what a job waited for, ran and used',
  description:
    'Its attempts that were claimed, the newest 20, and of each the units and steps once it has ended. What is not known is null or left out: `processor_ms` of a step that was killed, or the steps of an attempt whose worker was lost.',
  credential: 'api_key',
  path: { id: 'The job, a UUID.' },
  answers: { 200: { description: 'The timeline.', schemas: [jobTimelineSchema] } },
  problems: ['not_found', 'busy'],
};

/** `GET /api/jobs/{id}/timeline`. */
export function addJobTimelineRoute(
  app: FastifyInstance,
  { guards, listDatabase }: Pick<ApiDependencies, 'listDatabase'> & { readonly guards: Guards },
): void {
  app.get<{ Params: { id: string } }>(
    '/api/jobs/:id/timeline',
    { onRequest: guards.authenticated, config: { doc } },
    async ({ params }): Promise<z.output<typeof jobTimelineSchema>> => {
      const timeline = await jobTimeline(listDatabase, params.id);
      if (timeline === null) throw new KnownProblem('not_found', 'There is no such job.');
      return timelineToWire(timeline);
    },
  );
}

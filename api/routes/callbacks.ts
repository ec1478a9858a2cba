import type { FastifyInstance, FastifyRequest } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';
import type { CallbackStore } from '#platform/postgres/callback-store.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Guards } from '../hooks/guards.ts';
import { callbacksToWire } from '../wire/job.ts';
import { findJob, refuseFields } from './jobs.ts';
import * as docs from './jobs.doc.ts';

type CallbacksRequest = FastifyRequest<{ Params: { id: string } }>;

/** `GET /api/jobs/{id}/callbacks` and `POST …/callbacks/redeliver` (decisions.md, "beyond the specification"). */
export function addCallbackRoutes(
  app: FastifyInstance,
  d: Pick<ApiDependencies, 'jobs' | 'clock'> & { readonly guards: Guards; readonly callbacks: CallbackStore },
): void {
  const onRequest = d.guards.authenticated;

  app.get(
    '/api/jobs/:id/callbacks',
    { onRequest, config: { doc: docs.callbacks } },
    async (request: CallbacksRequest) => {
      const job = await findJob(d, request.params.id);
      return callbacksToWire(job, await d.callbacks.find(job.id));
    },
  );

  app.post(
    '/api/jobs/:id/callbacks/redeliver',
    { onRequest, config: { doc: docs.redeliver } },
    async (request: CallbacksRequest, reply) => {
      refuseFields(request);
      const job = await findJob(d, request.params.id);
      const outcome = await d.callbacks.redeliver(job.id, d.clock());
      if (outcome === 'not_found') throw new KnownProblem('conflict', 'The job has no webhook to deliver.');
      if (outcome === 'under_way') throw new KnownProblem('conflict', 'The webhook is being delivered.');
      return reply.code(202).send(callbacksToWire(job, await d.callbacks.find(job.id)));
    },
  );
}

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';
import type { CallbackStore } from '#platform/postgres/callback-store.ts';
import { audit } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Guards } from '../hooks/guards.ts';
import { webhookToWire } from '../wire/job.ts';
import { findJob, refuseFields } from './jobs.ts';
import * as docs from './jobs.doc.ts';

type WebhookRequest = FastifyRequest<{ Params: { id: string } }>;
type WebhookRouteDependencies = Pick<ApiDependencies, 'jobs' | 'log'> & {
  readonly guards: Guards;
  readonly webhooks: CallbackStore;
};

/** `GET /api/jobs/{id}/callbacks` and `POST …/callbacks/redeliver` (C21.21, C21.22). */
export function addWebhookRoutes(app: FastifyInstance, dependencies: WebhookRouteDependencies): void {
  const { guards, webhooks, log } = dependencies;
  const onRequest = guards.authenticated;

  app.get(
    '/api/jobs/:id/callbacks',
    { onRequest, config: { doc: docs.callbacks } },
    async (request: WebhookRequest) => {
      const job = await findJob(dependencies, request.params.id);
      return webhookToWire(job, await webhooks.find(job.id));
    },
  );

  app.post(
    '/api/jobs/:id/callbacks/redeliver',
    { onRequest, config: { doc: docs.redeliver } },
    async (request: WebhookRequest, reply) => {
      refuseFields(request);
      const job = await findJob(dependencies, request.params.id);
      const outcome = await webhooks.redeliver(job.id);
      if (outcome === 'not_found') throw new KnownProblem('conflict', 'The job has no webhook to deliver.');
      if (outcome === 'under_way') throw new KnownProblem('conflict', 'The webhook is being delivered.');
      audit(log, request, { what: 'webhook redelivered', jobId: job.id });
      return reply.code(202).send(webhookToWire(job, await webhooks.find(job.id)));
    },
  );
}

import type { FastifyInstance, FastifyRequest } from 'fastify';
import { KnownProblem } from '#domain/errors.ts';
import { z } from 'zod';
import { isKnownToBeAllowed } from '#platform/outbound-http/callback-address.ts';
import type { CallbackStore } from '#platform/postgres/callback-store.ts';
import { failedWebhooks } from '#platform/postgres/failed-webhooks.ts';
import { audit } from '../audit.ts';
import type { ApiDependencies } from '../dependencies.ts';
import type { Guards } from '../hooks/guards.ts';
import { readJobCursor, writeJobCursor } from '../job-cursor.ts';
import { validated } from '../validated.ts';
import { webhookToWire } from '../wire/job.ts';
import {
  failedWebhookQuerySchema,
  failedWebhookToWire,
  webhookTestBodySchema,
  webhookTestToWire,
} from '../wire/webhook.ts';
import { findJob, refuseFields } from './jobs.ts';
import * as docs from './jobs.doc.ts';
import * as listDocs from './webhooks.doc.ts';

type WebhookRequest = FastifyRequest<{ Params: { id: string } }>;
type WebhookRouteDependencies = Pick<
  ApiDependencies,
  'jobs' | 'log' | 'listDatabase' | 'config' | 'randomUuid' | 'clock'
> & {
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

const addressRefused = {
  pointer: '/url',
  code: 'address_refused',
  detail: 'must lead to a public address or to a network that WEBHOOK_ALLOWED_CIDRS names',
};

/** `GET /api/callbacks`, `POST /api/callbacks/test` and `GET /api/callbacks/test/{id}` (C31.22, C31.23). */
export function addWebhookListRoutes(app: FastifyInstance, dependencies: WebhookRouteDependencies): void {
  const { guards, webhooks, listDatabase, config, randomUuid, clock } = dependencies;

  app.get('/api/callbacks', { onRequest: guards.authenticated, config: { doc: listDocs.failed } }, async (request) => {
    const { cursor, limit } = validated(failedWebhookQuerySchema, request.query);
    const after = cursor === undefined ? null : readJobCursor(cursor);
    // One more than is shown: it exists when there is another page.
    const found = await failedWebhooks(listDatabase, { after, limit: limit + 1 });
    const last = found.length > limit ? found[limit - 1] : undefined;
    return {
      callbacks: found.slice(0, limit).map(failedWebhookToWire),
      next_cursor: last === undefined ? null : writeJobCursor({ createdAt: last.failedAt, id: last.jobId }),
    };
  });

  app.post(
    '/api/callbacks/test',
    { onRequest: guards.limited, config: { doc: listDocs.test } },
    async (request, reply) => {
      const { url } = validated(webhookTestBodySchema, request.body);
      if (!isKnownToBeAllowed(new URL(url), config.webhookAllowedCidrs))
        throw new KnownProblem('invalid_request', undefined, { faults: [addressRefused] });
      const eventId = randomUuid();
      const body = { event_id: eventId, occurred_at: clock().toISOString(), event: 'webhook.test' };
      await webhooks.insertTest({ eventId, url, body: JSON.stringify(body) });
      return reply
        .code(202)
        .header('location', `/api/callbacks/test/${eventId}`)
        .send(webhookTestToWire(eventId, { url, status: 'pending', attempt: null }));
    },
  );

  app.get(
    '/api/callbacks/test/:id',
    { onRequest: guards.authenticated, config: { doc: listDocs.findTest } },
    async (request: WebhookRequest) => {
      const { id } = request.params;
      const found = z.uuid().safeParse(id).success ? await webhooks.findTest(id) : null;
      if (found === null) throw new KnownProblem('not_found', 'There is no such test of a webhook.');
      return webhookTestToWire(id, found);
    },
  );
}

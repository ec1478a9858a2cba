import type { RouteDoc } from '#platform/http/route-doc.ts';
import {
  failedWebhookQuerySchema,
  failedWebhooksSchema,
  webhookTestBodySchema,
  webhookTestSchema,
} from '../wire/webhook.ts';

// Documentation of the routes about webhooks of many jobs in the OpenAPI document.

const shared = { tag: 'Callbacks', credential: 'api_key' } as const;

export const failed: RouteDoc = {
  ...shared,
  operationId: 'listFailedCallbacks',
  right: 'read',
  subject: 'everything',
  summary: 'List the webhooks that were not delivered, the latest failure first',
  description: 'One that is delivered again is not among them, unless that fails too.',
  query: failedWebhookQuerySchema,
  answers: { 200: { description: 'One page.', schemas: [failedWebhooksSchema] } },
  problems: ['invalid_request', 'busy'],
};

export const test: RouteDoc = {
  ...shared,
  operationId: 'testCallback',
  right: 'submit',
  subject: 'nothing',
  isLimited: true,
  summary: 'Try a receiver of webhooks',
  description:
    'Sends one event `{"event_id", "occurred_at", "event": "webhook.test"}`, signed like the webhooks of jobs, by one attempt.',
  body: { schema: webhookTestBodySchema, isRequired: true, example: { url: 'https://example.com/hooks/media' } },
  answers: { 202: { description: 'The event is about to be sent.', schemas: [webhookTestSchema] } },
  problems: ['invalid_request'],
};

export const findTest: RouteDoc = {
  ...shared,
  operationId: 'getCallbackTest',
  right: 'read',
  subject: 'nothing',
  summary: 'Get what became of a test of a receiver',
  path: { id: 'The `event_id` of the test.' },
  answers: { 200: { description: 'The test.', schemas: [webhookTestSchema] } },
  problems: ['not_found', 'invalid_request'],
};

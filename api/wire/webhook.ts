import { z } from 'zod';
import { callerUrlSchema } from '#domain/jobs/submission.ts';
import { answers, bodies } from '#platform/http/route-doc.ts';
import type { WebhookTest } from '#platform/postgres/callback-store.ts';
import type { FailedWebhook } from '#platform/postgres/failed-webhooks.ts';
import { count, hashField, jobIdField, jobTypeField, nextCursorField, pageQuery, time } from './fields.ts';

// The shapes of lists and tests of webhooks on the wire.

const url = z
  .string()
  .describe('The receiver.')
  .meta({ examples: ['https://example.com/hooks/media'] });
const statusCode = z
  .int()
  .nullable()
  .describe('The status of the last answer; null without one.')
  .meta({ examples: [503] });
const error = z
  .string()
  .nullable()
  .describe('Why the last attempt failed; null where it did not, or there was none.')
  .meta({ examples: ['the receiver answered 503'] });

export const failedWebhookQuerySchema = z.strictObject(pageQuery);

const failedWebhookSchema = z.object({
  job_id: jobIdField,
  type: jobTypeField,
  hash: hashField,
  url,
  failed_at: time.describe('When its last attempt had failed.'),
  attempts: count.describe('How many attempts its delivery had.').meta({ examples: [5] }),
  status_code: statusCode,
  error,
});
export const failedWebhooksSchema = z
  .object({
    callbacks: z.array(failedWebhookSchema).describe('The webhooks, the latest failure first.'),
    next_cursor: nextCursorField,
  })
  .register(answers, { id: 'FailedCallbacks' });

export const webhookTestBodySchema = z
  .strictObject({
    url: callerUrlSchema.describe('The receiver.').meta({ examples: ['https://example.com/hooks/media'] }),
  })
  .register(bodies, { id: 'CallbackTestRequest' });

export const webhookTestSchema = z
  .object({
    event_id: z.uuid().describe('The event, which the header `webhook-id` has.'),
    url,
    status: z.enum(['pending', 'sent', 'failed']).describe('What became of its one attempt.'),
    status_code: statusCode,
    error,
    duration_ms: count
      .nullable()
      .describe('How long the attempt took, in milliseconds; null before.')
      .meta({ examples: [84] }),
  })
  .register(answers, { id: 'CallbackTest' });

export const failedWebhookToWire = (failed: FailedWebhook): z.output<typeof failedWebhookSchema> => ({
  job_id: failed.jobId,
  type: failed.type,
  hash: failed.hash,
  url: failed.url,
  failed_at: failed.failedAt.toISOString(),
  attempts: failed.attempts,
  status_code: failed.statusCode,
  error: failed.error,
});

export const webhookTestToWire = (
  eventId: string,
  { url: receiver, status, attempt }: WebhookTest,
): z.output<typeof webhookTestSchema> => ({
  event_id: eventId,
  url: receiver,
  status,
  status_code: attempt?.statusCode ?? null,
  error: attempt?.error ?? null,
  duration_ms: attempt?.durationMs ?? null,
});

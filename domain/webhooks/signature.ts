import { createHmac } from 'node:crypto';

interface Sent {
  /** The exact bytes of the body. */
  readonly body: string;
  /** Stable for the event, the same at every attempt. */
  readonly eventId: string;
  /** Of this attempt, Unix seconds. */
  readonly timestampSec: number;
}

/**
 * The signature headers of one attempt (C5.13, C5.14): `X-Signature`
 * over the body alone, and those of Standard Webhooks, with `WEBHOOK_SECRET`'s own bytes as the key of both.
 */
export function webhookSignatureHeaders({ body, eventId, timestampSec }: Sent, secret: string): Record<string, string> {
  const standard = createHmac('sha256', secret).update(`${eventId}.${timestampSec}.${body}`).digest('base64');
  return {
    'x-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    'webhook-id': eventId,
    'webhook-timestamp': String(timestampSec),
    'webhook-signature': `v1,${standard}`,
  };
}

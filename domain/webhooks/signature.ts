import { createHmac } from 'node:crypto';

interface Sent {
  /** The exact bytes of the body. */
  readonly body: string;
  /** Stable for the event, the same at every attempt. */
  readonly eventId: string;
  /** The time of this attempt, in Unix seconds. */
  readonly timestampSec: number;
}

/**
 * The signature headers of one attempt (C21.5, C21.6): `X-Signature` over the body alone, and the headers of Standard
 * Webhooks. The key of both is the text of `WEBHOOK_SECRET`; but a secret `whsec_<base64>` (Standard Webhooks) is
 * decoded for `webhook-signature`.
 */
export function webhookSignatureHeaders({ body, eventId, timestampSec }: Sent, secret: string): Record<string, string> {
  const standard = createHmac('sha256', standardKeyOf(secret))
    .update(`${eventId}.${timestampSec}.${body}`)
    .digest('base64');
  return {
    'x-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
    'webhook-id': eventId,
    'webhook-timestamp': String(timestampSec),
    'webhook-signature': `v1,${standard}`,
  };
}

function standardKeyOf(secret: string): string | Buffer {
  const encoded = /^whsec_([A-Za-z0-9+/]+={0,2})$/.exec(secret)?.[1];
  return encoded === undefined ? secret : Buffer.from(encoded, 'base64');
}

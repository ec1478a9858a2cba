import { createHmac } from 'node:crypto';
import { describe, expect, it } from 'vitest';
import { Webhook } from 'standardwebhooks';
import { webhookBody } from './event-body.ts';
import { webhookSignatureHeaders } from './signature.ts';

const secret = 'a webhook secret';
const job = {
  id: '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10',
  type: 'video:cover',
  hash: 'clip-é',
  status: 'failed',
  results: null,
  error: { code: 'internal', message: 'x', retryable: false, attempt: 1 },
} as const;
const event = { eventId: 'b0b1b2b3-0000-4000-8000-000000000001', occurredAt: new Date('2026-11-01T12:00:00.000Z') };

describe('the body of a webhook', () => {
  it('the body of a webhook has the five specified fields, the event, and the error of a job that did not complete', () => {
    expect(JSON.parse(webhookBody(job, event))).toEqual({
      event_id: event.eventId,
      occurred_at: '2026-11-01T12:00:00.000Z',
      job_id: job.id,
      type: 'video:cover',
      hash: 'clip-é',
      status: 'failed',
      results: null,
      error: job.error,
    });
    const results = { key: 'videos/x', format: 'jpg', size: 1, width: 1, height: 1, timestamp_sec: 0 } as const;
    const body = webhookBody({ ...job, status: 'completed', results, error: null }, event);
    expect(JSON.parse(body)).not.toHaveProperty('error');
  });
});

describe('the signatures of a webhook', () => {
  // Unix time of now, since the verifying package refuses what is older than five minutes.
  const timestampSec = Math.floor(Date.now() / 1000);
  const body = webhookBody(job, event);
  const headers = webhookSignatureHeaders({ body, eventId: event.eventId, timestampSec }, secret);

  const verify = (text: string, changed: Record<string, string> = {}, key = secret) =>
    new Webhook(Buffer.from(key).toString('base64')).verify(text, { ...headers, ...changed });

  it('X-Signature is the hex HMAC-SHA256 of exactly the body bytes', () => {
    // `printf '{"a":"é"}' | openssl dgst -sha256 -hmac 'a webhook secret'`
    const known = webhookSignatureHeaders({ body: '{"a":"é"}', eventId: 'e', timestampSec: 1 }, secret);
    expect(known['x-signature']).toBe('sha256=502354479a274147a2c4b9ab736686da881faab0fc9e2550b8fb1d5e2901ecb5');
  });

  it('the headers of a delivery are the four documented ones', () => {
    expect(webhookSignatureHeaders({ body: '{}', eventId: 'e', timestampSec: 1 }, 'k')).toEqual({
      'x-signature': expect.stringMatching(/^sha256=[0-9a-f]{64}$/),
      'webhook-id': 'e',
      'webhook-timestamp': '1',
      'webhook-signature': expect.stringMatching(/^v1,[A-Za-z0-9+/]{43}=$/),
    });
  });

  it.each(['whsec_', 'whsec_a-b', 'my whsec_abcd', 'whsec_abcd secret', 'whsec_abcd==='])(
    'the secret %s has not the form of Standard Webhooks, so its text is the key',
    (text) => {
      const standard = createHmac('sha256', text).update('e.1.{}').digest('base64');
      const signed = webhookSignatureHeaders({ body: '{}', eventId: 'e', timestampSec: 1 }, text);
      expect(signed['webhook-signature']).toBe(`v1,${standard}`);
    },
  );

  it.each(['YWJj', 'YWI=', 'YQ=='])('the secret whsec_%s is decoded, with padding and without', (encoded) => {
    const standard = createHmac('sha256', Buffer.from(encoded, 'base64')).update('e.1.{}').digest('base64');
    const signed = webhookSignatureHeaders({ body: '{}', eventId: 'e', timestampSec: 1 }, `whsec_${encoded}`);
    expect(signed['webhook-signature']).toBe(`v1,${standard}`);
  });

  it('a secret of the form whsec_ is accepted by the standardwebhooks package as configured, and X-Signature uses its text', () => {
    const configured = `whsec_${Buffer.from('a webhook secret of 32 bytes ...').toString('base64')}`;
    const signed = webhookSignatureHeaders({ body, eventId: event.eventId, timestampSec }, configured);
    expect(new Webhook(configured).verify(body, signed)).toEqual(JSON.parse(body));
    const plain = createHmac('sha256', configured).update(body).digest('hex');
    expect(signed['x-signature']).toBe(`sha256=${plain}`);
  });

  it('the signatures of a webhook are verified by the standardwebhooks package, and not for another body, id, time or secret', () => {
    expect(verify(body)).toMatchObject({ job_id: job.id });
    expect(() => verify(`${body} `)).toThrow();
    expect(() => verify(body, { 'webhook-id': 'another' })).toThrow();
    expect(() => verify(body, { 'webhook-timestamp': String(timestampSec + 1) })).toThrow();
    expect(() => verify(body, {}, 'another secret')).toThrow();
  });
});

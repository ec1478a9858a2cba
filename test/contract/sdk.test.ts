import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { verifyWebhook } from '../../clients/typescript/src/server.ts';
import type { StageService } from '../../testing/stage/service.ts';
import { onStage } from '../../testing/stage/stage.ts';
import { startWebhookReceiver, type WebhookReceiver } from '../../testing/webhook-receiver.ts';
import { routesNotIn, runScenario, variablesFor } from './client-scenario.ts';

// The TypeScript client against the program of the stage: every method that has a route, in one process with the test.
// As the package that npm would have: sdk-package.deep.test.ts.

let service: StageService;
let receiver: WebhookReceiver;

beforeAll(async () => {
  if (!inject('postgres')) return;
  receiver = await startWebhookReceiver();
  service = await onStage('service');
});
afterAll(() => receiver?.close());

describe.skipIf(!inject('postgres'))('the TypeScript client', () => {
  it('the TypeScript client runs the scenario, which calls every route that it has a method for', async () => {
    expect(await routesNotIn(service, await runScenario(variablesFor('ts', service, receiver.url)))).toEqual([]);
  });
});

it('a secret of Standard Webhooks verifies too, an old webhook does not', async () => {
  const { webhookSignatureHeaders } = await import('#domain/webhooks/signature.ts');
  const body = '{"type":"video:cover"}';
  for (const secret of [`whsec_${btoa('a secret of the tests')}`, 'whsec_ not base64', 'plain']) {
    const sent = { body, eventId: 'e', timestampSec: Math.floor(Date.now() / 1000) };
    const headers = new Headers(webhookSignatureHeaders(sent, secret));
    expect(await verifyWebhook({ headers, body, secret })).toEqual({ type: 'video:cover' });
    const old = webhookSignatureHeaders({ ...sent, timestampSec: 1 }, secret);
    await expect(verifyWebhook({ headers: old, body, secret })).rejects.toThrow('clock');
  }
});

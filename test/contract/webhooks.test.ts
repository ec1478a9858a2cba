import { createHmac, randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Webhook } from 'standardwebhooks';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import { CallbackStore } from '#platform/postgres/callback-store.ts';
import { openRig, type Rig, until } from '../../testing/controller-rig.ts';

// docs/reference/contract.md, "Webhooks", at a real receiver. Beside this: test/integration/controller-webhooks.test.ts
// (410, Retry-After, addresses that are refused, many senders), test/integration/controller-outbound-http.test.ts
// (redirects, pinned addresses), test/faults/submission-killed.deep.test.ts (a sender that is killed before and
// after it has sent).

interface Received {
  readonly method: string | undefined;
  readonly path: string | undefined;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly at: number;
}

type Answer = (response: ServerResponse) => void;

const secret = 'a webhook secret of the tests';
const status =
  (code: number): Answer =>
  (response) =>
    void response.writeHead(code, { location: '/elsewhere' }).end();

/** Answers each path as the test says; 200 by default. */
async function startReceiver() {
  const received: Received[] = [];
  const answers = new Map<string, Answer>();
  const server: Server = createServer((request, response) => {
    let body = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
    request.on('end', () => {
      const { method, url: path, headers } = request;
      received.push({ method, path, headers, body, at: Date.now() });
      (answers.get(path ?? '') ?? status(200))(response);
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const origin = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    received,
    of: (path: string) => received.filter((one) => one.path === path),
    url: (path: string, answer: Answer = status(200)) => {
      answers.set(path, answer);
      return `${origin}${path}`;
    },
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

describe.skipIf(!inject('postgres'))('webhooks', () => {
  let rig: Rig;
  let receiver: Awaited<ReturnType<typeof startReceiver>>;

  beforeAll(async () => {
    receiver = await startReceiver();
  });
  afterAll(() => receiver.close());
  afterEach(async () => {
    await rig.close();
    receiver.received.length = 0;
  });

  const open = async (backoff = '0s,100ms,200ms,400ms,800ms') => {
    rig = await openRig({ WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8', WEBHOOK_BACKOFF: backoff });
    return rig.startWorker();
  };
  const reaches = (id: string, callbackStatus: 'sent' | 'callback_failed', timeoutMs = 60_000) =>
    until(
      () => rig.find(id),
      (job) => job.callbackStatus === callbackStatus,
      timeoutMs,
    );
  /** Ends a job without running it: what follows is the sender's alone. */
  async function failed(callbackUrl: string): Promise<string> {
    const id = await rig.submit('ok', { ticket: false, callbackUrl });
    const end = { results: null, error: jobErrorOf('no_video_stream', 1), eventId: randomUUID(), now: new Date() };
    await rig.jobs.finish({ jobId: id, attempt: 1, status: 'failed', ...end });
    return id;
  }
  const attemptsOf = async (id: string) => {
    const { rows } = await rig.database.pool.query<{ duration_ms: number; error: string }>(
      `select duration_ms, error from webhook_attempts a join webhook_events e on e.id = a.event_id where job_id = $1`,
      [id],
    );
    return rows;
  };

  it('C21.1, C21.4: completed and failed jobs with a callback_url send one event, and no other job does', async () => {
    await open();
    const completed = await rig.submit('ok', { callbackUrl: receiver.url('/completed') });
    const failing = await rig.submit('exit-10', { callbackUrl: receiver.url('/failed') });
    const silent = await rig.submit('ok');
    await Promise.all([reaches(completed, 'sent'), reaches(failing, 'sent'), rig.finished(silent)]);
    const events = await rig.database.pool.query('select 1 from webhook_events');
    expect(events.rowCount).toBe(2);
    expect(new Set(receiver.received.map(({ path }) => path))).toEqual(new Set(['/completed', '/failed']));
    expect(receiver.received).toHaveLength(2);
    expect(receiver.of('/completed').map(({ body }) => JSON.parse(body) as object)).toMatchObject([
      { job_id: completed, status: 'completed' },
    ]);
    expect(receiver.of('/failed').map(({ body }) => JSON.parse(body) as object)).toMatchObject([
      { job_id: failing, status: 'failed', results: null, error: { code: 'corrupt_input' } },
    ]);
    expect((await rig.find(silent)).callbackStatus).toBeNull();
  });

  it('C21.2, C21.3, C21.5, C21.6: a webhook is a POST with the documented headers and body, and both signatures hold', async () => {
    await open();
    const trace = { traceparent: `00-${'ab'.repeat(16)}-b7ad6b7169203331-01`, tracestate: 'vendor=1' };
    const id = await rig.submit('ok', { callbackUrl: receiver.url('/hook?of=me'), trace });
    const job = await reaches(id, 'sent');
    const [{ method, path, headers, body }] = receiver.received as [Received];
    expect([method, path]).toEqual(['POST', '/hook?of=me']);
    expect(headers).toMatchObject({
      'content-type': 'application/json',
      'x-signature': `sha256=${createHmac('sha256', secret).update(body).digest('hex')}`,
      traceparent: expect.stringMatching(new RegExp(`^00-${'ab'.repeat(16)}-[0-9a-f]{16}-01$`)) as string,
      tracestate: 'vendor=1',
      'x-trace-id': 'ab'.repeat(16),
    });
    const { event_id: eventId, occurred_at: occurredAt, ...specified } = JSON.parse(body) as Record<string, unknown>;
    const { type, hash, results } = job;
    expect(specified).toEqual({ job_id: id, type, hash, status: 'completed', results });
    expect([headers['webhook-id'], new Date(String(occurredAt)).toISOString()]).toEqual([eventId, occurredAt]);
    const standard = Object.fromEntries(
      ['webhook-id', 'webhook-timestamp', 'webhook-signature'].map((name) => [name, String(headers[name])]),
    );
    const webhook = new Webhook(Buffer.from(secret).toString('base64'));
    expect(webhook.verify(body, standard)).toMatchObject({ job_id: id });
    expect(() => webhook.verify(body.replace('completed', 'failed'), standard)).toThrow('No matching signature found');
  });

  it('C21.9, C21.14, C21.20: any 2xx is success, and a redirect is not followed', async () => {
    await open('0s');
    const codes = {
      sent: [200, 201, 202, 204, 206, 226, 299],
      callback_failed: [300, 302, 304, 400, 401, 404, 500, 503],
    };
    for (const outcome of ['sent', 'callback_failed'] as const) {
      const ids = await Promise.all(codes[outcome].map((code) => failed(receiver.url(`/${code}`, status(code)))));
      await Promise.all(ids.map((id) => reaches(id, outcome)));
    }
    expect(receiver.received).toHaveLength(codes.sent.length + codes.callback_failed.length);
  });

  it('C21.10: an attempt ends after ten seconds, whether no answer comes or its headers never end', async () => {
    await open('0s');
    const silent = failed(receiver.url('/silent', () => undefined));
    const dripping = receiver.url('/dripping', (response) => {
      // Bytes of a header that never ends: the connection is alive all the time.
      response.socket?.write('HTTP/1.1 200 OK\r\nx-slow: ');
      const drip = setInterval(() => response.socket?.write('x'), 500);
      response.socket?.on('close', () => clearInterval(drip));
    });
    for (const id of await Promise.all([silent, failed(dripping)])) {
      await reaches(id, 'callback_failed', 30_000);
      const [attempt] = await attemptsOf(id);
      expect(attempt?.error).toMatch(/no answer|time/);
      expect(attempt?.duration_ms).toBeGreaterThanOrEqual(9_500);
      expect(attempt?.duration_ms).toBeLessThan(12_000);
    }
  });

  it('C21.9: the status of an endless answer decides, and the answer is cut off', async () => {
    await open('0s');
    let isOpen = true;
    const endless = receiver.url('/endless', (response) => {
      response.writeHead(200);
      const pour = () => {
        while (!response.destroyed && response.write(Buffer.alloc(65_536)));
      };
      response.on('drain', pour).on('close', () => (isOpen = false));
      pour();
    });
    await reaches(await failed(endless), 'sent', 5_000);
    await until(
      () => isOpen,
      (still) => !still,
      2_000,
    );
  });

  it('C21.11, C21.7, C21.20: five attempts are made with growing waits, and then callback_status is callback_failed', async () => {
    const { metrics } = await open();
    const id = await failed(receiver.url('/down', status(500)));
    await reaches(id, 'callback_failed', 30_000);
    const text = await metrics.registry.metrics();
    expect(text).toContain('svc_webhook_attempts_total{outcome="retried"} 4');
    expect(text).toContain('svc_webhook_attempts_total{outcome="failed"} 1');
    expect(text).toContain('svc_webhook_delay_seconds_count 5');
    expect((await attemptsOf(id)).map(({ error }) => error)).toEqual(Array(5).fill('the receiver answered 500'));
    const attempts = receiver.of('/down');
    expect(attempts).toHaveLength(5);
    const waits = attempts.slice(1).map(({ at }, index) => at - (attempts[index]?.at ?? 0));
    // Less 20 % of jitter.
    for (const [index, leastMs] of [80, 160, 320, 640].entries()) expect(waits[index]).toBeGreaterThanOrEqual(leastMs);
    expect(new Set(attempts.map(({ body, headers }) => `${String(headers['webhook-id'])} ${body}`)).size).toBe(1);
    // Each attempt is signed again, over its own time in seconds.
    expect(new Set(attempts.map(({ headers }) => headers['webhook-signature'])).size).toBeGreaterThan(1);
  });

  it('C21.7, C21.23: a redelivery sends the same bytes under the same id, with all its attempts before it', async () => {
    await open('0s,100ms,100ms');
    const id = await failed(receiver.url('/later', status(500)));
    await reaches(id, 'callback_failed');
    const before = receiver.of('/later');
    expect(before).toHaveLength(3);
    // Down once more, and then up.
    receiver.url('/later', (response) => status(receiver.of('/later').length < 5 ? 500 : 204)(response));
    const callbacks = new CallbackStore(rig.database);
    expect(await callbacks.redeliver(id)).toBe('begun');
    await reaches(id, 'sent');
    const all = receiver.of('/later');
    expect(all).toHaveLength(5);
    expect(new Set(all.map(({ body, headers }) => `${String(headers['webhook-id'])} ${body}`)).size).toBe(1);
    const shown = await callbacks.find(id);
    expect(shown?.attempts.map(({ attempt, statusCode }) => [attempt, statusCode])).toEqual([
      [1, 500],
      [2, 500],
      [3, 500],
      [1, 500],
      [2, 204],
    ]);
  });
});

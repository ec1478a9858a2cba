import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createServer, type IncomingHttpHeaders, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import { CallbackStore } from '#platform/postgres/callback-store.ts';
import { openRig, type Rig, until } from '../../testing/controller-rig.ts';

interface Received {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  readonly at: number;
}

describe.skipIf(!inject('postgres'))('webhooks', () => {
  let rig: Rig;
  let server: Server;
  let received: Received[];
  /** The status of each answer in turn; the last stays. */
  let answers: (number | { status: number; headers: Record<string, string> } | 'hang' | 'close')[];
  let url: string;

  beforeEach(async () => {
    rig = await openRig({ WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8', WEBHOOK_BACKOFF: '0s,100ms,200ms,300ms,400ms' });
    received = [];
    answers = [200];
    server = createServer((request, response) => {
      let body = '';
      request.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      request.on('end', () => {
        received.push({ headers: request.headers, body, at: Date.now() });
        const answer = answers.length > 1 ? answers.shift() : answers[0];
        if (answer === 'hang' || answer === undefined) return;
        if (answer === 'close') request.socket.destroy();
        else if (typeof answer === 'number') response.writeHead(answer).end();
        else response.writeHead(answer.status, answer.headers).end();
      });
    });
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  });
  afterEach(async () => {
    // First, so that a worker does not wait for an answer when it stops.
    server.closeAllConnections();
    server.close();
    await rig.close();
  });

  const callbackOf = async (id: string) => (await rig.find(id)).callbackStatus;
  const attemptsOf = async (id: string) => {
    const { rows } = await rig.database.pool.query<{
      attempt: number;
      status_code: number | null;
      error: string | null;
    }>(
      `select attempt, status_code, error from webhook_attempts a join webhook_events e on e.id = a.event_id
       where e.job_id = $1 order by a.id`,
      [id],
    );
    return rows;
  };
  /** Ends a job without running it: what follows is the sender's alone. */
  async function fail(more: { callbackUrl: string; trace?: { traceparent: string; tracestate?: string } }) {
    const id = await rig.submit('ok', { ticket: false, ...more });
    const end = { results: null, error: jobErrorOf('no_video_stream', 1), eventId: randomUUID(), now: new Date() };
    await rig.jobs.finish({ jobId: id, attempt: 1, status: 'failed', ...end });
    return { id, eventId: end.eventId };
  }

  it('C29.16: the purge hook may have a private address, which a webhook may not', async () => {
    await rig.close();
    rig = await openRig({ WEBHOOK_BACKOFF: '0s' });
    const { id } = await fail({ callbackUrl: url });
    const purge = `insert into webhook_events (id, url, body, next_attempt_at) values ($1, $2, '{}', now())`;
    await rig.database.pool.query(purge, [randomUUID(), url]);
    rig.startWorker();
    await until(
      () => callbackOf(id),
      (status) => status === 'callback_failed',
    );
    await until(
      () => Promise.resolve(received.length),
      (count) => count > 0,
    );
    expect(received.map(({ body }) => body)).toEqual(['{}']);
  });

  it('C31.23: a test of a receiver is signed, has one attempt, and is not sent to a private address', async () => {
    const store = new CallbackStore(rig.database);
    answers = [500];
    const begin = async () => {
      const eventId = randomUUID();
      await store.insertTest({ eventId, url, body: '{"event": "webhook.test"}' });
      return eventId;
    };
    const ended = (id: string) =>
      until(
        () => store.findTest(id),
        (found) => found?.status !== 'pending',
      );
    rig.startWorker();
    const eventId = await begin();
    expect(await ended(eventId)).toMatchObject({ status: 'failed', attempt: { attempt: 1, statusCode: 500 } });
    expect(received).toMatchObject([
      {
        body: '{"event": "webhook.test"}',
        headers: { 'webhook-id': eventId, 'webhook-signature': expect.any(String) },
      },
    ]);
    answers = [204];
    expect(await ended(await begin())).toMatchObject({ status: 'sent', attempt: { error: null } });
    await rig.close();
    rig = await openRig({ WEBHOOK_BACKOFF: '0s' });
    rig.startWorker();
    const refused = randomUUID();
    await new CallbackStore(rig.database).insertTest({ eventId: refused, url, body: '{}' });
    const outcome = await until(
      () => new CallbackStore(rig.database).findTest(refused),
      (found) => found?.status !== 'pending',
    );
    expect([outcome?.status, received.length]).toEqual(['failed', 2]);
  });

  it('C21.13: the answer 410 ends the attempts of a webhook', async () => {
    answers = [410];
    rig.startWorker();
    const { id } = await fail({ callbackUrl: url });
    await until(
      () => callbackOf(id),
      (status) => status === 'callback_failed',
    );
    expect(received).toHaveLength(1);
  });

  it('C21.12: the next attempt of a webhook waits for Retry-After', async () => {
    answers = [{ status: 503, headers: { 'retry-after': '2' } }, 200];
    rig.startWorker();
    const { id } = await fail({ callbackUrl: url });
    await until(
      () => callbackOf(id),
      (status) => status === 'sent',
    );
    const [first, second] = received.map(({ at }) => at) as [number, number];
    expect(second - first).toBeGreaterThanOrEqual(1_900);
  });

  it('C21.15: a webhook is not sent to an address that is not allowed', async () => {
    rig.startWorker({ webhookAllowedCidrs: [], webhookBackoffMs: [0, 50] });
    const { id } = await fail({ callbackUrl: url });
    await until(
      () => callbackOf(id),
      (status) => status === 'callback_failed',
    );
    expect(received).toHaveLength(0);
    expect(await attemptsOf(id)).toMatchObject([{ status_code: null, error: 'the address is not allowed' }, {}]);
  });

  it('C21.17: sixteen receivers that hang with twelve webhooks each delay no webhook to another receiver', async () => {
    const hanging = Array.from({ length: 16 }, () => createServer(() => undefined).listen(0, '127.0.0.1'));
    for (const one of hanging) {
      if (!one.listening) await once(one, 'listening');
      const hangingUrl = `http://127.0.0.1:${(one.address() as AddressInfo).port}/`;
      for (let count = 0; count < 12; count++) await fail({ callbackUrl: hangingUrl });
    }
    const { id } = await fail({ callbackUrl: url });
    rig.startWorker();
    await until(
      () => callbackOf(id),
      (status) => status === 'sent',
    );
    // No attempt of those that hang has ended, which takes ten seconds.
    expect((await rig.database.pool.query('select from webhook_attempts where status_code is null')).rowCount).toBe(0);
    for (const one of hanging) {
      one.closeAllConnections();
      one.close();
    }
  });

  it('C21.17: a receiver gets at most four requests at once, and all of them in the end', async () => {
    let [open, most, answered] = [0, 0, 0];
    // A receiver that answered two keeps the others until four are there, however slowly they are sent.
    const four = Promise.withResolvers<void>();
    const answer = async (response: ServerResponse) => {
      most = Math.max(most, ++open);
      if (open === 4) four.resolve();
      if (answered >= 2) await four.promise;
      await sleep(20);
      open--;
      answered++;
      response.end();
    };
    const slow = createServer((request, response) => {
      request.resume();
      void answer(response);
    }).listen(0, '127.0.0.1');
    await once(slow, 'listening');
    const slowUrl = `http://127.0.0.1:${(slow.address() as AddressInfo).port}/`;
    for (let count = 0; count < 100; count++) await fail({ callbackUrl: slowUrl });
    rig.startWorker();
    await until(
      () => answered,
      (count) => count === 100,
    );
    expect(most).toBe(4);
    slow.close();
  });

  it('webhooks that were due for days while no sender ran are not given up for one attempt without an answer', async () => {
    const ids = await Promise.all(Array.from({ length: 12 }, () => fail({ callbackUrl: url })));
    await rig.database.pool.query(`update webhook_events set next_attempt_at = now() - interval '2 days'`);
    answers = ['close', 200];
    rig.startWorker();
    for (const { id } of ids)
      await until(
        () => callbackOf(id),
        (status) => status === 'sent',
      );
  });

  it('a webhook is due by the database’s clock: a worker five minutes behind sends it at once', async () => {
    rig.startWorker({}, { clock: () => new Date(Date.now() - 5 * 60_000) });
    const { id } = await fail({ callbackUrl: url });
    await until(
      () => callbackOf(id),
      (status) => status === 'sent',
      5_000,
    );
  });
});

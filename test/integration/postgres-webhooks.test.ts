import { beforeEach, describe, expect, test } from 'vitest';
import { CallbackStore } from '#platform/postgres/callback-store.ts';
import { type WebhookAttempt, WebhookEventStore } from '#platform/postgres/webhook-event-store.ts';
import { count, failure, newJob } from './postgres-fixtures.ts';
import { describeStores } from './postgres-servers.ts';

const callbackUrl = 'https://example.com/hook';
const start = new Date('2026-01-02T03:04:05.678Z');
const after = (ms: number) => new Date(start.getTime() + ms);

const attemptOf = (eventId: string, attempt: number, next: WebhookAttempt['next']): WebhookAttempt => ({
  eventId,
  delivery: 1,
  attempt,
  startedAt: start,
  durationMs: 12.3,
  statusCode: next === 'sent' ? 204 : 500,
  error: next === 'sent' ? null : 'answered 500',
  next,
  now: start,
});

describeStores('the webhook event store', (c) => {
  let events: WebhookEventStore;
  beforeEach(() => {
    events = new WebhookEventStore(c.database);
  });

  const ended = async (now = start, url = callbackUrl) => {
    const { job } = await c.jobs.insertOrFind(newJob({ callbackUrl: url }));
    const final = failure(job.id, 1, { now });
    await c.jobs.finish(final);
    return { job, eventId: final.eventId };
  };
  /** At most `limit` events of each host with due events. */
  const due = async ({ now, limit, reservedMs }: { now?: Date; limit: number; reservedMs?: number }) => {
    const at = now === undefined ? {} : { now };
    const { hosts } = await events.dueHosts({ after: '', limit: 100, ...at });
    const requests = new Map(hosts.map(({ host }) => [host, limit]));
    return events.take({ requests, ...at, ...(reservedMs === undefined ? {} : { reservedMs }) });
  };
  test('an event is due from the end of its job on, with the bytes to send', async () => {
    const { job, eventId } = await ended();
    expect(await due({ now: after(-1), limit: 10 })).toEqual([]);
    const found = await due({ now: start, limit: 10 });
    expect(found).toMatchObject([{ id: eventId, jobId: job.id, url: callbackUrl, trace: job.trace, attempt: 1 }]);
    expect(JSON.parse(found[0]?.body ?? '')).toMatchObject({ event_id: eventId, job_id: job.id });
  });

  test('a sender learns from the last attempt at each host, of as many attempts as it asks for', async () => {
    const [answering, hanging, older] = ['good.example', 'hanging.example', 'older.example'];
    const attempt = async (host: string, statusCode: number | null) => {
      const { eventId } = await ended(start, `https://${host}/hook`);
      await events.recordAttempt({ ...attemptOf(eventId, 1, 'failed'), statusCode });
    };
    await attempt(older, 200);
    await attempt(answering, null);
    await attempt(hanging, 200);
    await attempt(answering, 503);
    await attempt(hanging, null);
    const last = [
      { host: answering, isAnswered: true, durationMs: 12 },
      { host: hanging, isAnswered: false, durationMs: 12 },
    ];
    expect(await events.lastAttempts(4)).toEqual(last);
    expect((await events.lastAttempts(5)).map(({ host }) => host)).toEqual([answering, hanging, older]);
  });

  describe('after an attempt', () => {
    test('after an attempt that was delivered, the job says sent and nothing is due', async () => {
      const { job, eventId } = await ended();
      await due({ now: start, limit: 1 });
      await events.recordAttempt(attemptOf(eventId, 1, 'sent'));
      expect(await c.jobs.find(job.id)).toMatchObject({ callbackStatus: 'sent' });
      expect(await due({ now: after(1e9), limit: 1 })).toEqual([]);
    });

    test('after an attempt that failed, the next one is due at its time, and attempts are kept', async () => {
      const { job, eventId } = await ended();
      await due({ now: start, limit: 1 });
      await events.recordAttempt(attemptOf(eventId, 1, { inMs: 5_000 }));
      expect(await c.jobs.find(job.id)).toMatchObject({ callbackStatus: 'pending' });
      expect(await due({ now: after(4_999), limit: 1 })).toEqual([]);
      expect(await due({ now: after(5_000), limit: 1 })).toMatchObject([{ id: eventId, attempt: 2 }]);
      await events.recordAttempt(attemptOf(eventId, 2, 'failed'));
      expect(await c.jobs.find(job.id)).toMatchObject({ callbackStatus: 'callback_failed' });
      expect(await count(c.database, 'webhook_attempts')).toBe(2);
    });

    test('what another sender recorded stands against a late attempt', async () => {
      const { job, eventId } = await ended();
      await events.recordAttempt(attemptOf(eventId, 1, 'sent'));
      await events.recordAttempt(attemptOf(eventId, 1, 'failed'));
      expect(await c.jobs.find(job.id)).toMatchObject({ callbackStatus: 'sent' });
    });

    test('a late record of an attempt of the first delivery changes nothing of a redelivery', async () => {
      const { job, eventId } = await ended();
      await events.recordAttempt(attemptOf(eventId, 1, 'sent'));
      expect(await new CallbackStore(c.database).redeliver(job.id)).toBe('begun');
      await events.recordAttempt(attemptOf(eventId, 1, 'failed'));
      expect(await c.jobs.find(job.id)).toMatchObject({ callbackStatus: 'pending' });
      expect(await due({ limit: 1 })).toMatchObject([{ id: eventId, delivery: 2, attempt: 1 }]);
    });
  });

  test('hosts with due events are found whatever others have, the longest due first, and from page to page', async () => {
    for (let i = 0; i < 6; i++) await ended(after(2));
    await ended(after(1), 'https://Other.example:8443/hook');
    await ended(after(9), 'https://later.example/');
    const find = (from: string, limit: number) => events.dueHosts({ after: from, limit, now: after(3) });
    expect(await find('', 10)).toEqual({
      hosts: [
        { host: 'other.example:8443', overdueMs: 2 },
        { host: 'example.com', overdueMs: 1 },
      ],
      next: '',
    });
    expect(await find('', 2)).toMatchObject({ hosts: [{ host: 'example.com' }], next: 'later.example' });
    expect(await find('later.example', 2)).toMatchObject({ hosts: [{ host: 'other.example:8443' }], next: '' });
  });

  test('an event that a sender holds is not given up, and one that was given up is not delivered by a late record', async () => {
    const { job, eventId } = await ended(start);
    const tomorrow = 25 * 60 * 60_000;
    await due({ now: after(tomorrow), limit: 1, reservedMs: 60_000 });
    expect(await events.giveUp('example.com', after(tomorrow))).toBe(0);
    expect(await events.giveUp('example.com', after(tomorrow + 61_000))).toBe(1);
    await events.recordAttempt(attemptOf(eventId, 1, { inMs: 0 }));
    await events.recordAttempt(attemptOf(eventId, 1, 'sent'));
    expect((await c.jobs.find(job.id))?.callbackStatus).toBe('callback_failed');
    expect(await due({ now: after(2 * tomorrow), limit: 1 })).toEqual([]);
  });

  test('events of a host that does not answer are given up once they have been due for a day', async () => {
    const old = await ended(start);
    const recent = await ended(after(2 * 60 * 60_000));
    const other = await ended(start, 'https://other.example/');
    expect(await events.giveUp('example.com', after(25 * 60 * 60_000))).toBe(1);
    const statusOf = async ({ job }: { job: { id: string } }) => (await c.jobs.find(job.id))?.callbackStatus;
    expect([await statusOf(old), await statusOf(recent), await statusOf(other)]).toEqual([
      'callback_failed',
      'pending',
      'pending',
    ]);
    expect(await new CallbackStore(c.database).redeliver(old.job.id)).toBe('begun');
  });

  test('a callback shows its latest 100 attempts, the oldest of them first', async () => {
    const { job, eventId } = await ended();
    await c.database.pool.query(
      `insert into webhook_attempts (event_id, attempt, started_at, duration_ms, status_code)
       select $1, n, now(), n, 500 from generate_series(1, 102) as n`,
      [eventId],
    );
    const attempts = (await new CallbackStore(c.database).find(job.id))?.attempts ?? [];
    expect([attempts.length, attempts[0]?.attempt, attempts.at(-1)?.attempt]).toEqual([100, 3, 102]);
  });

  test('giving up a further receiver of a job says nothing of its first one', async () => {
    const { job } = await c.jobs.insertOrFind(newJob({ callbackUrl: 'https://first.example/' }));
    expect(await c.jobs.addCallback(job.id, callbackUrl)).toBe('added');
    await c.jobs.finish(failure(job.id, 1, { now: start }));
    await events.giveUp('example.com', after(25 * 60 * 60_000));
    expect(await c.jobs.find(job.id)).toMatchObject({ callbackStatus: 'pending' });
    const { rows } = await c.database.pool.query('select url from webhook_events where next_attempt_at is not null');
    expect(rows).toEqual([{ url: 'https://first.example/' }]);
  });
});

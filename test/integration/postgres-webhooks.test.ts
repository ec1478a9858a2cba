import { setTimeout as sleep } from 'node:timers/promises';
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
  test('an event is due from the end of its job on, with the bytes to send', async () => {
    const { job, eventId } = await ended();
    expect(await events.due({ now: after(-1), limit: 10 })).toEqual([]);
    const due = await events.due({ now: start, limit: 10 });
    expect(due).toMatchObject([{ id: eventId, jobId: job.id, url: callbackUrl, trace: job.trace, attempt: 1 }]);
    expect(JSON.parse(due[0]?.body ?? '')).toMatchObject({ event_id: eventId, job_id: job.id });
  });

  test('senders at once never get the same event; one that dies gives it up after the hold', async () => {
    for (let i = 0; i < 20; i++) await ended();
    // One row is locked for a while, so that the senders meet there.
    const locker = await c.database.pool.connect();
    await locker.query('begin');
    await locker.query('select from webhook_events limit 1 for update');
    const senders = Promise.all(Array.from({ length: 5 }, () => events.due({ now: start, limit: 20, holdMs: 1_000 })));
    await sleep(200);
    await locker.query('rollback');
    locker.release();
    const taken = [...(await senders).flat(), ...(await events.due({ now: start, limit: 20, holdMs: 1_000 }))];
    expect(taken).toHaveLength(20);
    expect(new Set(taken.map(({ id }) => id)).size).toBe(20);
    expect(await events.due({ now: after(999), limit: 20 })).toEqual([]);
    expect(await events.due({ now: after(1_000), limit: 20 })).toHaveLength(20);
  });

  test('the longest due come first, and no more than asked for', async () => {
    const [late, early] = [await ended(after(100)), await ended(after(50))];
    const due = [
      ...(await events.due({ now: after(200), limit: 1 })),
      ...(await events.due({ now: after(200), limit: 1 })),
    ];
    expect(due.map(({ id }) => id)).toEqual([early.eventId, late.eventId]);
  });

  describe('after an attempt', () => {
    test('that was delivered, the job says sent and nothing is due', async () => {
      const { job, eventId } = await ended();
      await events.due({ now: start, limit: 1 });
      await events.recordAttempt(attemptOf(eventId, 1, 'sent'));
      expect(await c.jobs.find(job.id)).toMatchObject({ callbackStatus: 'sent' });
      expect(await events.due({ now: after(1e9), limit: 1 })).toEqual([]);
    });

    test('that failed, the next one is due at its time, and attempts are kept', async () => {
      const { job, eventId } = await ended();
      await events.due({ now: start, limit: 1 });
      await events.recordAttempt(attemptOf(eventId, 1, { inMs: 5_000 }));
      expect(await c.jobs.find(job.id)).toMatchObject({ callbackStatus: 'pending' });
      expect(await events.due({ now: after(4_999), limit: 1 })).toEqual([]);
      expect(await events.due({ now: after(5_000), limit: 1 })).toMatchObject([{ id: eventId, attempt: 2 }]);
      await events.recordAttempt(attemptOf(eventId, 2, 'failed'));
      expect(await c.jobs.find(job.id)).toMatchObject({ callbackStatus: 'callback_failed' });
      expect(await count(c.database, 'webhook_attempts')).toBe(2);
    });

    test('of a sender that was too slow, what another one recorded stands', async () => {
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
      expect(await events.due({ limit: 1 })).toMatchObject([{ id: eventId, delivery: 2, attempt: 1 }]);
    });
  });

  test('no host gets more requests at once than allowed, and a saturated host does not hide the others', async () => {
    for (let i = 0; i < 6; i++) await ended();
    const other = await ended(after(1), 'https://other.example:8443/hook');
    const due = await events.due({ now: after(2), limit: 10, requestsPerHostMax: 4 });
    expect(due.map(({ host }) => host).toSorted()).toEqual([
      ...Array<string>(4).fill('example.com'),
      'other.example:8443',
    ]);
    expect(due.find(({ host }) => host !== 'example.com')).toMatchObject({ id: other.eventId });
    const requestsUnderWay = new Map([['example.com', 3]]);
    const rest = await events.due({ now: after(2), limit: 10, requestsPerHostMax: 4, requestsUnderWay });
    expect(rest).toHaveLength(1);
  });
});

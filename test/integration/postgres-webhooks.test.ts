import { setTimeout as sleep } from 'node:timers/promises';
import { beforeEach, describe, expect, test } from 'vitest';
import { type WebhookAttempt, WebhookEventStore } from '#platform/postgres/webhook-event-store.ts';
import { count, failure, newJob } from './postgres-fixtures.ts';
import { describeStores } from './postgres-servers.ts';

const callbackUrl = 'https://example.com/hook';
const start = new Date('2026-01-02T03:04:05.678Z');
const after = (ms: number) => new Date(start.getTime() + ms);

const attemptOf = (eventId: string, attempt: number, next: WebhookAttempt['next']): WebhookAttempt => ({
  eventId,
  attempt,
  startedAt: start,
  durationMs: 12.3,
  statusCode: next === 'sent' ? 204 : 500,
  error: next === 'sent' ? null : 'answered 500',
  next,
});

describeStores('the webhook event store', (c) => {
  let events: WebhookEventStore;
  beforeEach(() => {
    events = new WebhookEventStore(c.database);
  });

  const ended = async (now = start) => {
    const { job } = await c.jobs.insertOrFind(newJob({ callbackUrl }));
    const final = failure(job.id, 1, { now });
    await c.jobs.finish(final);
    return { job, eventId: final.eventId };
  };
  test('an event is due from the end of its job on, with the bytes to send', async () => {
    const { job, eventId } = await ended();
    expect(await events.due(after(-1), 10)).toEqual([]);
    const due = await events.due(start, 10);
    expect(due).toMatchObject([{ id: eventId, jobId: job.id, url: callbackUrl, trace: job.trace, attempt: 1 }]);
    expect(JSON.parse(due[0]?.body ?? '')).toMatchObject({ event_id: eventId, job_id: job.id });
  });

  test('senders at once never get the same event; one that dies gives it up after the hold', async () => {
    for (let i = 0; i < 20; i++) await ended();
    // One row is locked for a while, so that the senders meet there.
    const locker = await c.database.pool.connect();
    await locker.query('begin');
    await locker.query('select from webhook_events limit 1 for update');
    const senders = Promise.all(Array.from({ length: 5 }, () => events.due(start, 20, 1_000)));
    await sleep(200);
    await locker.query('rollback');
    locker.release();
    const taken = [...(await senders).flat(), ...(await events.due(start, 20, 1_000))];
    expect(taken).toHaveLength(20);
    expect(new Set(taken.map(({ id }) => id)).size).toBe(20);
    expect(await events.due(after(999), 20)).toEqual([]);
    expect(await events.due(after(1_000), 20)).toHaveLength(20);
  });

  test('the longest due come first, and no more than asked for', async () => {
    const [late, early] = [await ended(after(100)), await ended(after(50))];
    const due = [...(await events.due(after(200), 1)), ...(await events.due(after(200), 1))];
    expect(due.map(({ id }) => id)).toEqual([early.eventId, late.eventId]);
  });

  describe('after an attempt', () => {
    test('that was delivered, the job says sent and nothing is due', async () => {
      const { job, eventId } = await ended();
      await events.due(start, 1);
      await events.recordAttempt(attemptOf(eventId, 1, 'sent'));
      expect(await c.jobs.find(job.id)).toMatchObject({ callbackStatus: 'sent' });
      expect(await events.due(after(1e9), 1)).toEqual([]);
    });

    test('that failed, the next one is due at its time, and attempts are kept', async () => {
      const { job, eventId } = await ended();
      await events.due(start, 1);
      await events.recordAttempt(attemptOf(eventId, 1, { at: after(5_000) }));
      expect(await c.jobs.find(job.id)).toMatchObject({ callbackStatus: 'pending' });
      expect(await events.due(after(4_999), 1)).toEqual([]);
      expect(await events.due(after(5_000), 1)).toMatchObject([{ id: eventId, attempt: 2 }]);
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
  });
});

import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { type ApiUnderTest, apiKey, startApi } from './api-under-test.ts';
import { thumbnailResults } from './results.ts';

// docs/reference/contract.md, "Jobs": listing, cancelling, events and callbacks.

let api: ApiUnderTest;
let counter = 0;
const thumbnail = (more: object = {}) => ({ type: 'image:thumbnail', hash: `b${counter++}`, source: 'a.jpg', ...more });
const post = (path: string) => api.call(path, { method: 'POST' });
const unknownId = '00000000-0000-4000-8000-000000000000';

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

async function submitOne(more: object = {}): Promise<string> {
  return (await api.submit(thumbnail(more))).json.job_id as string;
}

describe('`GET /api/jobs`', () => {
  it('C13.12, C13.13: the list pages through all jobs, the newest first, none twice, while new ones come', async () => {
    const ids: string[] = [];
    for (let n = 0; n < 7; n++) ids.unshift(await submitOne());
    const seen: string[] = [];
    let cursor: string | null = null;
    for (let page = 0; page < 100; page++) {
      const query = cursor === null ? '' : `&cursor=${encodeURIComponent(cursor)}`;
      const { json } = await api.call(`/api/jobs?limit=3${query}`);
      expect(json.jobs.length).toBeLessThanOrEqual(3);
      seen.push(...json.jobs.map((job: { job_id: string }) => job.job_id));
      cursor = json.next_cursor;
      if (page === 0) await submitOne();
      if (cursor === null) break;
    }
    expect(seen.slice(0, 7)).toEqual(ids);
    expect(new Set(seen).size).toBe(seen.length);
  });

  it('C13.12: the list shows the same Job as reading it does, its results where they are asked for', async () => {
    const id = await submitOne();
    await api.complete(id, thumbnailResults);
    // Its usage is shown by reading it alone (C37.8).
    const { results, usage: _usage, ...rest } = (await api.call(`/api/jobs/${id}`)).json;
    expect(results).toEqual(thumbnailResults);
    expect((await api.call('/api/jobs?limit=1')).json.jobs).toEqual([rest]);
    expect((await api.call('/api/jobs?limit=1&include=results')).json.jobs).toEqual([{ ...rest, results }]);
  });

  it('C13.12: the list is filtered by type, status and hash', async () => {
    await api.putSource('a.mp4', Buffer.alloc(1));
    const id = await submitOne({ hash: 'filtered' });
    await api.submit({ type: 'video:cover', hash: 'filtered', source: 'a.mp4' });
    await api.complete(id, thumbnailResults);
    const found = async (query: string) =>
      (await api.call(`/api/jobs?${query}`)).json.jobs.map((job: { job_id: string }) => job.job_id);
    expect(await found('hash=filtered')).toHaveLength(2);
    expect(await found('hash=filtered&type=image:thumbnail')).toEqual([id]);
    expect(await found('hash=filtered&status=completed')).toEqual([id]);
    expect(await found('hash=filtered&status=completed&type=video:cover')).toEqual([]);
    expect(await found('hash=unknown')).toEqual([]);
  });

  it('C13.12: the list is filtered by the prefix of the hash, the error code and the time of submission', async () => {
    const ids = [await submitOne({ hash: 'many-1' }), await submitOne({ hash: 'many-2' }), await submitOne()];
    const [first = '', second = '', other = ''] = ids;
    await api.fail(first);
    await post(`/api/jobs/${second}/cancel`);
    await api.fail(other);
    for (const [index, id] of ids.entries())
      await api.d.database.pool.query('update jobs set created_at = $2 where id = $1', [
        id,
        `2026-01-0${index + 1}T00:00:00Z`,
      ]);
    const found = async (query: string) =>
      (await api.call(`/api/jobs?${query}`)).json.jobs.map((job: { job_id: string }) => job.job_id);
    expect(await found('prefix=many-')).toEqual([second, first]);
    expect(await found('prefix=many-&hash=many-1')).toEqual([first]);
    expect(await found('prefix=many-&hash=other')).toEqual([]);
    expect(await found('code=storage_error')).toEqual([other, first]);
    expect(await found('code=storage_error&prefix=many-')).toEqual([first]);
    expect(await found('code=storage_error&hash=many-1&type=image:thumbnail&status=failed')).toEqual([first]);
    expect(await found('code=storage_error&type=video:full')).toEqual([]);
    expect(await found('code=storage_error&status=completed')).toEqual([]);
    expect(await found('code=cancelled&status=cancelled')).toContain(second);
    const before = 'created_before=2026-01-03T00:00:00Z';
    expect(await found(before)).toEqual([second, first]);
    expect(await found(`${before}&created_after=2026-01-01T00:00:00Z`)).toEqual([second]);
    expect(await found(`${before}&code=storage_error`)).toEqual([first]);
    expect(await found(`${before}&status=failed`)).toEqual([first]);
    const { json } = await api.call(`/api/jobs?${before}&limit=1`);
    expect(await found(`${before}&cursor=${encodeURIComponent(json.next_cursor)}`)).toEqual([first]);
    const later = (await api.call('/api/jobs?limit=1')).json.next_cursor;
    expect(await found(`${before}&limit=1&cursor=${encodeURIComponent(later)}`)).toEqual([second]);
  });

  it.each([
    ['code=unknown', '/code'],
    ['created_after=yesterday', '/created_after'],
    ['prefix=..', '/prefix'],
    ['status=done', '/status'],
    ['type=video', '/type'],
    ['hash=..', '/hash'],
    ['limit=0', '/limit'],
    ['limit=101', '/limit'],
    ['limit=x', '/limit'],
    ['order=asc', '/order'],
    ['cursor=x', '/cursor'],
    [`cursor=${Buffer.from('["x",1]').toString('base64url')}`, '/cursor'],
    [`cursor=${Buffer.from(`[1e300,"${unknownId}"]`).toString('base64url')}`, '/cursor'],
    ['status=queued&status=failed', '/status'],
  ])('C13.12: the list refuses ?%s', async (query, pointer) => {
    const answer = await api.call(`/api/jobs?${query}`);
    expect([answer.status, answer.json.errors[0].pointer]).toEqual([400, pointer]);
  });
});

describe('`POST /api/jobs/{id}/cancel`', () => {
  it('C13.26: cancelling ends a queued job at once, removes its ticket, and can be repeated', async () => {
    const id = await submitOne();
    const before = (await api.d.queue.depth()).default.pending;
    const answer = await post(`/api/jobs/${id}/cancel`);
    expect(answer.status).toBe(200);
    expect(answer.json).toMatchObject({
      status: 'cancelled',
      error: { code: 'cancelled' },
      results: null,
      phase: null,
    });
    expect((await api.d.queue.depth()).default.pending).toBe(before - 1);
    const again = await post(`/api/jobs/${id}/cancel`);
    expect([again.status, again.json]).toEqual([200, answer.json]);
  });

  it('C13.27: cancelling a running job is announced to its worker, and nothing later changes the job', async () => {
    const id = await submitOne();
    const lease = { jobId: id, attempt: 1, owner: 'worker', leaseMs: 60_000 };
    await api.d.jobs.claim(lease);
    expect((await post(`/api/jobs/${id}/cancel`)).json.status).toBe('cancelled');
    expect(await api.d.jobs.renewLease(lease)).toBe('cancelled');
    const late = { results: thumbnailResults, error: null, eventId: randomUUID(), now: new Date() };
    expect(await api.d.jobs.finish({ jobId: id, attempt: 1, status: 'completed', ...late })).toBeNull();
  });

  it('C22.13: cancelling a job that has ended answers 409, and an unknown one 404', async () => {
    const completed = await submitOne();
    await api.complete(completed, thumbnailResults);
    const failed = await submitOne();
    await api.fail(failed);
    expect((await post(`/api/jobs/${completed}/cancel`)).json).toMatchObject({
      status: 409,
      code: 'conflict',
      detail: 'The job has completed already.',
    });
    expect((await post(`/api/jobs/${failed}/cancel`)).status).toBe(409);
    expect((await post(`/api/jobs/${unknownId}/cancel`)).status).toBe(404);
  });

  it('C13.26: a job whose attempt changes while it is cancelled is cancelled all the same', async () => {
    const id = await submitOne();
    await api.d.jobs.claim({ jobId: id, attempt: 1, owner: 'w', leaseMs: 60_000 });
    const before = await api.d.jobs.find(id);
    await api.d.jobs.nextAttempt({ jobId: id, attempt: 1, countsAsFailure: true, delayMs: 0 });
    const find = vi.spyOn(api.d.jobs, 'find').mockResolvedValueOnce(before);
    expect((await post(`/api/jobs/${id}/cancel`)).json.status).toBe('cancelled');
    find.mockRestore();
    expect(await api.d.jobs.find(id)).toMatchObject({ status: 'cancelled', attempt: 2 });
  });

  it('C12.3, C11.29: a cancelled job cannot be retried, and an equal submission makes a new one', async () => {
    const submission = thumbnail();
    const { json } = await api.submit(submission);
    await post(`/api/jobs/${json.job_id}/cancel`);
    expect((await post(`/api/jobs/${json.job_id}/retry`)).status).toBe(409);
    expect((await api.submit(submission)).status).toBe(202);
  });
});

interface SentEvent {
  readonly id: string;
  readonly job: { status: string; progress: number };
}

interface Reading {
  readonly lastEventId?: string;
  readonly count?: number;
  /** Where events are put as they come. */
  readonly events?: SentEvent[];
}

/** Reads events until the stream ends or `count` have come; comments are left out. */
async function readEvents(path: string, { lastEventId, count = 100, events = [] }: Reading = {}) {
  const headers = { 'x-api-key': apiKey, ...(lastEventId === undefined ? {} : { 'last-event-id': lastEventId }) };
  const abort = new AbortController();
  const response = await fetch(`${api.url}${path}`, { headers, signal: abort.signal });
  let text = '';
  if (response.body !== null)
    for await (const chunk of response.body.pipeThrough(new TextDecoderStream())) {
      text += chunk;
      const blocks = text.split('\n\n');
      text = blocks.pop() ?? '';
      for (const block of blocks) {
        const id = /^id: (.*)$/m.exec(block)?.[1];
        const data = /^data: (.*)$/m.exec(block)?.[1];
        if (id !== undefined && data !== undefined) events.push({ id, job: JSON.parse(data) as SentEvent['job'] });
      }
      if (events.length >= count) break;
    }
  abort.abort();
  return { status: response.status, contentType: response.headers.get('content-type'), events };
}

describe('`GET /api/jobs/{id}/events`', () => {
  it('C13.16: the events of a job begin with its state, follow each change, and end with the job', async () => {
    const id = await submitOne();
    const events: SentEvent[] = [];
    const comes = (count: number) => expect.poll(() => events.length).toBe(count);
    const reading = readEvents(`/api/jobs/${id}/events`, { events });
    await comes(1);
    await api.d.jobs.claim({ jobId: id, attempt: 1, owner: 'worker', leaseMs: 60_000 });
    await comes(2);
    await api.d.jobs.report({ jobId: id, attempt: 1, phase: 'encoding', progress: 40 });
    await comes(3);
    const end = { results: thumbnailResults, error: null, eventId: randomUUID(), now: new Date() };
    await api.d.jobs.finish({ jobId: id, attempt: 1, status: 'completed', ...end });
    const { contentType } = await reading;
    expect(contentType).toBe('text/event-stream');
    expect(events.map(({ job }) => [job.status, job.progress])).toEqual([
      ['queued', 0],
      ['processing', 0],
      ['processing', 40],
      ['completed', 100],
    ]);
    const { usage: _usage, ...shown } = (await api.call(`/api/jobs/${id}`)).json;
    expect(events.at(-1)?.job).toEqual(shown);
  });

  it('C13.17: with Last-Event-ID only newer states are sent, and 204 once the end was sent', async () => {
    const id = await submitOne();
    const first = await readEvents(`/api/jobs/${id}/events`, { count: 1 });
    const lastEventId = first.events[0]?.id ?? '';
    const reading = readEvents(`/api/jobs/${id}/events`, { lastEventId });
    await api.complete(id, thumbnailResults);
    const { events } = await reading;
    expect(events.at(-1)?.job.status).toBe('completed');
    expect(events.map((event) => event.id)).not.toContain(lastEventId);
    const after = await readEvents(`/api/jobs/${id}/events`, { lastEventId: events.at(-1)?.id ?? '' });
    expect([after.status, after.events]).toEqual([204, []]);
    const fromTheStart = await readEvents(`/api/jobs/${id}/events`, { lastEventId: 'unknown' });
    expect(fromTheStart.events.map(({ job }) => job.status)).toEqual(['completed']);
  });

  it('C13.44: with `exclude=results` each event is the job without its results', async () => {
    const id = await submitOne();
    const reading = readEvents(`/api/jobs/${id}/events?exclude=results`);
    await new Promise((resolve) => setTimeout(resolve, 100));
    await api.complete(id, thumbnailResults);
    const { results, usage: _usage, ...others } = (await api.call(`/api/jobs/${id}`)).json;
    const { events } = await reading;
    expect(results).toEqual(thumbnailResults);
    expect(events.at(-1)?.job).toEqual(others);
    const afterwards = await readEvents(`/api/jobs/${id}/events?exclude=results`);
    expect(afterwards.events).toEqual(events.slice(-1));
    expect((await api.call(`/api/jobs/${id}/events?exclude=error`)).status).toBe(400);
  });

  it('C22.11: the events of an unknown job answer 404', async () => {
    expect((await api.call(`/api/jobs/${unknownId}/events`)).status).toBe(404);
  });

  it('an open stream of events does not delay a server that stops', async () => {
    const other = await startApi();
    const { json } = await other.submit(thumbnail());
    const response = await fetch(`${other.url}/api/jobs/${json.job_id}/events`, { headers: { 'x-api-key': apiKey } });
    const reader = response.body?.getReader();
    await reader?.read();
    const began = performance.now();
    await other.close();
    expect(performance.now() - began).toBeLessThan(2000);
    await reader?.cancel();
  });
});

describe('bodies of actions', () => {
  it.each(['cancel', 'callbacks/redeliver'])(
    'C13.26, C21.22: `POST …/%s` takes no body or one without fields, and refuses fields',
    async (action) => {
      const id = await submitOne();
      const headers = { 'content-type': 'application/json' };
      const send = (body: string) => api.call(`/api/jobs/${id}/${action}`, { method: 'POST', headers, body });
      const refused = await send('{"reason":"late"}');
      expect([refused.status, refused.json.errors]).toMatchObject([400, [{ pointer: '/reason' }]]);
      expect((await api.call(`/api/jobs/${id}`)).json.status).toBe('queued');
      // A job without a webhook has nothing to deliver again.
      const taken = action === 'cancel' ? 200 : 409;
      expect([(await send('')).status, (await send('{}')).status]).toEqual([taken, taken]);
    },
  );
});

describe('`GET /api/jobs/{id}/callbacks` and `POST …/callbacks/redeliver`', () => {
  const callback = { callback_url: 'https://example.com/hook' };

  it('C21.21, C21.22, C21.25: the event and its attempts are shown, and a redelivery begins from the first attempt', async () => {
    const id = await submitOne(callback);
    const none = await api.call(`/api/jobs/${id}/callbacks`);
    const url = callback.callback_url;
    expect(none.json).toEqual({
      job_id: id,
      callback_url: url,
      callback_status: null,
      key_id: expect.stringMatching(/^[0-9a-f]{8}$/),
      event_id: null,
      next_attempt_at: null,
      body: null,
      attempts: [],
    });
    await api.complete(id, thumbnailResults);
    const pending = (await api.call(`/api/jobs/${id}/callbacks`)).json;
    expect(pending).toMatchObject({ callback_status: 'pending', attempts: [] });
    expect(JSON.parse(pending.body)).toMatchObject({ event_id: pending.event_id, job_id: id, status: 'completed' });
    // The sender sends what is stored.
    const stored = await api.d.database.pool.query<{ body: string }>('select body from webhook_events where id = $1', [
      pending.event_id,
    ]);
    expect(pending.body).toBe(stored.rows[0]?.body);
    expect((await post(`/api/jobs/${id}/callbacks/redeliver`)).json).toMatchObject({ status: 409, code: 'conflict' });

    await recordAttempts(pending.event_id, [503, 'failed']);
    const failed = (await api.call(`/api/jobs/${id}/callbacks`)).json;
    expect(failed).toMatchObject({
      callback_status: 'callback_failed',
      next_attempt_at: null,
      attempts: [{ attempt: 1, status_code: 503, duration_ms: 12, error: 'answered 503' }],
    });
    const again = await post(`/api/jobs/${id}/callbacks/redeliver`);
    expect(again.status).toBe(202);
    expect(again.json).toMatchObject({ callback_status: 'pending', event_id: pending.event_id });
    expect(again.json.next_attempt_at).not.toBeNull();
    expect((await api.call(`/api/jobs/${id}`)).json.callback_status).toBe('pending');
    await recordAttempts(pending.event_id, [200, 'sent'], 2);
    const sent = (await api.call(`/api/jobs/${id}/callbacks`)).json;
    expect(sent.callback_status).toBe('sent');
    expect(sent.attempts.map((attempt: { status_code: number }) => attempt.status_code)).toEqual([503, 200]);
  });

  it('C22.13, C22.11: redelivering answers 409 where there is no webhook, and 404 where there is no job', async () => {
    const id = await submitOne();
    await api.complete(id, thumbnailResults);
    expect((await post(`/api/jobs/${id}/callbacks/redeliver`)).status).toBe(409);
    expect((await api.call(`/api/jobs/${id}/callbacks`)).json).toMatchObject({ callback_url: null, event_id: null });
    expect((await post(`/api/jobs/${unknownId}/callbacks/redeliver`)).status).toBe(404);
    expect((await api.call(`/api/jobs/${unknownId}/callbacks`)).status).toBe(404);
  });
});

async function recordAttempts(
  eventId: string,
  [statusCode, next]: [number, 'sent' | 'failed'],
  delivery = 1,
): Promise<void> {
  const { WebhookEventStore } = await import('#platform/postgres/webhook-event-store.ts');
  await new WebhookEventStore(api.d.database).recordAttempt({
    eventId,
    delivery,
    attempt: 1,
    startedAt: new Date(),
    durationMs: 12,
    statusCode,
    error: next === 'sent' ? null : `answered ${statusCode}`,
    next,
  });
}

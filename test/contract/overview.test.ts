import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, expect, it, vi } from 'vitest';
import { WebhookEventStore } from '#platform/postgres/webhook-event-store.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "The console": what its pages for operators ask of the API.

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi({ webhookAllowedCidrs: ['127.0.0.0/8'] });
  await api.putSource('clip.mp4', 'x');
});
afterAll(() => api.close());

const sql = (text: string, values: readonly unknown[] = []) => api.d.database.pool.query(text, [...values]);

async function submitted(hash: string, more: object = {}): Promise<string> {
  return (await api.submit({ type: 'video:cover', hash, source: 'clip.mp4', ...more })).json.job_id as string;
}

it('C31.21: the overview counts the jobs of the last day, and one answer serves all who ask within seconds', async () => {
  await submitted('waiting');
  const running = await submitted('running');
  await api.d.jobs.claim({ jobId: running, attempt: 1, owner: 'test', leaseMs: 60_000 });
  for (const hash of ['failed-1', 'failed-2']) await api.fail(await submitted(hash));
  await api.call(`/api/jobs/${await submitted('cancelled')}/cancel`, { method: 'POST' });
  const stream = await submitted('streamed', { type: 'video:transcode' });
  await sql(`update jobs set status = 'completed', results = '{"source": {"duration_sec": 90}}' where id = $1`, [
    stream,
  ]);
  await sql(`update jobs set stream_rev = '0123456789abcdef' where id = $1`, [stream]);
  await sql(`update jobs set created_at = now() - interval '25 hours' where id = $1`, [await submitted('yesterday')]);
  const { status, json } = await api.call('/api/overview');
  expect(status).toBe(200);
  expect(json).toMatchObject({
    jobs: { queued: 1, processing: 1, completed: 1, failed: 2, cancelled: 1 },
    failures: [{ code: 'storage_error', jobs: 2 }],
    minutes_made: 1.5,
    running: 1,
    counted_max: { jobs: 10_000, streams: 500, media: 100_000 },
  });
  expect([json.media, json.bytes_stored]).toEqual([1, 0]);
  const { rows } = await api.d.database.pool.query<{ at: Date }>(
    `select min(created_at) as at from jobs where status = 'queued'`,
  );
  expect(json.oldest_waiting_at).toBe(rows[0]?.at.toISOString());
  // What happens meanwhile is not in an answer that is this young.
  await api.fail(await submitted('failed-3'));
  expect((await api.call('/api/overview')).json).toEqual(json);
  const query = vi.spyOn(api.d.listDatabase.pool, 'query');
  await Promise.all(Array.from({ length: 20 }, () => api.call('/api/overview')));
  expect(query).not.toHaveBeenCalled();
  query.mockRestore();
});

it('C31.22: webhooks that were not delivered are listed, the latest failure first, until they are sent again', async () => {
  const events = new WebhookEventStore(api.d.database);
  const ids: string[] = [];
  for (const hash of ['hook-1', 'hook-2', 'hook-3']) {
    const id = await submitted(hash, { callback_url: `http://127.0.0.1/${hash}` });
    ids.push(id);
    await api.fail(id);
    const { rows } = await sql('select id from webhook_events where job_id = $1', [id]);
    const attempt = { eventId: rows[0]?.id as string, delivery: 1, attempt: 1, startedAt: new Date(), durationMs: 5 };
    await events.recordAttempt({ ...attempt, statusCode: 503, error: 'the receiver answered 503', next: 'failed' });
  }
  const [first = '', second = '', third = ''] = ids;
  const page = (await api.call('/api/callbacks?limit=2')).json;
  expect(page.callbacks.map((each: { job_id: string }) => each.job_id)).toEqual([third, second]);
  expect(page.callbacks[0]).toEqual({
    job_id: third,
    type: 'video:cover',
    hash: 'hook-3',
    url: 'http://127.0.0.1/hook-3',
    failed_at: expect.any(String) as string,
    attempts: 1,
    status_code: 503,
    error: 'the receiver answered 503',
  });
  const rest = (await api.call(`/api/callbacks?limit=2&cursor=${page.next_cursor}`)).json;
  expect([rest.callbacks.map((each: { hash: string }) => each.hash), rest.next_cursor]).toEqual([['hook-1'], null]);
  await api.call(`/api/jobs/${second}/callbacks/redeliver`, { method: 'POST' });
  const left = (await api.call('/api/callbacks')).json.callbacks.map((each: { job_id: string }) => each.job_id);
  expect(left).toEqual([third, first]);
});

it('C31.23: a test of a receiver is one event without a job, to an address that webhooks may go to', async () => {
  const post = (url: string) =>
    api.call('/api/callbacks/test', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ url }),
    });
  const refused = await post('http://10.0.0.1/hook');
  expect([refused.status, refused.json.errors[0].pointer]).toEqual([400, '/url']);
  const begun = await post('http://127.0.0.1:1/hook');
  expect([begun.status, begun.json.status]).toEqual([202, 'pending']);
  const found = await api.call(begun.headers.get('location') ?? '');
  expect([found.status, found.json]).toEqual([200, begun.json]);
  expect((await api.call(`/api/callbacks/test/${randomUUID()}`)).status).toBe(404);
  expect((await api.call('/api/callbacks/test/x')).status).toBe(404);
});

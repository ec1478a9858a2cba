import { afterEach, beforeEach, expect, it, vi } from 'vitest';
import type { Job } from './types.ts';
import { waitUntilEnded, type WaitOptions } from './wait.ts';

beforeEach(() => {
  vi.useFakeTimers();
});
afterEach(() => {
  vi.useRealTimers();
});

const jobOf = (status: Job['status'], updated = 1) => ({ job_id: '1', status, updated_at: String(updated) });
const events = { headers: { 'content-type': 'text/event-stream' } };
const eventOf = (job: object) => new TextEncoder().encode(`id: 1\nevent: job\ndata: ${JSON.stringify(job)}\n\n`);
/** A stream that has begun and brings nothing, as one that a proxy holds back. */
const silent = () => new Response(new ReadableStream(), events);
const buffered = () => new Response('<html>');
const limited = () => Response.json({ code: 'rate_limited', detail: 'no', status: 429 }, { status: 429 });
const away = (): Response => {
  throw new TypeError('fetch failed');
};

/** Waits for a job of a service that gives these answers one after another; the last one again and again. */
function waiting(answers: readonly (() => Response)[], options: WaitOptions = {}) {
  const asked: string[] = [];
  const send = async ({ url }: Request) => {
    asked.push(url.replace('http://service.test/api/jobs', ''));
    return (answers[asked.length - 1] ?? answers.at(-1) ?? away)();
  };
  const outcome = waitUntilEnded({ url: 'http://service.test/api/jobs/1', headers: {}, send }, options).then(
    ({ status }) => status as string,
    (error: { code?: string }) => error.code,
  );
  return { asked, outcome };
}

it('a service that stays away ends a wait after `outageSecMax`, and not before', async () => {
  const { asked, outcome } = waiting([away], { outageSecMax: 60 });
  await vi.advanceTimersByTimeAsync(55_000);
  expect(await Promise.race([outcome, Promise.resolve('still waiting')])).toBe('still waiting');
  await vi.advanceTimersByTimeAsync(40_000);
  expect(await outcome).toBe('unreachable');
  const last = asked.length;
  await vi.advanceTimersByTimeAsync(60_000);
  expect(asked).toHaveLength(last);
});

it('a wait that the limit of requests refuses goes on later', async () => {
  const { outcome } = waiting([limited, () => new Response(eventOf(jobOf('completed')), events)]);
  await vi.advanceTimersByTimeAsync(10_000);
  expect(await outcome).toBe('completed');
});

it('a stream of a job that has ended is 204, and the job is read then', async () => {
  const { asked, outcome } = waiting([
    () => new Response(null, { status: 204 }),
    () => Response.json(jobOf('completed')),
  ]);
  await vi.advanceTimersByTimeAsync(1);
  expect([await outcome, asked]).toEqual(['completed', ['/1/events', '/1']]);
});

it('a stream that brings no job for ten seconds is given up, and after two of them the job is polled', async () => {
  const { asked, outcome } = waiting([silent, silent, () => Response.json(jobOf('completed'))]);
  await vi.advanceTimersByTimeAsync(9_000);
  expect(asked).toEqual(['/1/events']);
  await vi.advanceTimersByTimeAsync(13_000);
  expect([await outcome, asked]).toEqual(['completed', ['/1/events', '/1/events', '/1']]);
});

it('a stream that has brought the job may be silent for forty seconds', async () => {
  let stream: ReadableStreamDefaultController<Uint8Array> | undefined;
  const open = () => new Response(new ReadableStream({ start: (controller) => void (stream = controller) }), events);
  const { asked, outcome } = waiting([open]);
  await vi.advanceTimersByTimeAsync(1);
  stream?.enqueue(eventOf(jobOf('processing')));
  await vi.advanceTimersByTimeAsync(40_000);
  stream?.enqueue(eventOf(jobOf('completed', 2)));
  await vi.advanceTimersByTimeAsync(1);
  expect([await outcome, asked]).toEqual(['completed', ['/1/events']]);
});

it.each([
  ['20', 20],
  ['3600', 30],
])('a job that is polled is read again as `Retry-After: %s` says, after %i seconds', async (header, seconds) => {
  const active = () => Response.json(jobOf('processing'), { headers: { 'retry-after': header } });
  const { asked } = waiting([buffered, buffered, active], { timeoutSec: 3600 });
  await vi.advanceTimersByTimeAsync(2_000);
  const polls = () => asked.filter((path) => path === '/1').length;
  expect(polls()).toBe(1);
  await vi.advanceTimersByTimeAsync((seconds - 3) * 1000);
  expect(polls()).toBe(1);
  await vi.advanceTimersByTimeAsync(4_000);
  expect(polls()).toBe(2);
});

it('a job that is polled and does not change is an answer: the wait goes on as long as the service is there', async () => {
  const headers = { etag: '"1"', 'retry-after': '20' };
  const first = () => Response.json(jobOf('processing'), { headers });
  const same = () => new Response(null, { status: 304, headers });
  const answers = [buffered, buffered, first, ...Array.from({ length: 10 }, () => same), away];
  const { asked, outcome } = waiting(answers, { outageSecMax: 60 });
  await vi.advanceTimersByTimeAsync(225_000);
  expect(asked.length).toBeGreaterThan(13);
  expect(await Promise.race([outcome, Promise.resolve('still waiting')])).toBe('still waiting');
  await vi.advanceTimersByTimeAsync(60_000);
  expect(await outcome).toBe('unreachable');
});

import { afterEach, expect, it, vi } from 'vitest';
import { retryAfterOf } from './errors.ts';
import { pauseOf, type RetryOptions, retryingFetch } from './http.ts';

afterEach(() => {
  vi.useRealTimers();
  vi.restoreAllMocks();
});

/** A `fetch` of a service that always gives this answer, and how often it was asked. */
function asking(status: number, headers: Record<string, string>, options: RetryOptions) {
  const asked = { times: 0 };
  const send = retryingFetch(() => {
    asked.times += 1;
    return Promise.resolve(new Response(null, { status, headers }));
  }, options);
  return { asked, send: (path: string, method = 'GET') => send(new Request(`http://service.test${path}`, { method })) };
}

it('a request is sent as often as `attempts` says, and then its answer stands', async () => {
  const { asked, send } = asking(503, { 'retry-after': '0' }, { attempts: 3 });
  expect([(await send('/api/jobs')).status, asked.times]).toEqual([503, 3]);
});

it('the waits of a request are bounded together, not each by itself', async () => {
  vi.useFakeTimers();
  const { asked, send } = asking(503, { 'retry-after': '40' }, { attempts: 10, waitSecMax: 100 });
  const answer = send('/api/jobs');
  await vi.advanceTimersByTimeAsync(400_000);
  expect([(await answer).status, asked.times]).toEqual([503, 3]);
});

it.each([
  [502, '/api/jobs/1/rerun', 1],
  [504, '/api/jobs/1/retry', 1],
  [503, '/api/jobs/1/rerun', 2],
  [429, '/api/imports', 2],
  [502, '/api/jobs', 2],
  [502, '/api/jobs/batch', 2],
  [500, '/api/jobs', 1],
])('an answer %i to POST %s is the end of %i requests: what a gateway passed on is not done twice', async (...row) => {
  const [status, path, times] = row;
  const { asked, send } = asking(status, { 'retry-after': '0' }, { attempts: 2 });
  expect([(await send(path, 'POST')).status, asked.times]).toEqual([status, times]);
});

it.each([
  ['GET', '/api/media/a', 2],
  ['PUT', '/api/media/a/current', 2],
  ['DELETE', '/api/media/a', 2],
  ['POST', '/api/jobs/1/cancel', 2],
  ['POST', '/api/uploads/1/complete', 2],
  ['POST', '/api/jobs/1/rerun', 1],
])('%s %s is sent %i times over broken connections', async (method, path, times) => {
  vi.spyOn(Math, 'random').mockReturnValue(0);
  let asked = 0;
  const send = retryingFetch(
    () => {
      asked += 1;
      return Promise.reject(new TypeError('fetch failed'));
    },
    { attempts: 2 },
  );
  await expect(send(new Request(`http://service.test${path}`, { method }))).rejects.toMatchObject({
    code: 'unreachable',
  });
  expect(asked).toBe(times);
});

it('a request that its caller aborts ends with the reason of the caller, and is not sent again', async () => {
  const caller = new AbortController();
  let asked = 0;
  const send = retryingFetch(() => {
    asked += 1;
    caller.abort(new Error('enough'));
    return Promise.reject(new TypeError('fetch failed'));
  });
  const request = new Request('http://service.test/api/jobs/1/rerun', { method: 'POST', signal: caller.signal });
  await expect(send(request)).rejects.toThrow('enough');
  expect(asked).toBe(1);
});

it('the pause between two requests doubles up to eight seconds, and at least half of it is waited', () => {
  const bounds = [1, 2, 3, 6, 12].map((attempt) =>
    [0, 1].map((random) => {
      vi.spyOn(Math, 'random').mockReturnValue(random);
      return pauseOf(attempt);
    }),
  );
  expect(bounds).toEqual([
    [125, 250],
    [250, 500],
    [500, 1000],
    [4000, 8000],
    [4000, 8000],
  ]);
});

const secondsOf = (value: string) => retryAfterOf(new Response(null, { headers: { 'retry-after': value } }));

it('Retry-After is read as seconds and as a date, and other text as none', () => {
  vi.useFakeTimers({ now: Date.parse('2026-01-01T00:00:00Z') });
  expect(secondsOf('7')).toBe(7);
  expect(secondsOf('Thu, 01 Jan 2026 00:00:30 GMT')).toBe(30);
  expect(secondsOf('Wed, 31 Dec 2025 00:00:00 GMT')).toBe(0);
  expect(secondsOf('soon')).toBeNull();
  expect(retryAfterOf(new Response())).toBeNull();
});

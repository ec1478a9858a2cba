import { afterAll, beforeAll, expect, it } from 'vitest';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';
import { thumbnailResults } from './results.ts';

// docs/reference/contract.md, "Batches".

let api: ApiUnderTest;
let counter = 0;
const thumbnail = (more: object = {}) => ({ type: 'image:thumbnail', hash: `t${counter++}`, source: 'a.jpg', ...more });
const video = () => ({ type: 'video:transcode', hash: `v${counter++}`, source: 'video.mp4' });

beforeAll(async () => {
  api = await startApi({ mediaProfiles: mediaProfilesSchema.parse({ profiles: { small: { crf: 30 } } }) });
  await api.putSource('video.mp4', Buffer.alloc(100));
});
afterAll(() => api.close());

const batch = (jobs: unknown, headers: Record<string, string> = {}) =>
  api.call('/api/jobs/batch', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify({ jobs }),
  });
interface Entry {
  readonly status: number;
  readonly job?: Record<string, unknown>;
  readonly problem?: Record<string, unknown>;
}
const entriesOf = (answer: { readonly json: { readonly jobs: readonly Entry[] } }) => answer.json.jobs;
const countJobs = async () =>
  (await api.d.database.pool.query<{ n: number }>('select count(*)::int as n from jobs')).rows[0]?.n ?? 0;

it('C11.39: each submission of a batch has the answer that it would have by itself, in order', async () => {
  const [completed, active] = [thumbnail(), thumbnail()];
  await api.complete((await api.submit(completed)).json.job_id, thumbnailResults);
  await api.submit(active);
  const jobs = [thumbnail(), completed, { type: 'video:cover', hash: 'v', source: 'none.mp4' }, active, { type: 'x' }];
  const answer = await batch(jobs);
  expect(answer.status).toBe(200);
  const entries = entriesOf(answer);
  expect(entries.map(({ status }) => status)).toEqual([202, 200, 400, 200, 400]);
  expect(entries.map(({ job, problem }) => job?.['status'] ?? problem?.['code'])).toEqual([
    'queued',
    'completed',
    'source_missing',
    'queued',
    'invalid_request',
  ]);
  const { json: alone } = await api.submit(jobs[4]);
  expect({ ...entries[4]?.problem, trace_id: '', instance: '' }).toEqual({ ...alone, trace_id: '', instance: '' });
  expect(entries[1]?.job).toEqual((await api.submit(completed)).json);
  expect(entries[3]?.job).toMatchObject({ reason: { code: 'next_in_queue' } });
  expect(entries[3]?.job).toEqual((await api.submit(active)).json);
});

it('C11.40: equal submissions in a batch, and in batches at once, make one job', async () => {
  const [one, other] = [thumbnail(), thumbnail()];
  const answers = await Promise.all([batch([one, other, one, one]), batch([other, one])]);
  const entries = answers.flatMap(entriesOf);
  expect(entries.filter(({ status }) => status === 202)).toHaveLength(2);
  expect(new Set(entries.map(({ job }) => job?.['job_id'])).size).toBe(2);
});

it('C11.41: a fault in one submission of a batch loses no other, and refuses no more than itself', async () => {
  const before = await countJobs();
  const jobs = Array.from({ length: 100 }, (_, n) => (n % 10 === 3 ? { ...thumbnail(), width: 1 } : thumbnail()));
  const entries = entriesOf(await batch(jobs));
  expect(entries.filter(({ status }) => status === 400)).toHaveLength(10);
  expect(entries.filter(({ status }) => status === 202)).toHaveLength(90);
  expect(await countJobs()).toBe(before + 90);
});

it('C11.39: a batch has 1 to 500 submissions, which are one statement and one addition of tickets', async () => {
  for (const jobs of [[], Array.from({ length: 501 }, () => thumbnail()), 'none'])
    expect((await batch(jobs)).json.errors).toMatchObject([{ pointer: '/jobs' }]);
  const before = (await api.d.queue.depth()).default.pending;
  let statements = 0;
  const { pool } = api.d.database;
  const query = pool.query.bind(pool) as (...parameters: unknown[]) => unknown;
  Object.assign(pool, {
    query: (...parameters: unknown[]) => {
      if (String(parameters[0]).includes('insert into jobs')) statements += 1;
      return query(...parameters);
    },
  });
  const entries = entriesOf(await batch(Array.from({ length: 500 }, () => thumbnail())));
  Object.assign(pool, { query });
  expect(entries.filter(({ status }) => status === 202)).toHaveLength(500);
  expect(statements).toBe(1);
  expect((await api.d.queue.depth()).default.pending).toBe(before + 500);
});

it('C11.39: an address that no webhook may be sent to is refused in a batch as by itself', async () => {
  const jobs = ['http://127.0.0.1/', 'http://169.254.169.254/latest', 'https://[::1]/'].map((callback_url) =>
    thumbnail({ callback_url }),
  );
  const entries = entriesOf(await batch([...jobs, thumbnail({ callback_url: 'https://example.com/' })]));
  expect(entries.map(({ status, problem }) => [status, problem?.['errors']])).toMatchObject([
    ...jobs.map(() => [400, [{ pointer: '/callback_url' }]]),
    [202, undefined],
  ]);
});

it('C11.42: X-Profile and X-Priority hold for every submission of a batch', async () => {
  const small = entriesOf(await batch([thumbnail(), video()], { 'x-profile': 'small', 'x-priority': '7' }));
  expect(small.map(({ status }) => status)).toEqual([202, 202]);
  const rows = await Promise.all(small.map(({ job }) => api.d.jobs.find(String(job?.['job_id']))));
  // An image job has no profile.
  expect(rows).toMatchObject([
    { priority: 7, profile: null },
    { priority: 7, profile: { name: 'small' } },
  ]);
  const unknown = entriesOf(await batch([thumbnail(), video()], { 'x-profile': 'none-such' }));
  const problem = { errors: [{ pointer: '/X-Profile', code: 'unknown_profile' }] };
  expect(unknown).toMatchObject([
    { status: 400, problem },
    { status: 400, problem },
  ]);
  expect((await batch([thumbnail()], { 'x-profile': 'No Name' })).json).toMatchObject({
    status: 400,
    errors: [{ pointer: '/X-Profile', code: 'invalid_header' }],
  });
});

it('C11.43: a batch may have 4 MiB, and a larger one is 413', async () => {
  const large = thumbnail({ options: { outputs: [] }, padding: 'x'.repeat(2 * 1024 * 1024) });
  expect(entriesOf(await batch([large])).map(({ status }) => status)).toEqual([400]);
  expect((await batch([large, large, large])).json).toMatchObject({ status: 413, code: 'body_too_large' });
});

it('C11.44: a queue that refuses is 500 for each submission, and the same batch again is safe', async () => {
  const jobs = [thumbnail(), thumbnail()];
  const add = api.d.queue.add.bind(api.d.queue);
  api.d.queue.add = () => Promise.reject(new Error('the queue is away'));
  const refused = entriesOf(await batch(jobs));
  api.d.queue.add = add;
  expect(refused.map(({ status, problem }) => [status, problem?.['code']])).toEqual([
    [500, 'internal_error'],
    [500, 'internal_error'],
  ]);
  expect(JSON.stringify(refused)).not.toContain('away');
  expect(entriesOf(await batch(jobs)).map(({ status }) => status)).toEqual([200, 200]);
});

it('C23.14: batches have a limit of their own', async () => {
  const limited = await startApi({ batchRateLimitPerMinute: 1, apiRateLimitPerMinute: 1 });
  const send = () =>
    limited.call('/api/jobs/batch', {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ jobs: [thumbnail()] }),
    });
  const [first, second] = [await send(), await send()];
  const single = await limited.submit(thumbnail());
  await limited.close();
  expect([first.status, second.status, single.status]).toEqual([200, 429, 202]);
  expect(first.headers.get('ratelimit-policy')).toBe('"batch";q=1;w=60');
});

it('C19.1: a batch wants the API key', async () => {
  expect((await api.raw('/api/jobs/batch', { method: 'POST' })).status).toBe(401);
});

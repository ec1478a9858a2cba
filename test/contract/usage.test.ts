import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { videoKey } from '#domain/media/object-keys.ts';
import type { JobResults } from '#domain/job-types/index.ts';
import { digestOfKey, keyIdOf } from '#domain/keys/api-key.ts';
import { makeKey, type MadeKey } from '../../testing/named-keys.ts';
import { type ApiUnderTest, apiKey, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Usage and quotas": how usage is shown. How it is counted: test/integration/usage.test.ts.

const today = new Date().toISOString().slice(0, 10);
const thumbnail = (hash: string) => ({ type: 'image:thumbnail', hash, source: 'a.jpg' });
const results = { key: 'images/ab/x/1/thumb.webp', outputs: [] } as unknown as JobResults;
let api: ApiUnderTest;
let named: MadeKey;

beforeAll(async () => {
  api = await startApi();
  await api.putSource('a.jpg', 'x');
  named = await makeKey(api.d.database, {
    name: 'acme, "the" owner',
    rights: ['read', 'submit'],
    hashPrefix: 'acme-',
  });
  for (const [hash, key] of [
    ['acme-1', named.text],
    ['other-1', apiKey],
    ['other-2', apiKey],
  ] as const) {
    const { json } = await api.submit(thumbnail(hash), { 'x-api-key': key });
    await api.complete(json.job_id, results);
  }
});
afterAll(() => api.close());

const usage = async (query: string, init: RequestInit = {}) => api.call(`/api/usage${query}`, init);

it('C37.5: `GET /api/usage` has the sums of days, told apart by what `by` names', async () => {
  const { status, json, headers } = await usage('?by=type,key');
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(json.to).toBe(today);
  expect(Date.parse(json.to) - Date.parse(json.from)).toBe(29 * 86_400_000);
  const sums = {
    type: 'image:thumbnail',
    source_minutes: 0,
    output_minutes: 0,
    processor_seconds: 0,
    stored_bytes: 0,
  };
  const byName = (json.rows as { key_name: string }[]).toSorted((a, b) => (a.key_name < b.key_name ? -1 : 1));
  expect(byName).toMatchObject([
    { ...sums, jobs: 2, key_id: keyIdOf(digestOfKey(apiKey)), key_name: 'API_KEY' },
    { ...sums, jobs: 1, key_id: named.id, key_name: named.name },
  ]);
  expect((await usage('')).json.rows).toMatchObject([{ day: today, jobs: 3 }]);
});

it('C37.6: a key with a `hash_prefix` sees its own usage alone', async () => {
  const { json } = await usage('?by=key', { headers: { 'x-api-key': named.text } });
  expect(json.rows).toMatchObject([{ key_id: named.id, jobs: 1 }]);
  expect(json.rows).toHaveLength(1);
});

it('C37.7: usage is CSV for `format=csv` and `Accept: text/csv`, with the same sums', async () => {
  const asked = [
    await usage('?by=day,key&format=csv', { headers: { 'x-api-key': named.text } }),
    await usage('?by=day,key', { headers: { 'x-api-key': named.text, accept: 'text/csv, */*;q=0.5' } }),
  ];
  for (const { headers, text } of asked) {
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const [names, row, ...more] = text.split('\r\n');
    expect(names).toMatch(/^day,key_id,key_name,jobs,source_bytes,/);
    expect(row).toMatch(`${today},${named.id},"acme, ""the"" owner",1,`);
    expect(more).toEqual(['']);
  }
  const json = await usage('?format=json', { headers: { accept: 'text/csv' } });
  expect(json.headers.get('content-type')).toContain('application/json');
});

it.each([
  ['?by=week', 'by'],
  ['?from=2026-02-30', 'from'],
  ['?from=2026-03-02&to=2026-03-01', 'from'],
  ['?from=2024-01-01&to=2026-01-01', 'from'],
  ['?format=xml', 'format'],
  ['?days=3', ''],
])('C37.5: usage of %s is refused by the name of what is wrong', async (query, field) => {
  const { status, json } = await usage(query);
  expect([status, json.code]).toEqual([400, 'invalid_request']);
  expect(JSON.stringify(json.errors)).toContain(field);
});

it('C37.8: `GET /api/jobs/{id}` has what the attempts of the job took', async () => {
  const { json } = await api.submit(thumbnail('acme-used'));
  const { jobs } = api.d;
  await jobs.claim({ jobId: json.job_id, attempt: 1, owner: 'w', leaseMs: 60_000 });
  const step = { step: 'process', started_at: '2026-11-27T08:00:00.000Z', duration_ms: 2_500, processor_ms: 1_230 };
  const units = [{ unit: 'image', chunk: null, pod: null, steps: [{ ...step, code: null }] }] as const;
  const end = { jobId: json.job_id, attempt: 1, countsAsFailure: true, delayMs: 0 };
  await jobs.nextAttempt({ ...end, units: units as never });
  const found = await api.call(`/api/jobs/${json.job_id}`);
  expect(found.json.usage).toEqual({
    processor_seconds: 1.23,
    processor_fetch_seconds: 0,
    processor_process_seconds: 1.23,
    processor_publish_seconds: 0,
    pod_seconds: 2.5,
    wasted_seconds: 2.5,
  });
});

const [rev, segment] = ['0123456789abcdef', 'video/r360_h264/seg_1.m4s'];
const addressOf = (hash: string) => `/stream/${hash}/${rev}/${segment}`;

it('C37.21: a server has written the bytes of streams that it sent when it has stopped', async () => {
  const sent = new Map<string, number>();
  const add = async (bytesOf: ReadonlyMap<string, number>) => bytesOf.forEach((bytes, hash) => sent.set(hash, bytes));
  const other = await startApi({}, { delivered: { add } });
  for (const hash of ['sent-1', 'sent-2']) await other.putMedia(videoKey(hash, rev, segment), 'x'.repeat(50_000));
  for (const hash of ['sent-1', 'sent-1', 'sent-2']) expect((await other.raw(addressOf(hash))).status).toBe(200);
  expect((await other.raw(addressOf('sent-2'), { headers: { range: 'bytes=0-999' } })).status).toBe(206);
  expect((await other.raw(addressOf('sent-3'))).status).toBe(404);
  await other.close();
  expect([...sent.keys()].toSorted()).toEqual(['sent-1', 'sent-2']);
  // With the heads of the responses.
  expect(sent.get('sent-1')).toBeGreaterThanOrEqual(100_000);
  expect(sent.get('sent-1')).toBeLessThan(104_000);
  expect(sent.get('sent-2')).toBeGreaterThanOrEqual(51_000);
  expect(sent.get('sent-2')).toBeLessThan(55_000);
});

it('C35.27: a Job, its events, its timeline and that of its webhook have the key that asked for it', async () => {
  const { json } = await api.submit(
    { ...thumbnail('acme-asked'), callback_url: 'https://example.com/hook' },
    { 'x-api-key': named.text },
  );
  await api.complete(json.job_id, results);
  const of = (path: string) => api.call(`/api/jobs/${json.job_id}${path}`);
  for (const path of ['', '/timeline', '/callbacks']) expect((await of(path)).json.key_id, path).toBe(named.id);
  const { text } = await api.call(`/api/jobs/${json.job_id}/events`);
  expect(text).toContain(`"key_id":"${named.id}"`);
});

const made = async (name: string, quotas: unknown) => {
  const body = JSON.stringify({ name, rights: ['submit', 'read'], quotas });
  const { status, json } = await api.call('/api/keys', {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body,
  });
  return { status, json, headers: { 'x-api-key': json.key as string } };
};

const atOnce = (number: number) => thumbnail(`at-once-${number}`);

describe('quotas', () => {
  it('C37.15: a key is made with quotas, which are shown with it', async () => {
    const { status, json } = await made('shown', { jobs_a_day: 10, stored_bytes: 1e12 });
    expect([status, json.quotas]).toEqual([201, { jobs_a_day: 10, stored_bytes: 1e12 }]);
    const { keys } = (await api.call('/api/keys')).json;
    expect(keys).toContainEqual(expect.objectContaining({ name: 'shown', quotas: json.quotas }));
    expect((await made('none', {})).json.quotas).toBeNull();
    for (const wrong of [{ jobs_a_day: 0 }, { jobs_a_day: 1.5 }, { jobs: 3 }, 5])
      expect((await made('wrong', wrong)).status).toBe(400);
  });

  it('C37.11, C37.13: an answer warns of a quota at 80 %, and one over it is 429 with its name and Retry-After', async () => {
    const { headers } = await made('bounded', { jobs_at_once: 5, jobs_a_day: 6 });
    const warnings: (string | null)[] = [];
    for (let number = 0; number < 5; number += 1) {
      const { status, headers: answered } = await api.submit(atOnce(number), headers);
      expect(status).toBe(202);
      warnings.push(answered.get('x-quota-warning'));
    }
    expect(warnings.slice(0, 3)).toEqual([null, null, null]);
    expect(warnings[3]).toBe('jobs_at_once; used=4; limit=5');
    expect(warnings[4]).toMatch(
      /^jobs_at_once; used=5; limit=5, jobs_a_day; used=5; limit=6; until="\d{4}-.*T00:00:00.000Z"$/,
    );
    const refused = await api.submit(atOnce(5), headers);
    expect([refused.status, refused.json.code]).toEqual([429, 'rate_limited']);
    expect(refused.headers.get('retry-after')).toBe('60');
    expect(refused.json.errors).toEqual([
      {
        pointer: '/X-API-Key',
        code: 'jobs_at_once',
        detail: 'has used 5 of 5 of its quota jobs_at_once: wait until one of them has ended',
      },
    ]);
    const { json: equal, status } = await api.submit(atOnce(0), headers);
    expect([status, equal.hash]).toEqual([200, 'at-once-0']);
  });

  it('C37.12: a batch is accepted as far as the quotas of its key allow', async () => {
    const { headers } = await made('batch', { jobs_at_once: 2 });
    const jobs = [1, 2, 3, 4].map((number) => thumbnail(`batch-${number}`));
    const { json } = await api.call('/api/jobs/batch', {
      method: 'POST',
      headers: { ...headers, 'content-type': 'application/json' },
      body: JSON.stringify({ jobs }),
    });
    const entries = json.jobs as { status: number; problem?: { code: string } }[];
    expect(entries.map(({ status }) => status).toSorted((a, b) => a - b)).toEqual([202, 202, 429, 429]);
    expect(entries.flatMap(({ problem }) => (problem === undefined ? [] : [problem.code]))).toEqual([
      'rate_limited',
      'rate_limited',
    ]);
  });

  it('C37.12: a rerun is within the quotas of the key that asks for it', async () => {
    const { headers } = await made('reruns', { jobs_a_day: 1 });
    const { json } = await api.submit(thumbnail('rerun-1'), headers);
    await api.complete(json.job_id, results);
    const { status, json: problem } = await api.call(`/api/jobs/${json.job_id}/rerun`, { method: 'POST', headers });
    expect([status, problem.errors?.[0]?.code]).toEqual([429, 'jobs_a_day']);
  });
});

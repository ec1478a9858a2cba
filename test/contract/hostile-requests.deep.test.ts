import { sample } from 'fast-check';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { readEventRules } from '#domain/bucket-events/event-rules.ts';
import { changedJson, naughtyTexts } from '../../testing/hostile-values.ts';
import { apiKey, type ApiUnderTest, startApi } from './api-under-test.ts';

// Every naughty text in every place that a caller writes to. An answer is a 2xx or a 4xx as the contract has it, and
// the server is there afterwards.

const eventsToken = 'token-of-events-of-hostile-requests';
let api: ApiUnderTest;
beforeAll(async () => {
  const perMinute = 1_000_000;
  const limits = {
    apiRateLimitPerMinute: perMinute,
    keyRateLimitPerMinute: perMinute,
    batchRateLimitPerMinute: perMinute,
  };
  const read = readEventRules([{ prefix: '', type: 'image:thumbnail' }]);
  const eventRules = 'rules' in read ? read.rules : [];
  api = await startApi({ ...limits, eventRules, eventsTokens: [eventsToken] });
  await api.putSource('a.png', 'x');
});
afterAll(async () => {
  await api.close();
});

const texts = [...naughtyTexts, 'x'.repeat(5000), '🙂'.repeat(600), ...naughtyTexts.map((text) => `a${text}`)];
const body = { type: 'image:thumbnail', hash: 'h', source: 'a.png' };
const outputs = (variant: unknown) => ({ ...body, options: { outputs: [{ variant, width: 10, format: 'webp' }] } });

async function statuses(send: (text: string) => Promise<{ readonly status: number }>): Promise<Map<number, number>> {
  const found = new Map<number, number>();
  for (const text of texts) {
    const { status } = await send(text);
    expect([text, status < 500]).toEqual([text, true]);
    found.set(status, (found.get(status) ?? 0) + 1);
  }
  return found;
}

const fields: Readonly<Record<string, (text: string) => unknown>> = {
  hash: (hash) => ({ ...body, hash }),
  source: (source) => ({ ...body, source }),
  type: (type) => ({ ...body, type }),
  priority: (priority) => ({ ...body, priority }),
  callback_url: (callback_url) => ({ ...body, callback_url }),
  options: (options) => ({ ...body, options }),
  'the variant of an output': outputs,
  'the name of a field': (name) => ({ ...body, [name]: name }),
};

it.each(Object.entries(fields))('%s takes no text that is a fault of ours', async (_, make) => {
  const found = await statuses((text) => api.submit(make(text)));
  for (const status of found.keys()) expect([202, 200, 400, 409, 413]).toContain(status);
});

const event = {
  eventName: 'ObjectCreated:Put',
  s3: { bucket: { name: 'sources' }, object: { key: 'a.png', size: 1 } },
};
const bodies: Readonly<Record<string, object>> = {
  'POST /api/jobs': {
    ...body,
    options: { outputs: [{ variant: 'v', width: 10, format: 'webp' }] },
    callback_url: 'https://example.com/hook',
  },
  'POST /api/jobs/batch': { jobs: [body, body] },
  'POST /api/jobs/6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10/rerun': { reason: 'r', profile: 'default', source: 'a.png' },
  'POST /api/jobs/6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10/retry': {},
  'POST /api/jobs/6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10/cancel': {},
  'PATCH /api/media/h': { expires_at: '2100-01-01T00:00:00Z', legal_hold: true },
  'PUT /api/media/h/current': { revision: '0123456789abcdef' },
  'POST /api/rollouts': {
    to_profile: 'default',
    which: { hash_prefix: 'h' },
    budget: { jobs: 1 },
    canary: { share: 0.1 },
  },
  'POST /api/profiles/check': { text: 'a: 1', source: { width: 1, height: 1, duration_sec: 1 } },
  'POST /api/events/s3': { Records: [event, event] },
};
const changedBodies = 150;

it.each(Object.entries(bodies))('%s takes no body that is a fault of ours', async (route, valid) => {
  const [method = '', path = ''] = route.split(' ');
  const headers = { 'x-api-key': apiKey, authorization: `Bearer ${eventsToken}`, 'content-type': 'application/json' };
  const changed = sample(changedJson(valid), { seed: 1, numRuns: changedBodies });
  const uncounted = Object.keys(valid).map((name) => JSON.stringify({ ...valid, [name]: { length: { toString: 1 } } }));
  for (const text of [...changed, ...uncounted]) {
    const { status } = await api.raw(path, { method, headers, body: Buffer.from(text) });
    expect([text, status < 500]).toEqual([text, true]);
  }
});

const paths: Readonly<Record<string, (text: string) => string>> = {
  'a cursor': (text) => `/api/jobs?cursor=${text}`,
  'a cursor of JSON': (text) => `/api/jobs?cursor=${Buffer.from(`[8.64e15,${text}]`).toString('base64url')}`,
  'a filter': (text) => `/api/jobs?hash=${text}&status=${text}`,
  'a limit': (text) => `/api/jobs?limit=${text}`,
  'the id of a job': (text) => `/api/jobs/${text}`,
  'the hash of a key': (text) => `/api/key/${text}`,
  'the path of a stream': (text) => `/stream/h/${text}.m3u8`,
  'the address of an image': (text) => `/thumb/${text}/${text}?w=${text}`,
  'any path': (text) => `/${text}`,
};

it.each(Object.entries(paths))('%s takes no text that is a fault of ours', async (_, make) => {
  const found = await statuses((text) => {
    const encoded = encodeURIComponent(text.toWellFormed());
    return api.raw(make(encoded), { headers: { 'x-api-key': apiKey } });
  });
  for (const status of found.keys())
    expect([200, 302, 307, 308, 400, 401, 403, 404, 405, 410, 414, 431]).toContain(status);
});

// Bytes that may stand in a header; others are no HTTP, which test/integration/delivery-hostile.deep.test.ts sends.
const value = (text: string) =>
  Buffer.from(text)
    .toString('latin1')
    .replaceAll(/[^\t\u0020-\u007e\u0080-\u00ff]/g, '?');

const names = ['idempotency-key', 'traceparent', 'tracestate', 'x-forwarded-for', 'range', 'accept', 'if-none-match'];
it.each([...names, 'authorization', 'content-type', 'accept-encoding', 'last-event-id', 'x-api-key', 'host', 'origin'])(
  'the header %s takes no text that is a fault of ours',
  async (name) => {
    await statuses(async (text) => {
      const sent = { 'x-api-key': apiKey, 'content-type': 'application/json', [name]: value(text) };
      const headers = Object.fromEntries(Object.entries(sent).map(([key, each]) => [key, each.trim()]));
      const list = await api.raw('/api/jobs?limit=1', { headers });
      const key = await api.raw('/api/key/h', { headers });
      const submitted = await api.raw('/api/jobs', {
        method: 'POST',
        headers,
        body: Buffer.from(JSON.stringify(body)),
      });
      return { status: Math.max(list.status, key.status, submitted.status) };
    });
  },
);

it('the server answers after all of them, and the list can be read to its end', async () => {
  let cursor: string | null = '';
  let pages = 0;
  while (cursor !== null && pages < 50) {
    const page = await api.call(`/api/jobs?limit=100${cursor === '' ? '' : `&cursor=${cursor}`}`);
    expect(page.status).toBe(200);
    cursor = (page.json as { next_cursor: string | null }).next_cursor;
    pages += 1;
  }
  process.stdout.write(
    `${texts.length * (Object.keys(fields).length + Object.keys(paths).length + 3 * 14)} requests sent\n`,
  );
});

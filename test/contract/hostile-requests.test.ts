import { afterAll, beforeAll, expect, it } from 'vitest';
import { naughtyTexts } from '../../testing/hostile-values.ts';
import { apiKey, type ApiUnderTest, startApi } from './api-under-test.ts';

// Every naughty text in every place that a caller writes to. An answer is a 2xx or a 4xx as the contract has it, and
// the server is there afterwards.

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi({ apiRateLimitPerMinute: 1_000_000, keyRateLimitPerMinute: 1_000_000 });
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

// Bytes that may stand in a header; others are no HTTP, which test/integration/delivery-hostile.test.ts sends.
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

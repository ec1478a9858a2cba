import { connect } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Answer, type ApiUnderTest, apiKey, keyTokenSecret, startApi } from './api-under-test.ts';
import { type JsonDocument, notUtf8, suiteDocuments } from './json-documents.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';

// docs/reference/contract.md, "Errors". Errors of streams: streams.test.ts; of images: images.test.ts.

let api: ApiUnderTest;
let counter = 0;
const thumbnail = () => ({ type: 'image:thumbnail', hash: `e${counter++}`, source: 'a.jpg' });

const authorization = (hash: string) =>
  `Bearer ${signPlaybackToken({ hash, exp: Math.floor(Date.now() / 1000) + 60 }, keyTokenSecret)}`;

const ask = (hash: string, path = `/api/key/${hash}`) =>
  api.raw(path, { headers: { authorization: authorization(hash) } });

/** An answer without what differs from one to the next. */
const answerOf = ({ status, headers, bytes }: Answer) => {
  const kept = [...headers].filter(([name]) => !['date', 'x-trace-id', 'ratelimit'].includes(name));
  return { status, headers: Object.fromEntries(kept), bytes: bytes.toString('hex') };
};

const send = async ({ name, bytes }: JsonDocument) => {
  const headers = { 'content-type': 'application/json' };
  const answer = await api.call('/api/jobs', { method: 'POST', headers, body: new Uint8Array(bytes) });
  return [name, answer.status, answer.json.code];
};

beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

describe('JSON that is not valid', () => {
  it('C22.1: every bad document of the JSON parsing test suite, and bytes that are not UTF-8, answer 400 invalid_json', async () => {
    const documents = [...suiteDocuments('n').filter(({ bytes }) => bytes.length > 0), ...notUtf8];
    expect(documents.length).toBeGreaterThan(190);
    for (const document of documents) expect(await send(document)).toEqual([document.name, 400, 'invalid_json']);
  });

  it('C22.1: every good document of the JSON parsing test suite is read', async () => {
    const documents = suiteDocuments('y');
    expect(documents.length).toBeGreaterThan(90);
    for (const document of documents) expect(await send(document)).toEqual([document.name, 400, 'invalid_request']);
  });

  it('C22.1: every document that the JSON parsing test suite leaves open answers 400', async () => {
    const documents = suiteDocuments('i');
    expect(documents.length).toBeGreaterThan(30);
    for (const document of documents) {
      const [, status, code] = await send(document);
      expect([document.name, status]).toEqual([document.name, 400]);
      expect(['invalid_json', 'invalid_request']).toContain(code);
    }
  });

  it('C22.2: a submission without a body answers 400', async () => {
    const answer = await api.submit('');
    expect([answer.status, answer.json.code]).toEqual([400, 'invalid_request']);
  });

  it.each([
    ['nested deeply', '['.repeat(100_000) + ']'.repeat(100_000)],
    ['with a prototype', '{"__proto__":{"type":"image:thumbnail","hash":"h","source":"s"}}'],
    ['with a constructor', '{"constructor":{"prototype":{"type":"image:thumbnail"}}}'],
    [
      'of which no text can be made',
      '{"type":"video:cover","hash":"h","source":{"length":{"toString":1,"valueOf":1}}}',
    ],
    [
      'with numbers over all bounds',
      '{"type":"video:cover","hash":"h","source":"s","options":{"timestamp_sec":1e999}}',
    ],
  ])('C22.2: a submission %s answers 400 and changes no object of the process', async (_, body) => {
    expect((await api.submit(body)).status).toBe(400);
    expect(({} as Record<string, unknown>)['type']).toBeUndefined();
  });

  it('C22.9: a name that stands twice has its last value, in what is checked and in what is used', async () => {
    const { hash } = thumbnail();
    const body = `{"type":"image:thumbnail","hash":"../x","source":"a.jpg","hash":"${hash}"}`;
    const answer = await api.submit(body);
    expect([answer.status, answer.json.hash]).toEqual([202, hash]);
  });
});

describe('other bodies', () => {
  it.each(['text/plain', 'application/x-www-form-urlencoded', 'application/xml', 'application/merge-patch+json'])(
    'C22.8: a body of the type %s answers 415',
    async (contentType) => {
      const answer = await api.submit(JSON.stringify(thumbnail()), { 'content-type': contentType });
      expect([answer.status, answer.json.code]).toEqual([415, 'unsupported_media_type']);
    },
  );

  it('C22.8: a charset is accepted, and a compressed body answers 415', async () => {
    const withCharset = { 'content-type': 'application/json; charset=utf-8' };
    expect((await api.submit(thumbnail(), withCharset)).status).toBe(202);
    expect((await api.submit(thumbnail(), { 'content-encoding': 'gzip' })).status).toBe(415);
  });

  it('C22.7: a body over 1 MiB answers 413', async () => {
    const answer = await api.submit(JSON.stringify({ ...thumbnail(), x: 'x'.repeat(1024 * 1024) }));
    expect([answer.status, answer.json.code]).toEqual([413, 'body_too_large']);
  });
});

describe('failures to store or to enqueue', () => {
  it('C22.5: a queue that refuses answers 500, and the same request again finds the one job and queues it', async () => {
    const add = api.d.queue.add.bind(api.d.queue);
    const submission = thumbnail();
    api.d.queue.add = () => Promise.reject(new Error('connect ECONNREFUSED redis.internal:6379'));
    try {
      for (let i = 0; i < 2; i++) {
        const refused = await api.submit(submission);
        expect([refused.status, refused.json.code]).toEqual([500, 'internal_error']);
        expect(refused.text).not.toContain('redis.internal');
      }
    } finally {
      api.d.queue.add = add;
    }
    const before = (await api.d.queue.depth()).default.pending;
    const again = await api.submit(submission);
    expect([again.status, again.json.status]).toEqual([200, 'queued']);
    expect((await api.d.queue.depth()).default.pending).toBe(before + 1);
    const { rows } = await api.d.database.pool.query('select 1 from jobs where hash = $1', [submission.hash]);
    expect(rows).toHaveLength(1);
  });

  it('C22.5: a database that fails answers 500 and adds no ticket', async () => {
    const insertOrFind = api.d.jobs.insertOrFind.bind(api.d.jobs);
    const before = (await api.d.queue.depth()).default.pending;
    api.d.jobs.insertOrFind = () => Promise.reject(new Error('relation "jobs" does not exist'));
    try {
      const answer = await api.submit(thumbnail());
      expect([answer.status, answer.json.code]).toEqual([500, 'internal_error']);
      expect(answer.text).not.toContain('relation');
    } finally {
      api.d.jobs.insertOrFind = insertOrFind;
    }
    expect((await api.d.queue.depth()).default.pending).toBe(before);
  });
});

describe('`GET /api/key/{hash}`', () => {
  it('C22.17: a key request answers 500 when the database fails', async () => {
    const find = api.d.contentKeys.find.bind(api.d.contentKeys);
    api.d.contentKeys.find = () => Promise.reject(new Error('relation "content_keys" does not exist'));
    try {
      const answer = await ask('not-asked-before');
      expect([answer.status, answer.json.code]).toEqual([500, 'internal_error']);
      expect(answer.text).not.toContain('relation');
    } finally {
      api.d.contentKeys.find = find;
    }
  });

  it('C18.6, C18.9: the key endpoint answers with the raw 16 bytes as application/octet-stream, which no cache keeps', async () => {
    const { key } = await api.d.contentKeys.findOrCreate('k1');
    const answer = await ask('k1');
    expect(answer.status).toBe(200);
    expect(answer.headers.get('content-type')).toBe('application/octet-stream');
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.bytes).toHaveLength(16);
    expect(answer.bytes.equals(key)).toBe(true);
  });

  it('C18.6, C18.9: a key that is remembered is answered like one that is not', async () => {
    await api.d.contentKeys.findOrCreate('k-remembered');
    const [first, second] = [await ask('k-remembered'), await ask('k-remembered')];
    expect(answerOf(second)).toEqual(answerOf(first));
    const leftBy = ({ headers }: typeof first) => Number(/r=(\d+)/.exec(headers.get('ratelimit') ?? '')?.[1]);
    // Counted too; the rest grows with the time between two requests.
    await expect.poll(async () => leftBy(await ask('k-remembered')) - leftBy(await ask('k-remembered'))).toBe(1);
  });

  it('C18.12: a key whose row is deleted is handed out for some seconds at most', async () => {
    await api.d.contentKeys.findOrCreate('k-revoked');
    expect((await ask('k-revoked')).status).toBe(200);
    await api.d.database.pool.query("delete from content_keys where hash = 'k-revoked'");
    await expect.poll(async () => (await ask('k-revoked')).status, { timeout: 7_000, interval: 500 }).toBe(404);
  }, 20_000);

  it('C22.17, C22.24: a stored key that cannot be unwrapped answers 500 without the reason', async () => {
    await api.d.contentKeys.findOrCreate('k2');
    await api.d.database.pool.query("update content_keys set hash = 'k3' where hash = 'k2'");
    const answer = await ask('k3');
    expect([answer.status, answer.json.code]).toEqual([500, 'internal_error']);
    expect(answer.json.detail).toBe('Send the same request again later; trace_id finds the reason in the log.');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('C18.10: the key endpoint answers the preflight of a page that sends Authorization', async () => {
    const headers = { origin: 'https://app.test', 'access-control-request-headers': 'authorization' };
    const answer = await api.raw('/api/key/k1', { method: 'OPTIONS', headers });
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-headers')).toContain('Authorization');
  });

  it('C18.7: /clearkey answers the same token with a W3C ClearKey licence', async () => {
    const { kid, key } = await api.d.contentKeys.findOrCreate('k1');
    const answer = await ask('k1', '/api/key/k1/clearkey');
    expect(answer.json).toEqual({
      keys: [{ kty: 'oct', kid: Buffer.from(kid, 'hex').toString('base64url'), k: key.toString('base64url') }],
      type: 'temporary',
    });
    expect((await api.raw('/api/key/k1/clearkey')).status).toBe(401);
    expect((await ask('k2', '/api/key/k1/clearkey')).status).toBe(403);
  });

  it.each([
    ['without a content type', {}],
    ['with application/json', { 'content-type': 'application/json' }],
    ['with application/octet-stream', { 'content-type': 'application/octet-stream' }],
  ])('C18.8: a licence request by POST %s gets the ClearKey licence, and its preflight allows it', async (_, type) => {
    await api.d.contentKeys.findOrCreate('k1');
    const body = new TextEncoder().encode('{"kids":["AAAAAAAAAAAAAAAAAAAAAA"],"type":"temporary"}');
    const request = { method: 'POST', body, headers: { authorization: authorization('k1'), ...type } };
    const answer = await api.raw('/api/key/k1/clearkey', request);
    expect(answer.status).toBe(200);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.json).toEqual((await ask('k1', '/api/key/k1/clearkey')).json);
    const preflight = await api.raw('/api/key/k1/clearkey', { method: 'OPTIONS' });
    expect(preflight.headers.get('access-control-allow-methods')).toBe('GET, POST, OPTIONS');
    expect(preflight.headers.get('access-control-allow-headers')).toMatch(/^Authorization, Content-Type, CMCD-/);
    expect((await api.raw('/api/key/k1', { method: 'POST' })).status).toBe(405);
  });

  it('C18.8: a licence request by POST is refused without a token, with a token of another media, and over 16 KiB', async () => {
    const statuses: number[] = [];
    for (const [hash, bytes] of [
      ['', 10],
      ['k2', 10],
      ['k1', 16 * 1024 + 1],
    ] as const) {
      const headers: Record<string, string> = hash === '' ? {} : { authorization: authorization(hash) };
      const request = { method: 'POST', headers, body: new Uint8Array(bytes) };
      statuses.push((await api.raw('/api/key/k1/clearkey', request)).status);
    }
    expect(statuses).toEqual([401, 403, 413]);
  });
});

describe('the form of errors', () => {
  it('C22.21, C22.23: errors are problem documents with the trace id of the answer', async () => {
    const answer = await api.call('/api/jobs/00000000-0000-4000-8000-000000000000?x=1');
    expect(answer.json).toEqual({
      type: '/docs#problem-not_found',
      title: 'There is nothing at this address.',
      status: 404,
      detail: 'There is no such job.',
      instance: '/api/jobs/00000000-0000-4000-8000-000000000000',
      code: 'not_found',
      trace_id: answer.headers.get('x-trace-id'),
    });
    expect(answer.headers.get('content-type')).toBe('application/problem+json');
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it.each([
    ['a header over the limit', `GET /healthz HTTP/1.1\r\nHost: x\r\nX-Big: ${'x'.repeat(20_000)}\r\n\r\n`, 431],
    ['no Host', 'GET /healthz HTTP/1.1\r\n\r\n', 400],
    ['two lengths', 'POST /api/jobs HTTP/1.1\r\nHost: x\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab', 400],
  ])('C22.25: %s is answered with a status', async (_, bytes, status) => {
    const answer = await new Promise<string>((resolve, reject) => {
      const socket = connect(Number(new URL(api.url).port), '127.0.0.1', () => socket.write(bytes));
      let received = '';
      socket.on('data', (chunk) => (received += String(chunk)));
      socket.on('close', () => resolve(received));
      socket.on('error', reject);
      socket.setTimeout(5000, () => socket.destroy());
    });
    expect(answer).toMatch(new RegExp(`^HTTP/1.1 ${status} `));
  });

  it('C22.24: no error holds the API key that was sent', async () => {
    const answer = await api.call('/nowhere', { headers: { 'x-api-key': apiKey } });
    expect(answer.text).not.toContain(apiKey);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// Each mistake that a caller makes first, and the message that says how to correct it.

const job = { type: 'video:transcode', hash: 'h', source: 'a.mp4' };

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi();
});
afterAll(() => api.close());

const faultsOf = async (body: unknown) => {
  const { json } = await api.submit(body);
  return Object.fromEntries(
    (json.errors ?? []).map(({ pointer, detail }: { pointer: string; detail: string }) => [pointer, detail]),
  ) as Record<string, string>;
};

describe('messages of refused requests', () => {
  it('an answer 401 names the header to send and the one that is not read', async () => {
    const { json, headers } = await api.raw('/api/jobs', { headers: { authorization: 'Bearer KEY' } });
    expect(json.detail).toBe('Send an API key in the header X-API-Key; the header Authorization is not read here.');
    expect(headers.get('www-authenticate')).toBe('X-API-Key');
  });

  it.each([
    ['{"a": 1,}', 'Line 1, column 9: expected double-quoted property name.'],
    ["{'a': 1}", "Line 1, column 2: expected property name or '}'."],
    ['{\n  "a": yes\n}', "Line 2, column 8: unexpected token 'y'."],
    ['{"a": 1', "Line 1, column 8: expected ',' or '}' after property value."],
    ['[', 'The JSON ends too early.'],
  ])('the problem of the invalid JSON %j names line and column', async (body, detail) => {
    expect((await api.submit(body)).json).toMatchObject({ code: 'invalid_json', detail });
  });

  it.each([
    ['a missing field', { type: job.type, hash: 'h' }, '/source', 'is required'],
    ['a null', { ...job, callback_url: null }, '/callback_url', 'must be a string, not null'],
    ['a number for a string', { ...job, hash: 7 }, '/hash', 'must be a string, not a number'],
    ['an empty source', { ...job, source: '' }, '/source', 'must not be empty'],
    [
      'an unknown type',
      { ...job, type: 'video:gif' },
      '/type',
      'must be one of image:thumbnail, video:cover, video:preview, video:transcode, video:full',
    ],
    [
      'a width out of bounds',
      { ...job, type: 'video:preview', options: { width: 4096 } },
      '/options/width',
      'must be at most 1280',
    ],
    ['a fraction', { ...job, type: 'video:preview', options: { fps: 2.5 } }, '/options/fps', 'must be a whole number'],
    [
      'no outputs',
      { ...job, type: 'image:thumbnail', options: { outputs: [] } },
      '/options/outputs',
      'must have at least 1 item',
    ],
    [
      'an option of a nested schema',
      { ...job, type: 'video:full', options: { encrypt: true } },
      '/options/encrypt',
      'is not a known field; known here: cover, preview, transcode; did you mean /options/transcode/encrypt?',
    ],
    [
      'another spelling',
      { ...job, callbackUrl: 'https://example.com/' },
      '/callbackUrl',
      'is not a known field; known here: type, hash, source, callback_url, options; did you mean /callback_url?',
    ],
    [
      'a private callback',
      { ...job, callback_url: 'http://10.0.0.1/hook' },
      '/callback_url',
      'must lead to a public address or to a network that WEBHOOK_ALLOWED_CIDRS names',
    ],
    [
      'a URL as the source',
      { ...job, source: 's3://uploads/a.mp4' },
      '/source',
      'does not exist in the source bucket: it is a URL, so give the object key alone, without scheme and bucket',
    ],
  ])('the fault of %s says what is expected', async (_mistake, body, pointer, detail) => {
    expect(await faultsOf(body)).toMatchObject({ [pointer]: detail });
  });

  it('an answer 405 lists the methods of the address', async () => {
    const { json } = await api.call('/api/jobs', { method: 'PUT' });
    expect(json.detail).toBe('This address answers GET, HEAD, POST.');
  });

  it('an address with a slash too many is answered with the advice to remove it', async () => {
    for (const path of ['/api/jobs/', '/docs/'])
      expect((await api.call(path)).json).toMatchObject({
        code: 'not_found',
        detail: 'There is nothing at this address; remove the slash at its end.',
      });
  });

  it('the detail of a problem says more than its title', async () => {
    const answers = [
      await api.submit({}),
      await api.submit('{'),
      await api.raw('/api/jobs'),
      await api.call('/nowhere'),
      await api.call('/api/jobs', { method: 'PUT' }),
      await api.call('/api/jobs', { method: 'POST', headers: { 'content-type': 'text/plain' }, body: 'x' }),
      await api.submit(`{"a":"${'x'.repeat(1024 * 1024)}"}`),
      await api.submit({ ...job, source: 'missing.mp4' }),
    ];
    for (const { json } of answers) expect([json.code, json.detail]).not.toEqual([json.code, json.title]);
  });
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// Each mistake that a caller makes first, and the message that says how to correct it.

const job = { type: 'video:transcode', hash: 'h', source: 'a.mp4' };

let api: ApiUnderTest;
beforeAll(async () => {
  api = await startApi();
  await api.putSource('empty.mp4', '');
  await api.putSource('video.mkv', Buffer.concat([Buffer.from('1a45dfa3', 'hex'), Buffer.alloc(2000)]));
});
afterAll(() => api.close());

const faultsOf = async (body: unknown) => {
  const { json } = await api.submit(body === undefined ? '' : body);
  return Object.fromEntries(
    (json.errors ?? []).map(({ pointer, detail }: { pointer: string; detail: string }) => [pointer, detail]),
  ) as Record<string, string>;
};

const statusOfImage = (service: ApiUnderTest, source: string) =>
  service.submit({ type: 'image:thumbnail', hash: source, source }).then(({ status }) => status);

const untilAborted = (signal?: AbortSignal) =>
  new Promise<never>((_resolve, reject) => {
    if (signal?.aborted === true) reject(signal.reason as Error);
    signal?.addEventListener('abort', () => reject(signal.reason as Error));
  });

describe('messages of refused requests', () => {
  it('an answer 401 names the header to send and the one that is not read', async () => {
    const { json, headers } = await api.raw('/api/jobs', { headers: { authorization: 'Bearer KEY' } });
    const fault = 'X-API-Key is missing or is not one of the API keys of this service.';
    expect(json.detail).toBe(`${fault} Send one of them in this header; Authorization holds no API key.`);
    expect(headers.get('www-authenticate')).toBe('X-API-Key');
  });

  it.each([
    ['{\n  "a": yes\n}', "Line 2, column 8: unexpected token 'y'."],
    ['[', 'The JSON ends too early.'],
  ])('the problem of the invalid JSON %j names line and column', async (body, detail) => {
    expect((await api.submit(body)).json).toMatchObject({ code: 'invalid_json', detail });
  });

  it.each([
    ['a missing field', { type: job.type, hash: 'h' }, '/source', 'is required'],
    [
      'an unknown type',
      { ...job, type: 'video:gif' },
      '/type',
      'must be one of image:thumbnail, video:cover, video:preview, video:transcode, video:full',
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
      '"s3://uploads/a.mp4" does not exist in the source bucket: it is a URL, so give the object key alone, without scheme and bucket',
    ],
    ['an empty body', undefined, '', 'the body is empty; send a JSON object'],
    ['an empty video', { ...job, source: 'empty.mp4' }, '/source', 'is an empty object (0 bytes); upload it again'],
    [
      'a video for image:thumbnail',
      { ...job, type: 'image:thumbnail', source: 'video.mkv' },
      '/source',
      'is not an image: its first bytes are those of matroska; a video:cover makes an image of a video',
    ],
  ])('the fault of %s says what is expected', async (_mistake, body, pointer, detail) => {
    expect(await faultsOf(body)).toMatchObject({ [pointer]: detail });
  });

  it('an answer 405 lists the methods of the address', async () => {
    const { json } = await api.call('/api/jobs', { method: 'PUT' });
    expect(json.detail).toBe('This address answers GET, HEAD, POST.');
  });

  it('an answer to DELETE of a job names the route that cancels', async () => {
    const { status, json } = await api.call('/api/jobs/b0000000-0000-4000-8000-000000000000', { method: 'DELETE' });
    const detail = 'This address answers GET, HEAD. POST /api/jobs/{id}/cancel ends a job; its row stays.';
    expect([status, json.detail]).toEqual([405, detail]);
  });

  it('an id that is a hash is answered with the way to the jobs of a hash', async () => {
    const { status, json } = await api.call('/api/jobs/movie-1');
    expect([status, json.detail]).toEqual([404, 'A job_id is a UUID. GET /api/jobs?hash= lists the jobs of a hash.']);
  });

  it('C11.34, C22.6: an image is accepted while its source is missing, is an image or named so, or storage does not answer', async () => {
    await api.putSource('heif.mp4', Buffer.from('\0\0\0\x18ftypheic\0\0\0\0mif1heic', 'latin1'));
    await api.putSource('text', 'neither an image nor a video');
    await api.putSource('named.JPG', Buffer.from('\x1aE\xdf\xa3', 'latin1'));
    expect([
      await statusOfImage(api, 'none.jpg'),
      await statusOfImage(api, 'heif.mp4'),
      await statusOfImage(api, 'text'),
      await statusOfImage(api, 'named.JPG'),
    ]).toEqual([202, 202, 202, 202]);
    const silent: Partial<ObjectStore> = {
      readStart: (_key, _bytesMax, { signal } = {}) => untilAborted(signal),
      head: (_key, signal) => untilAborted(signal),
      close: () => Promise.resolve(),
    };
    const other = await startApi({}, { source: silent as ObjectStore });
    try {
      expect(await statusOfImage(other, 'away')).toBe(202);
    } finally {
      await other.close();
    }
  });

  it('an address with a slash too many is answered with the advice to remove it', async () => {
    for (const path of ['/api/jobs/', '/docs/'])
      expect((await api.call(path)).json).toMatchObject({
        code: 'not_found',
        detail: 'There is nothing at this address; remove the slash at its end.',
      });
  });

  it.each([
    ['/stream/nothing/master.m3u8', 'No stream is published for nothing.'],
    ['/stream/nothing/video/r360_h264/playlist.m3u8', 'No stream is published for nothing.'],
    ['/stream/a/index.m3u8', 'There is no such object; playback of a begins at /stream/a/master.m3u8.'],
    ['/stream/a', 'Playback begins at /stream/{hash}/master.m3u8.'],
    ['/thumb/', 'There is no image at this address; it must be /thumb/{signature}/{encoded_key}.'],
    ['/thumb/x', 'There is no image at this address; it must be /thumb/{signature}/{encoded_key}.'],
    ['/api/key/a', 'Send Authorization: Bearer PLAYBACK_TOKEN, with a token for this media.'],
  ])('%s is answered with what to ask for', async (path, detail) => {
    expect((await api.raw(path)).json).toMatchObject({ detail });
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

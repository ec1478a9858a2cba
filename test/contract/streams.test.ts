import { createHash, randomBytes } from 'node:crypto';
import { request as httpRequest } from 'node:http';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { masterKey, videoKey, videoRoot } from '#domain/media/object-keys.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { getRaw } from '../../testing/raw-http.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Streams". No request here has a credential (C19.4).

const hash = 'movie-1';
const rev = '0123456789abcdef';
const segment = randomBytes(3 * 1024 * 1024);
const master = ['#EXTM3U', '#EXT-X-STREAM-INF:BANDWIDTH=1', `${rev}/video/r360_h264/playlist.m3u8`, ''].join('\n');
const playlist = `#EXTM3U\n${'#EXTINF:6,\nseg_1.m4s\n'.repeat(200)}`;
let api: ApiUnderTest;

beforeAll(async () => {
  api = await startApi();
  await api.putMedia(masterKey(hash), master);
  await api.putMedia(videoKey(hash, rev, 'video/r360_h264/playlist.m3u8'), playlist);
  await api.putMedia(videoKey(hash, rev, 'video/r360_h264/seg_1.m4s'), segment);
  await api.putMedia(videoKey(hash, rev, 'video/r360_h264/init.mp4'), 'init of a video');
  await api.putMedia(videoKey(hash, rev, 'audio/audio_en_aac_2ch/init.mp4'), 'init of an audio');
  await api.putMedia(videoKey(hash, rev, 'cover.jpg'), 'jpg');
  await api.putMedia(videoKey(hash, rev, 'preview.webp'), 'webp');
  await api.putMedia(videoKey(hash, rev, 'preview.gif'), 'gif');
  await api.putMedia(videoKey(hash, rev, 'manifest.mpd'), 'mpd');
  await api.putMedia(videoKey(hash, rev, 'storyboard/cues.vtt'), 'vtt');
  await api.putMedia(videoKey(hash, rev, 'empty.mp4'), '');
});
afterAll(() => api.close());

describe('objects of a stream', () => {
  it.each([
    ['master.m3u8', 'application/vnd.apple.mpegurl'],
    [`${rev}/video/r360_h264/playlist.m3u8`, 'application/vnd.apple.mpegurl'],
    [`${rev}/video/r360_h264/seg_1.m4s`, 'video/iso.segment'],
    [`${rev}/video/r360_h264/init.mp4`, 'video/mp4'],
    [`${rev}/audio/audio_en_aac_2ch/init.mp4`, 'audio/mp4'],
    [`${rev}/cover.jpg`, 'image/jpeg'],
    [`${rev}/preview.webp`, 'image/webp'],
    [`${rev}/manifest.mpd`, 'application/dash+xml'],
    [`${rev}/storyboard/cues.vtt`, 'text/vtt'],
  ])(
    'C17.2, C17.10, C17.11: the object %s is served as %s, to be cached for a year and read from any origin',
    async (path, contentType) => {
      const answer = await api.raw(`/stream/${hash}/${path}`);
      expect(answer.status).toBe(200);
      expect(answer.headers.get('content-type')).toBe(contentType);
      expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.headers.get('etag')).toMatch(/^"[^"]+"$/);
      expect(Number(answer.headers.get('content-length'))).toBe(answer.bytes.length);
    },
  );

  it('C17.1: a segment is served with the bytes that are stored', async () => {
    const answer = await api.raw(`/stream/${hash}/${rev}/video/r360_h264/seg_1.m4s`);
    expect(answer.bytes.equals(segment)).toBe(true);
  });

  it.each(['http://media.test', 'HTTP://media.test:8080', 'https://someone@media.test'])(
    'C17.1: a request for an absolute address below %s is answered as one for its path is (RFC 9112, section 3.2.2)',
    async (origin) => {
      for (const path of [`/stream/${hash}/master.m3u8`, `/stream/${hash}/${rev}/video/r360_h264/init.mp4`, '/']) {
        const [asked, plain] = [await getRaw(api.url, `${origin}${path}`), await getRaw(api.url, path)];
        expect([path, asked.status, asked.body]).toEqual([path, 200, plain.body]);
      }
      const twice = await getRaw(api.url, `${origin}/stream/${hash}/%6daster.m3u8?x=1`);
      expect([twice.status, /location: (.*)/.exec(twice.head)?.[1]]).toEqual([308, `/stream/${hash}/master.m3u8`]);
    },
  );

  it.each([
    ['video/r360_h264/playlist.m3u8', playlist],
    ['video/r360_h264/init.mp4', 'init of a video'],
    ['audio/audio_en_aac_2ch/init.mp4', 'init of an audio'],
    ['storyboard/cues.vtt', 'vtt'],
  ])('C17.3: the path %s without a revision means the current one', async (path, body) => {
    expect((await api.raw(`/stream/${hash}/${path}`)).text).toBe(body);
  });

  it('C17.5: the DASH manifest without a revision leads to the current one, for this request alone', async () => {
    const answer = await fetch(`${api.url}/stream/${hash}/manifest.mpd`, { redirect: 'manual' });
    expect(answer.status).toBe(302);
    expect(answer.headers.get('location')).toBe(`${rev}/manifest.mpd`);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(await (await fetch(`${api.url}/stream/${hash}/manifest.mpd?CMCD=ot%3Dm`)).text()).toBe('mpd');
  });

  it('C17.3, C17.4: a path without a revision follows the master playlist to a newer one, and the older plays on', async () => {
    const newer = 'fedcba9876543210';
    await api.putMedia(videoKey('moving', rev, 'video/r1_h264/init.mp4'), 'old');
    await api.putMedia(videoKey('moving', newer, 'video/r1_h264/init.mp4'), 'new');
    for (const path of ['master.m3u8', 'video/r1_h264/playlist.m3u8', 'video/r1_h264/seg_1.m4s'])
      await api.putMedia(videoKey('moving', rev, path), `old ${path}`);
    for (const [current, body] of [
      [rev, 'old'],
      [newer, 'new'],
    ]) {
      await api.putMedia(masterKey('moving'), `#EXTM3U\n${current}/video/r1_h264/playlist.m3u8\n`);
      // A top master is answered from memory for a second.
      const isFollowed = async () => expect((await api.raw('/stream/moving/video/r1_h264/init.mp4')).text).toBe(body);
      await vi.waitFor(isFollowed, { timeout: 5000, interval: 100 });
    }
    // Whatever an old page or a cached playlist names, also what was never asked for before.
    for (const path of [
      'master.m3u8',
      'video/r1_h264/playlist.m3u8',
      'video/r1_h264/init.mp4',
      'video/r1_h264/seg_1.m4s',
    ]) {
      const { status, text } = await api.raw(`/stream/moving/${rev}/${path}`);
      expect([path, status, text]).toEqual([path, 200, path === 'video/r1_h264/init.mp4' ? 'old' : `old ${path}`]);
    }
  });
});

describe('missing objects', () => {
  it.each([
    [`${hash}/${rev}/nothing.mp4`, 404],
    ['unknown/master.m3u8', 404],
    [hash, 404],
    [`${hash}/${rev}/preview.gif`, 404],
    ['unknown/manifest.mpd', 404],
    [`${hash}/${rev}/cover.JPG`, 404],
    ['bad hash/master.m3u8'.replace(' ', '%20'), 404],
    [`${hash}/${'x'.repeat(10_000)}.mp4`, 404],
  ])('C22.18, C17.7, C17.18: /stream/%s answers 404, which no cache keeps', async (path, status) => {
    const answer = await api.raw(`/stream/${path}`);
    expect(answer.status).toBe(status);
    expect(answer.headers.get('cache-control')).toBe('no-store');
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.json).toMatchObject({ status, code: 'not_found' });
  });
});

describe('hostile paths', () => {
  it.each([
    `${hash}/../${hash}/master.m3u8`,
    `${hash}/%2e%2e/x.m3u8`,
    `${hash}/%252e%252e/x.m3u8`,
    `${hash}/a..b.m3u8`,
    `..%2f..%2fetc/passwd.mp4`,
    `${hash}\\master.m3u8`,
    `${hash}/a%00.m3u8`,
    `${hash}/a%2500.m3u8`,
    `${hash}/%C2%85.m4s`,
    `${hash}//master.m3u8`,
    `${hash}/`,
    `${hash}/%zz.m3u8`,
  ])('C17.9: /stream/%s answers 400', async (path) => {
    const answer = await api.raw(`/stream/${path}`);
    expect([answer.status, answer.json.code]).toEqual([400, 'invalid_request']);
    expect(answer.headers.get('cache-control')).toBe('no-store');
  });

  it('C17.9: another spelling of the route or a query does not reach another object', async () => {
    expect((await api.raw(`/%73tream/${hash}/..%2fx.m3u8`)).status).toBeGreaterThanOrEqual(400);
    expect((await api.raw(`/stream/${hash}/master.m3u8?x=/../..`)).bytes).toEqual(
      (await api.raw(`/stream/${hash}/master.m3u8`)).bytes,
    );
  });

  it.each([`%6daster.m3u8`, `%6Daster.m3u8?${'y'.repeat(100)}`])(
    'C17.8: /stream/…/%s is sent to the one spelling of the address, which no cache keeps',
    async (path) => {
      for (const method of ['GET', 'HEAD']) {
        const answer = await api.raw(`/stream/${hash}/${path}`, { method });
        expect([answer.status, answer.headers.get('location')]).toEqual([308, `/stream/${hash}/master.m3u8`]);
        expect(answer.headers.get('cache-control')).toBe('no-store');
      }
    },
  );
});

describe('queries', () => {
  const cmcd = encodeURIComponent('bl=21300,ot=v,sid="6e2fb550-c457-11e9-bb97-0800200c9a66"');
  const queries = ['', '?', '?x=1', `?CMCD=${cmcd}`, `?_HLS_skip=YES&CMCD=${cmcd}&v=2`, '?CMCD=%zz', '?a=/../../b'];
  const paths = ['master.m3u8', `${rev}/video/r360_h264/seg_1.m4s`, 'video/r360_h264/playlist.m3u8'];

  it.each(paths)('C17.37: %s is the same with every query, in each kind of answer', async (path) => {
    const described = async (query: string, init: Parameters<typeof api.raw>[1]) => {
      const { status, bytes, headers } = await api.raw(`/stream/${hash}/${path}${query}`, init);
      const { date: _date, 'x-trace-id': _trace, ...same } = Object.fromEntries(headers);
      // Compared byte by byte, a segment takes seconds.
      return { status, digest: createHash('sha256').update(bytes).digest('hex'), same };
    };
    for (const init of [{}, { method: 'HEAD' }, { headers: { range: 'bytes=0-3' } }]) {
      const plain = await described('', init);
      expect(plain.status).toBeLessThan(300);
      for (const query of queries) expect(await described(query, init)).toEqual(plain);
    }
  });

  it.each([`/stream/${hash}/${rev}/video/r360_h264/seg_1.m4s`, '/api/key/movie', '/api/key/movie/clearkey'])(
    'C17.38: preflight of %s allows the four headers of CMCD',
    async (path) => {
      const names = ['cmcd-object', 'cmcd-request', 'cmcd-session', 'cmcd-status'];
      const headers = { origin: 'https://a.test', 'access-control-request-headers': names.join() };
      const answer = await api.raw(path, { method: 'OPTIONS', headers });
      expect(answer.status).toBe(204);
      const allowed = answer.headers.get('access-control-allow-headers')?.toLowerCase().split(', ');
      expect(allowed).toEqual(expect.arrayContaining(names));
    },
  );
});

describe('HEAD, ranges, ETag, OPTIONS, gzip', () => {
  const path = `/stream/${hash}/${rev}/video/r360_h264/seg_1.m4s`;
  const get = (headers: Record<string, string>, method = 'GET') => api.raw(path, { headers, method });

  it('C25.17: an answer from memory has the trace of its request too', async () => {
    const traceId = '0af7651916cd43dd8448eb211c80319c';
    const headers = { traceparent: `00-${traceId}-b7ad6b7169203331-01` };
    for (const name of ['master.m3u8', `${rev}/video/r360_h264/init.mp4`])
      for (let n = 0; n < 3; n++)
        expect((await api.raw(`/stream/${hash}/${name}`, { headers })).headers.get('x-trace-id')).toBe(traceId);
  });

  it('C17.13: HEAD answers with the headers of GET and no body', async () => {
    const [head, whole] = [await get({}, 'HEAD'), await get({})];
    expect([head.status, head.bytes.length]).toEqual([200, 0]);
    for (const name of ['content-length', 'content-type', 'etag', 'cache-control', 'accept-ranges'])
      expect(head.headers.get(name)).toBe(whole.headers.get(name));
  });

  it.each([
    ['bytes=0-0', 0, 0],
    ['bytes=100-199', 100, 199],
    [`bytes=${segment.length - 5}-`, segment.length - 5, segment.length - 1],
    ['bytes=-7', segment.length - 7, segment.length - 1],
    [`bytes=5-${segment.length + 100}`, 5, segment.length - 1],
    ['bytes=0-99999999999999999999', 0, segment.length - 1],
  ])('C17.14: the range %s answers 206', async (range, start, end) => {
    const answer = await get({ range });
    expect(answer.status).toBe(206);
    expect(answer.headers.get('content-range')).toBe(`bytes ${start}-${end}/${segment.length}`);
    expect(answer.bytes.equals(segment.subarray(start, end + 1))).toBe(true);
  });

  it.each([`bytes=${segment.length}-`, 'bytes=-0'])(
    'C17.14: the range %s, which cannot be met, answers 416',
    async (range) => {
      const answer = await get({ range });
      expect(answer.status).toBe(416);
      expect(answer.headers.get('content-range')).toBe(`bytes */${segment.length}`);
      expect(answer.headers.get('cache-control')).toBe('no-store');
    },
  );

  it.each(['bytes=0-1,4-5', 'bytes=9-1', 'lines=0-1', 'bytes=x-'])(
    'C17.14: the range %s gets the whole object',
    async (range) => {
      const answer = await get({ range });
      expect([answer.status, answer.bytes.length]).toEqual([200, segment.length]);
    },
  );

  it('C17.15: If-Range gives a range of the same object only', async () => {
    const etag = (await get({}, 'HEAD')).headers.get('etag') ?? '';
    expect((await get({ range: 'bytes=0-1', 'if-range': etag })).status).toBe(206);
    // By strong comparison (RFC 9110, section 13.1.5).
    for (const other of ['"other"', `W/${etag}`, etag.replaceAll('"', ''), 'Fri, 21 Nov 2025 00:00:00 GMT'])
      expect((await get({ range: 'bytes=0-1', 'if-range': other })).status).toBe(200);
  });

  it('C17.15: If-None-Match with the ETag answers 304 without a body', async () => {
    const etag = (await get({}, 'HEAD')).headers.get('etag') ?? '';
    const answer = await get({ 'if-none-match': `"x", ${etag}` });
    expect([answer.status, answer.bytes.length, answer.headers.get('etag')]).toEqual([304, 0, etag]);
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect((await get({ 'if-none-match': '"x"' })).status).toBe(200);
  });

  it.each([
    ['segment', `/${rev}/video/r360_h264/seg_1.m4s`, {}],
    ['playlist', `/${rev}/video/r360_h264/playlist.m3u8`, {}],
    ['compressed playlist', '/video/r360_h264/playlist.m3u8', { 'accept-encoding': 'gzip' }],
  ])('C17.41: If-Match of another ETag answers 412 to GET and HEAD of a %s', async (_what, below, encoding) => {
    const ask = (headers: Record<string, string>, method = 'GET') =>
      api.raw(`/stream/${hash}${below}`, { headers: { ...encoding, ...headers }, method });
    // Twice, so that a later answer could come from memory.
    const { headers: sent } = (await ask({}), await ask({}));
    const etag = sent.get('etag') ?? '';
    for (const method of ['GET', 'HEAD'])
      for (const other of ['"other"', `W/${etag}`, etag.replaceAll('"', '')]) {
        for (const more of [{}, { 'if-none-match': etag }, { range: 'bytes=0-1' }]) {
          const answer = await ask({ 'if-match': other, ...more }, method);
          expect([other, answer.status, answer.bytes.length]).toEqual([other, 412, 0]);
          expect(answer.headers.get('cache-control')).toBe('no-store');
        }
      }
    for (const own of [etag, `"x", ${etag}`, '*']) expect((await ask({ 'if-match': own })).status).toBe(200);
    expect((await ask({ 'if-match': etag, 'if-none-match': etag })).status).toBe(304);
  });

  it('C17.16: OPTIONS allows any origin to read a stream', async () => {
    const answer = await get({ origin: 'https://a.test', 'access-control-request-headers': 'range' }, 'OPTIONS');
    expect(answer.status).toBe(204);
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('access-control-allow-methods')).toContain('GET');
    expect(answer.headers.get('access-control-allow-headers')?.toLowerCase()).toContain('range');
    expect(answer.headers.get('access-control-max-age')).toBe('86400');
  });

  it('C17.17: playlists are compressed on request, and nothing else', async () => {
    const headers = { 'accept-encoding': 'gzip' };
    const plain = await api.raw(`/stream/${hash}/video/r360_h264/playlist.m3u8`);
    const answer = await api.raw(`/stream/${hash}/video/r360_h264/playlist.m3u8`, { headers });
    expect(answer.headers.get('content-encoding')).toBe('gzip');
    // A page that reads the length must be able to read of what it is the length.
    expect(answer.headers.get('access-control-expose-headers')).toMatch(/Content-Encoding, Content-Length/);
    expect(gunzipSync(answer.bytes).toString()).toBe(playlist);
    expect(answer.headers.get('etag')).not.toBe(plain.headers.get('etag'));
    for (const { headers: sent } of [plain, answer]) expect(sent.get('vary')).toContain('Accept-Encoding');
    const etag = answer.headers.get('etag') ?? '';
    const again = { headers: { ...headers, 'if-none-match': etag } };
    expect((await api.raw(`/stream/${hash}/video/r360_h264/playlist.m3u8`, again)).status).toBe(304);
    expect((await get(headers)).headers.has('content-encoding')).toBe(false);
  });

  it('an empty object answers 200 without bytes', async () => {
    const answer = await api.raw(`/stream/${hash}/${rev}/empty.mp4`);
    expect([answer.status, answer.headers.get('content-length')]).toEqual([200, '0']);
  });
});

describe('clients that leave', () => {
  it('C17.19: a client that reads slowly or leaves delays no other, and the reading of its object ends', async () => {
    let opened = 0;
    let ended = 0;
    const { media } = api.d;
    const watched: ObjectStore = {
      head: (...args) => media.head(...args),
      readStart: (...args) => media.readStart(...args),
      put: (...args) => media.put(...args),
      putNew: (...args) => media.putNew(...args),
      list: (...args) => media.list(...args),
      delete: (...args) => media.delete(...args),
      ping: (...args) => media.ping(...args),
      missingRights: () => media.missingRights(),
      // The bucket is the other API's, which closes it.
      close: () => Promise.resolve(),
      get: (...args) => media.get(...args),
      download: async (...args) => {
        const found = await media.download(...args);
        if (found === null) return null;
        opened += 1;
        return {
          info: found.info,
          start: (receiver) =>
            found.start({
              onPiece: (piece) => receiver.onPiece(piece),
              onFailure: (error) => receiver.onFailure(error),
              onEnd: () => {
                ended += 1;
                receiver.onEnd();
              },
            }),
          pause: () => found.pause(),
          resume: () => found.resume(),
          destroy: () => {
            ended += 1;
            found.destroy();
          },
        };
      },
    };
    const other = await startApi({ deliveryCacheBytesMax: 0 }, { media: watched });
    try {
      const path = `/stream/${hash}/${rev}/video/r360_h264/seg_1.m4s`;
      for (let i = 0; i < 5; i++) {
        const { port } = new URL(other.url);
        const request = httpRequest({ host: '127.0.0.1', port, path, agent: false });
        request.on('error', () => {});
        request.end();
        const [response] = await new Promise<[{ once: typeof request.once }]>((resolve) =>
          request.once('response', (...args) => resolve(args as never)),
        );
        await new Promise((resolve) => response.once('data', resolve));
        request.destroy();
      }
      await vi.waitFor(() => expect([opened, ended]).toEqual([5, 5]), { timeout: 5000 });
      expect((await other.raw(path)).bytes.equals(segment)).toBe(true);
    } finally {
      await other.close();
    }
  });
});

it('C27.4: the keys of a video begin with videos/, two characters and its hash', () => {
  expect(videoRoot(hash)).toMatch(/^videos\/[0-9a-f]{2}\/movie-1$/);
});

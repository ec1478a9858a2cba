import { afterAll, beforeAll, describe, expect, inject, it, vi } from 'vitest';
import { masterKey, videoKey } from '#domain/media/object-keys.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { type ApiUnderTest, keyTokenSecret, startApi } from '../contract/api-under-test.ts';
import { type Proxy, startProxy } from '../../testing/proxy.ts';

// What the API does while Redis or PostgreSQL is away, and after.

const rev = '0123456789abcdef';
let counter = 0;
const thumbnail = () => ({ type: 'image:thumbnail', hash: `o${counter++}`, source: 'a.jpg' });
const authorization = () =>
  `Bearer ${signPlaybackToken({ hash: 'movie', exp: Math.floor(Date.now() / 1000) + 60 }, keyTokenSecret)}`;

async function withMovie(api: ApiUnderTest): Promise<void> {
  await api.d.contentKeys.findOrCreate('movie');
  await api.putMedia(masterKey('movie'), `#EXTM3U\n${rev}/video/r360_h264/playlist.m3u8\n`);
  await api.putMedia(videoKey('movie', rev, 'video/r360_h264/init.mp4'), 'init');
}

async function timed<T>(work: Promise<T>): Promise<{ value: T; ms: number }> {
  const began = performance.now();
  const value = await work;
  return { value, ms: performance.now() - began };
}

describe.skipIf(!inject('redis'))('while Redis is away', () => {
  let api: ApiUnderTest;
  let proxy: Proxy;
  beforeAll(async () => {
    api = await startApi(
      { apiRateLimitPerMinute: 50 },
      {},
      { redis: async (url) => (proxy = await startProxy(url)).url },
    );
    await withMovie(api);
  });
  afterAll(async () => {
    await proxy.set('open');
    await api.close();
    await proxy.close();
  });

  it.each(['cut', 'silent'] as const)(
    'C17.20, C18.11, C22.5: while Redis is %s, submissions answer 500 soon and everything else goes on',
    async (how) => {
      const before = (await api.submit(thumbnail())).json.job_id as string;
      const submission = thumbnail();
      await proxy.set(how);
      const { value: refused, ms } = await timed(api.submit(submission));
      expect([refused.status, refused.json.code]).toEqual([500, 'internal_error']);
      expect(ms).toBeLessThan(10_000);

      expect((await api.call(`/api/jobs/${before}`)).status).toBe(200);
      expect((await api.call('/api/jobs')).status).toBe(200);
      expect((await api.raw('/stream/movie/video/r360_h264/init.mp4')).text).toBe('init');
      const key = await timed(api.raw('/api/key/movie', { headers: { authorization: authorization() } }));
      expect(key.value.status).toBe(200);
      expect(key.ms).toBeLessThan(3000);
      const ready = await timed(api.raw('/readyz'));
      expect(ready.value.status).toBe(503);
      expect(ready.value.text).toMatch(/^not ready: key_value_store: /);
      expect(ready.ms).toBeLessThan(2500);

      await proxy.set('open');
      await vi.waitFor(async () => expect((await api.raw('/readyz')).text).toBe('OK'), {
        timeout: 15_000,
        interval: 200,
      });
      // The queue's own connection may come back a little later than the one of the limits.
      const again = await vi.waitFor(
        async () => {
          const answer = await api.submit(submission);
          expect(answer.status).toBe(200);
          return answer;
        },
        { timeout: 15_000, interval: 200 },
      );
      expect(again.json.status).toBe('queued');
      expect((await api.submit(thumbnail())).status).toBe(202);
      const { rows } = await api.d.database.pool.query('select 1 from jobs where hash = $1', [submission.hash]);
      expect(rows).toHaveLength(1);
    },
  );
});

describe('while PostgreSQL is away', () => {
  let api: ApiUnderTest;
  let proxy: Proxy;
  beforeAll(async () => {
    api = await startApi({}, {}, { postgres: async (url) => (proxy = await startProxy(url)).url });
    await withMovie(api);
  });
  afterAll(async () => {
    await proxy.set('open');
    await api.close();
    await proxy.close();
  });

  it.each(['cut', 'silent'] as const)(
    'C17.20, C25.3: while PostgreSQL is %s, /readyz names it within 2 s, streams play, and the API recovers by itself',
    async (how) => {
      await proxy.set(how);
      const ready = await timed(api.raw('/readyz'));
      expect(ready.value.status).toBe(503);
      expect(ready.value.text).toMatch(/^not ready: .*database: /);
      expect(ready.ms).toBeLessThan(2500);
      expect((await api.raw('/healthz')).status).toBe(200);
      expect((await api.raw('/stream/movie/master.m3u8')).status).toBe(200);
      if (how === 'cut') {
        expect((await api.submit(thumbnail())).status).toBe(500);
        expect((await api.call('/api/jobs/00000000-0000-4000-8000-000000000000')).status).toBe(500);
      }
      await proxy.set('cut');
      await proxy.set('open');
      await vi.waitFor(async () => expect((await api.submit(thumbnail())).status).toBe(202), { timeout: 15_000 });
    },
  );
});

import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { masterKey, videoKey } from '#domain/media/object-keys.ts';
import { addSession, emptySketch, sketchToBits } from '#domain/playback/session-sketch.ts';
import { type AddedPlayback, PlaybackDayStore } from '#platform/postgres/playback-day-store.ts';
import { RetentionStore } from '#platform/postgres/retention-store.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { playbackRetentionTask } from '../../controller/upkeep/playback-retention.ts';
import { PlaybackFigures } from '../../delivery/playback/playback-figures.ts';
import { playbackWrites } from '../../delivery/playback/playback-writes.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// What players say of their state: metrics of all media, and a digest of each media and day.

const rev = '0123456789abcdef';
const segment = (hash: string, n = 1) => `/stream/${hash}/${rev}/video/r360_h264/seg_${n}.m4s`;
const query = (text: string) => `?CMCD=${encodeURIComponent(text)}`;
const signal = new AbortController().signal;

const makeMedia = async (api: ApiUnderTest, hash: string) => {
  await api.d.database.pool.query('insert into media (hash) values ($1) on conflict do nothing', [hash]);
  await api.submit({ type: 'image:thumbnail', hash, source: 'a.jpg' });
  await api.putMedia(masterKey(hash), `#EXTM3U\n${rev}/video/r360_h264/playlist.m3u8\n`);
  await api.putMedia(videoKey(hash, rev, 'video/r360_h264/playlist.m3u8'), '#EXTM3U\n');
  await api.putMedia(videoKey(hash, rev, 'video/r360_h264/seg_1.m4s'), 'a segment');
};
const playback = async (api: ApiUnderTest, hash: string, more = '') =>
  (await api.call(`/api/media/${hash}/playback${more}`)).json;
const series = async (api: ApiUnderTest) =>
  new Map(
    (await api.raw('/metrics')).text
      .split('\n')
      .filter((line) => line.startsWith('svc_playback_'))
      .map((line) => [line.slice(0, line.lastIndexOf(' ')), Number(line.slice(line.lastIndexOf(' ')))]),
  );

const added = (hash: string, sessions: readonly string[], more: Partial<AddedPlayback> = {}): AddedPlayback => {
  const sketch = emptySketch();
  for (const id of sessions) addSession(sketch, id);
  const throughputs = Array.from({ length: 48 }, (_, range) => (range === 20 ? 1 : 0));
  return { hash, requests: 10, starved: 1, sessionBits: sketchToBits(sketch), throughputs, ...more };
};
const write = (store: PlaybackDayStore, hashes: readonly string[], sessions: readonly string[]) =>
  store.add(hashes.map((hash) => added(hash, sessions)));

describe('a server with PLAYBACK_FIGURES', () => {
  let api: ApiUnderTest;
  beforeAll(async () => {
    api = await startApi({ playbackFigures: true });
    for (const hash of ['played', 'other']) await makeMedia(api, hash);
  });
  afterAll(() => api.close());

  it('C34.1, C34.2: what players say in the query or in headers is counted once for each answered request, by no media and no session', async () => {
    const said = 'bl=4000,br=2000,mtp=6000,ot=v,sid="a-session"';
    const asks: [path: string, init: Parameters<typeof api.raw>[1]][] = [
      [`${segment('played')}${query(said)}`, {}],
      [`${segment('played')}${query(`${said},bs,su`)}`, { headers: { range: 'bytes=0-1' } }],
      [segment('played'), { headers: { 'CMCD-Object': 'br=2000,ot=v', 'CMCD-Request': 'bl=4000,mtp=6000' } }],
      [`/stream/played/master.m3u8${query('ot=m,msd=700,v=2')}`, { method: 'HEAD' }],
      [`/stream/played/video/r360_h264/playlist.m3u8${query('ot=m')}`, { headers: { 'accept-encoding': 'gzip' } }],
      // Nothing is said, or nothing is answered.
      [segment('played'), {}],
      [`${segment('played')}?CMCD=nothing&x=1`, {}],
      [`${segment('played', 2)}${query(said)}`, {}],
      [`/stream/played/%6daster.m3u8${query(said)}`, {}],
      [`/stream/nobody/master.m3u8${query(said)}`, {}],
    ];
    for (const [path, init] of asks) await api.raw(path, init);
    const counted = await series(api);
    expect(
      Object.fromEntries([...counted].filter(([name, count]) => name.includes('_requests_total') && count > 0)),
    ).toEqual({
      'svc_playback_requests_total{object="video",starved="false"}': 2,
      'svc_playback_requests_total{object="video",starved="true"}': 1,
      'svc_playback_requests_total{object="manifest",starved="false"}': 2,
      svc_playback_startup_requests_total: 1,
    });
    expect(counted.get('svc_playback_buffer_seconds_sum')).toBe(12);
    expect(counted.get('svc_playback_throughput_ratio_sum')).toBe(9);
    expect(counted.get('svc_playback_throughput_ratio_count')).toBe(3);
    expect(counted.get('svc_playback_start_delay_seconds_sum')).toBe(0.7);
    expect([...counted.keys()].join('\n')).not.toMatch(/played|a-session|127\.0\.0\.1/);
  });

  it('C34.3, C34.6: the digest of a media has its requests, sessions, starved share and median throughput by day', async () => {
    for (let n = 0; n < 20; n++)
      await api.raw(`${segment('other')}${query(`ot=v,mtp=5000,sid="session-${n % 10}"${n < 5 ? ',bs' : ''}`)}`);
    const day = new Date().toISOString().slice(0, 10);
    await expect
      .poll(async () => (await playback(api, 'other')).days, { timeout: 30_000, interval: 500 })
      .not.toEqual([]);
    const { days } = await playback(api, 'other');
    expect(days).toHaveLength(1);
    expect(days[0]).toMatchObject({ day, requests: 20, starved_share: 0.25 });
    expect(Math.abs(days[0].sessions - 10)).toBeLessThanOrEqual(1);
    expect(Math.abs(days[0].median_throughput_kbps / 5000 - 1)).toBeLessThan(0.13);
    const { rows } = await api.d.database.pool.query('select playback_days::text as row from playback_days');
    expect(JSON.stringify(rows)).not.toMatch(/session-|127\.0\.0\.1/);
  });

  it('C34.6: an unknown media has no playback, and a number of days is from 1 to 366', async () => {
    expect((await api.call('/api/media/nobody/playback')).json.code).toBe('not_found');
    expect((await api.call('/api/media/other/playback?days=0')).json.code).toBe('invalid_request');
    expect((await api.raw('/api/media/other/playback')).status).toBe(401);
  });
});

describe('a server without PLAYBACK_FIGURES', () => {
  let api: ApiUnderTest;
  beforeAll(async () => {
    api = await startApi();
    await makeMedia(api, 'played');
  });
  afterAll(() => api.close());

  it('C34.5: by default nothing that players say is read', async () => {
    expect((await api.raw(`${segment('played')}${query('ot=v,bs')}`)).status).toBe(200);
    expect([...(await series(api)).values()].every((value) => value === 0)).toBe(true);
  });

  it('C34.4: servers add to one digest, in whatever order they write, and a session that changed servers counts once', async () => {
    const stores = [new PlaybackDayStore(api.d.database), new PlaybackDayStore(api.d.database)];
    for (const hash of ['shared-1', 'shared-2']) await makeMedia(api, hash);
    await Promise.all(
      Array.from({ length: 20 }, (_, n) =>
        Promise.all([
          write(stores[0] as PlaybackDayStore, ['shared-1', 'shared-2'], ['a', `left-${n % 2}`]),
          write(stores[1] as PlaybackDayStore, ['shared-2', 'shared-1'], ['a', `right-${n % 2}`]),
        ]),
      ),
    );
    for (const hash of ['shared-1', 'shared-2']) {
      const { days } = await playback(api, hash);
      expect(days).toMatchObject([{ requests: 400, starved_share: 0.1, sessions: 5 }]);
    }
  });

  it('C34.7: a deleted media takes its digests with it, and a server that writes later writes nothing, before or after the deletion', async () => {
    const store = new PlaybackDayStore(api.d.database);
    for (const hash of ['leaves', 'stays']) await makeMedia(api, hash);
    await store.add([added('leaves', ['a'])]);
    const client = await api.d.database.pool.connect();
    try {
      // The deletion has begun when the server writes, which waits for its end.
      await client.query('begin');
      await client.query(`delete from media where hash = 'leaves'`);
      const written = store.add([added('leaves', ['b']), added('stays', ['b'])]).catch(() => 'refused');
      await new Promise((resolve) => setTimeout(resolve, 100));
      await client.query('commit');
      if ((await written) === 'refused') await store.add([added('leaves', ['b']), added('stays', ['b'])]);
    } finally {
      client.release();
    }
    await store.add([added('leaves', ['c']), added('never-made', ['c'])]);
    const { rows } = await api.d.database.pool.query(
      `select hash from playback_days where hash in ('leaves', 'stays', 'never-made')`,
    );
    expect(rows).toEqual([{ hash: 'stays' }]);
  });

  it('C34.8: digests are deleted PLAYBACK_RETENTION after their day', async () => {
    await makeMedia(api, 'aged');
    await api.d.playbackDays.add([added('aged', ['a'])]);
    const { pool } = api.d.database;
    for (const age of [1, 89, 91, 400])
      await pool.query(
        `insert into playback_days select hash, (now() at time zone 'UTC')::date - $1::int, requests, starved, sessions, throughputs
         from playback_days where hash = 'aged' and day = (now() at time zone 'UTC')::date`,
        [age],
      );
    expect((await playback(api, 'aged', '?days=366')).days).toHaveLength(4);
    await playbackRetentionTask({
      retention: new RetentionStore(api.d.database),
      playbackRetentionMs: 90 * 86_400_000,
    }).work(signal);
    const { rows } = await pool.query<{ age: number }>(
      `select (now() at time zone 'UTC')::date - day as age from playback_days where hash = 'aged' order by age`,
    );
    expect(rows.map(({ age }) => age)).toEqual([0, 1, 89]);
  });

  it('C34.9: digests that could not be written are written later, and what is over the bound is counted as dropped', async () => {
    const metrics = new Metrics();
    const figures = new PlaybackFigures({ metrics, mediaMax: 2 });
    let isAway = true;
    const store = {
      add: async (rows: readonly AddedPlayback[]) => {
        if (isAway) throw new Error('away');
        await api.d.playbackDays.add(rows);
      },
    };
    const writes = playbackWrites({ figures, store, log: createLogger({ level: 'silent', name: 'test' }) });
    const note = (hash: string) =>
      figures.note(
        { url: `${segment(hash)}${query('ot=v,bs,sid="x"')}`, headers: {} },
        { headersSent: true, statusCode: 200 },
      );
    for (const hash of ['kept-1', 'kept-2']) await makeMedia(api, hash);
    for (const hash of ['kept-1', 'kept-2', 'kept-2', 'over-1', 'over-1']) note(hash);
    await writes.write();
    note('kept-1');
    isAway = false;
    await writes.write();
    await writes.write();
    for (const hash of ['kept-1', 'kept-2'])
      expect((await playback(api, hash)).days).toMatchObject([{ requests: 2, starved_share: 1, sessions: 1 }]);
    expect(await metrics.registry.getSingleMetricAsString('svc_playback_dropped_total')).toMatch(/ 2$/);
  });
});

describe('a server with STREAM_BYTES_PER_HOUR', () => {
  it('C34.10: an address that has had its bytes is refused with the time until it gets more, and no other address is', async () => {
    const bytes = 64 * 1024;
    const api = await startApi({ streamBytesPerHour: bytes, trustedProxies: ['127.0.0.0/8', '::1/128'] });
    try {
      await makeMedia(api, 'pulled');
      await api.putMedia(videoKey('pulled', rev, 'video/r360_h264/seg_1.m4s'), Buffer.alloc(bytes));
      const get = (address: string, path = segment('pulled'), more = {}) =>
        api.raw(path, { headers: { 'x-forwarded-for': address, ...more } });
      expect((await get('192.0.2.1')).status).toBe(200);
      for (const path of [
        segment('pulled'),
        '/stream/pulled/master.m3u8',
        '/stream/pulled/video/r360_h264/playlist.m3u8',
      ]) {
        const refused = await get('192.0.2.1', path);
        expect([refused.status, refused.json.code]).toEqual([429, 'rate_limited']);
        expect(Number(refused.headers.get('retry-after'))).toBeGreaterThan(3_500);
        expect(Number(refused.headers.get('retry-after'))).toBeLessThanOrEqual(3_600);
        expect(refused.headers.get('cache-control')).toBe('no-store');
        expect(refused.headers.get('access-control-allow-origin')).toBe('*');
      }
      expect((await get('192.0.2.1', segment('pulled'), { range: 'bytes=0-1' })).status).toBe(429);
      expect((await get('192.0.2.2')).status).toBe(200);
      expect((await get('2001:db8::1')).status).toBe(200);
      expect((await get('2001:db8::2')).status).toBe(429);
    } finally {
      await api.close();
    }
  });
});

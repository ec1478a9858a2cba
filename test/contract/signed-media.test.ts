import { randomUUID } from 'node:crypto';
import type { AddressInfo } from 'node:net';
import type { FastifyInstance } from 'fastify';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { masterKey, revisionOf, videoKey } from '#domain/media/object-keys.ts';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import { signStreamTicket } from '#domain/playback/ticket.ts';
import { createHttpServer } from '#platform/http/server.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { httpServiceOptions } from '../../http-service.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Signed playback": media that are signed, on two servers with caches of their own.

const secret = 'a secret of streams of signed media';
/** The time that a promise of five seconds takes on a slow machine. */
const within = { timeout: 5_000, interval: 100 };

let api: ApiUnderTest;
let other: FastifyInstance;
let servers: readonly string[];
beforeAll(async () => {
  const mediaProfiles = mediaProfilesSchema.parse({ profiles: { private: { playback: 'signed' }, free: {} } });
  api = await startApi({
    streamSecrets: [secret],
    mediaProfiles,
    console: 'on',
    purgeHookUrl: 'http://cdn.internal/purge',
  });
  other = await createHttpServer(httpServiceOptions({ ...api.d, metrics: new Metrics() }));
  await other.listen({ host: '127.0.0.1', port: 0 });
  servers = [api.url, `http://127.0.0.1:${(other.server.address() as AddressInfo).port}`];
});
afterAll(async () => {
  await other.close();
  await api.close();
});

const ticketOf = (hash: string, generation = 0) =>
  signStreamTicket({ hash, exp: Math.floor(Date.now() / 1000) + 600, generation }, secret);
const get = (server: string, path: string) => fetch(`${server}${path}`, { redirect: 'manual' });
const statusesOf = (path: string) => Promise.all(servers.map(async (server) => (await get(server, path)).status));
const patch = (hash: string, body: object) =>
  api.call(`/api/media/${hash}`, {
    method: 'PATCH',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(body),
  });
const withdraw = (hash: string) => api.call(`/api/media/${hash}/playback/withdraw`, { method: 'POST' });
const purgesOf = async (hash: string) => {
  const { rows } = await api.d.database.pool.query(
    `select body, extract(epoch from next_attempt_at - now()) as seconds from webhook_events
     where job_id is null and body like $1 order by created_at`,
    [`%"${hash}"%`],
  );
  return rows.map(({ body, seconds }) => ({ paths: JSON.parse(body).paths as string[], seconds: Number(seconds) }));
};

/** A media whose stream has a master, a segment, a cover and a sheet. */
async function stream(
  profile = 'free',
  hash = `s-${randomUUID().slice(0, 8)}`,
): Promise<{ hash: string; paths: string[] }> {
  await api.putSource('a.mp4', Buffer.alloc(10, 1));
  const { json: job } = await api.submit(
    { type: 'video:transcode', hash, source: 'a.mp4', options: {} },
    { 'x-profile': profile },
  );
  const rev = revisionOf(job.job_id, 1);
  const below = ['video/r64_h264/seg_1.m4s', 'cover.jpg', 'storyboard/sheet_1.jpg', 'manifest.mpd', 'preview.webp'];
  for (const path of below) await api.putMedia(videoKey(hash, rev, path), 'bytes');
  await api.putMedia(masterKey(hash), `#EXTM3U\n${rev}/video/r64_h264/playlist.m3u8\n`);
  const streaming = { protocol: 'hls', container: 'cmaf', encrypted: false, master_playlist: masterKey(hash) };
  const init = videoKey(hash, rev, 'video/r64_h264/init.mp4');
  await api.complete(job.job_id, { streaming, video_tracks: [{ id: 'r64_h264', init }], audio_tracks: [] } as never);
  await api.d.database.pool.query(`update jobs set idempotency_key = 'x ' || id where id = $1`, [job.job_id]);
  return { hash, paths: ['master.m3u8', 'storyboard/sheet_1.jpg', ...below.map((path) => `${rev}/${path}`)] };
}

describe('a media that becomes signed', () => {
  it('C33.8: within five seconds `/stream` is 404 `no-store` on every server, from memory too, and `/s` plays', async () => {
    const { hash, paths } = await stream();
    const open = paths.map((path) => `/stream/${hash}/${path}`);
    for (let n = 0; n < 2; n++) for (const path of open) expect(await statusesOf(path)).toEqual([200, 200]);
    const { json: media } = await patch(hash, { playback: 'signed' });
    expect(media).toMatchObject({ playback_mode: 'signed', playback_generation: 0 });
    expect(media.playback.master).toBe(`/s/{ticket}/${hash}/master.m3u8`);
    for (const path of [...open, `/stream/${hash}/manifest.mpd`, `/stream/${hash}/none.jpg`])
      await expect.poll(() => statusesOf(path), within).toEqual([404, 404]);
    for (const path of paths) expect(await statusesOf(`/s/${ticketOf(hash)}/${hash}/${path}`)).toEqual([200, 200]);
    const refusal = await get(servers[1] ?? '', open[0] ?? '');
    expect([refusal.headers.get('cache-control'), refusal.headers.get('access-control-allow-origin')]).toEqual([
      'no-store',
      '*',
    ]);
    expect(await refusal.json()).toMatchObject({ detail: expect.stringContaining(`/s/{ticket}/${hash}/master.m3u8`) });
  });

  it('C33.8: opened again, `/stream` answers as before', async () => {
    const { hash } = await stream();
    await patch(hash, { playback: 'signed' });
    await expect.poll(() => statusesOf(`/stream/${hash}/master.m3u8`), within).toEqual([404, 404]);
    expect((await patch(hash, { playback: 'open' })).json.playback_mode).toBe('open');
    await expect.poll(() => statusesOf(`/stream/${hash}/master.m3u8`), within).toEqual([200, 200]);
  });

  it('C33.10: the purge hook gets its paths, once every server knows', async () => {
    const { hash } = await stream();
    await patch(hash, { playback: 'open' });
    expect(await purgesOf(hash)).toEqual([]);
    await patch(hash, { playback: 'signed' });
    await patch(hash, { playback: 'signed' });
    const [purge, ...others] = await purgesOf(hash);
    expect(others).toEqual([]);
    expect(purge?.paths).toEqual(expect.arrayContaining([`/stream/${hash}/*`, `/s/*/${hash}/*`]));
    expect(purge?.seconds).toBeGreaterThan(5);
  });

  it('C33.8: what plays neither way is 400 with its field, and an unknown media is 404', async () => {
    const { hash } = await stream();
    const { status, json } = await patch(hash, { playback: 'private' });
    expect([status, json.errors[0].pointer]).toEqual([400, '/playback']);
    expect((await patch('nothing-here', { playback: 'signed' })).status).toBe(404);
  });
});

describe('tickets that are withdrawn', () => {
  it('C33.9: within five seconds old tickets are 403 on every server, from memory too, and new ones play', async () => {
    const { hash, paths } = await stream();
    const old = ticketOf(hash);
    for (let n = 0; n < 2; n++)
      for (const path of paths) expect(await statusesOf(`/s/${old}/${hash}/${path}`)).toEqual([200, 200]);
    const { status, json: media } = await withdraw(hash);
    expect([status, media.playback_generation]).toEqual([200, 1]);
    for (const path of paths) {
      // A server that has not heard of it yet takes a newer ticket all the same.
      expect(await statusesOf(`/s/${ticketOf(hash, 1)}/${hash}/${path}`)).toEqual([200, 200]);
      await expect.poll(() => statusesOf(`/s/${old}/${hash}/${path}`), within).toEqual([403, 403]);
    }
    const refusal = await get(servers[0] ?? '', `/s/${old}/${hash}/master.m3u8`);
    expect(refusal.headers.get('cache-control')).toBe('no-store');
    expect(await refusal.json()).toMatchObject({ detail: expect.stringContaining('generation 0 were withdrawn') });
  });

  it('C33.9: two withdrawals at once raise the generation twice, and the hook hears of each', async () => {
    const { hash } = await stream();
    const answers = await Promise.all([withdraw(hash), withdraw(hash)]);
    expect(answers.map(({ status }) => status)).toEqual([200, 200]);
    expect((await api.call(`/api/media/${hash}`)).json.playback_generation).toBe(2);
    expect(await purgesOf(hash)).toHaveLength(2);
    expect((await withdraw('nothing-here')).status).toBe(404);
  });
});

describe('a deleted media', () => {
  it('C33.11: its tickets answer 410, and open nothing of what is made under its hash later; what was signed stays so', async () => {
    const { hash } = await stream();
    await patch(hash, { playback: 'signed' });
    const [old, path] = [ticketOf(hash), 'master.m3u8'];
    expect(await statusesOf(`/s/${old}/${hash}/${path}`)).toEqual([200, 200]);
    expect((await api.call(`/api/media/${hash}`, { method: 'DELETE' })).status).toBe(202);
    await expect.poll(() => statusesOf(`/s/${old}/${hash}/${path}`), within).toEqual([410, 410]);
    expect((await withdraw(hash)).status).toBe(409);
    await api.d.database.pool.query('update media_deletions set finished_at = now() where hash = $1', [hash]);
    await api.d.database.pool.query('delete from media where hash = $1', [hash]);
    await stream('free', hash);
    await expect.poll(() => statusesOf(`/s/${old}/${hash}/${path}`), within).toEqual([403, 403]);
    expect(await statusesOf(`/s/${ticketOf(hash, 1)}/${hash}/${path}`)).toEqual([200, 200]);
    // A server may have remembered that the media was deleted.
    await expect.poll(() => statusesOf(`/stream/${hash}/${path}`), within).toEqual([404, 404]);
  });
});

describe('`playback` of a profile', () => {
  it('C33.12: the first job by a signed profile makes its media signed, before anything of it is there', async () => {
    const hash = `p-${randomUUID().slice(0, 8)}`;
    await api.putSource('a.mp4', Buffer.alloc(10, 1));
    await api.submit({ type: 'video:transcode', hash, source: 'a.mp4' }, { 'x-profile': 'private' });
    expect((await api.call(`/api/media/${hash}`)).json.playback_mode).toBe('signed');
    await api.putMedia(masterKey(hash), '#EXTM3U\n');
    await expect.poll(() => statusesOf(`/stream/${hash}/master.m3u8`), within).toEqual([404, 404]);
  });

  it('C33.12: it changes no media that is there, and none that a caller has decided about', async () => {
    const { hash } = await stream();
    await stream('private', hash);
    expect((await api.call(`/api/media/${hash}`)).json.playback_mode).toBe('open');
    const decided = `p-${randomUUID().slice(0, 8)}`;
    await api.submit({ type: 'image:thumbnail', hash: decided, source: 'a.jpg' });
    await patch(decided, { playback: 'open' });
    await stream('private', decided);
    expect((await api.call(`/api/media/${decided}`)).json.playback_mode).toBe('open');
  });

  it('C33.12: a caller may decide before and after', async () => {
    const { hash } = await stream('private');
    expect((await patch(hash, { playback: 'open' })).json.playback_mode).toBe('open');
    await stream('private', hash);
    expect((await api.call(`/api/media/${hash}`)).json.playback_mode).toBe('open');
  });

  it('C33.19: the console gets a ticket of a signed media as it is now, and none of an open one', async () => {
    const { hash } = await stream();
    const link = async () => {
      const headers = { 'content-type': 'application/json' };
      const body = JSON.stringify({ playback: hash });
      return (await api.call('/api/console/links', { method: 'POST', headers, body })).json.playback;
    };
    const play = async (ticket: string) => (await get(api.url, `/s/${ticket}/${hash}/master.m3u8`)).status;
    expect((await link()).ticket).toBeNull();
    await patch(hash, { playback: 'signed' });
    const { ticket } = await link();
    expect(await play(ticket)).toBe(200);
    await withdraw(hash);
    const renewed = (await link()).ticket;
    await expect.poll(async () => [await play(ticket), await play(renewed)], within).toEqual([403, 200]);
  });
});

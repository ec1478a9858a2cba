import { randomBytes } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { masterKey, videoKey } from '#domain/media/object-keys.ts';
import { signStreamTicket } from '#domain/playback/ticket.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { type ApiUnderTest, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Signed playback". No request below `/s` has a credential.

const [secret, older] = ['a newer secret of streams', 'an older secret of streams'] as const;
const hash = 'movie-1';
const rev = '0123456789abcdef';
const segment = randomBytes(200_000);
const master = [
  '#EXTM3U',
  '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="English",URI="audio/audio_en_aac_2ch/playlist.m3u8"',
  '#EXT-X-STREAM-INF:BANDWIDTH=2,AUDIO="audio"',
  'video/r360_h264/playlist.m3u8',
  '#EXT-X-STREAM-INF:BANDWIDTH=3,AUDIO="audio"',
  'video/r1080_h264/playlist.m3u8',
  '#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO="audio"',
  'audio/audio_en_aac_2ch/playlist.m3u8',
  '',
].join('\n');
const objects = {
  [`${rev}/master.m3u8`]: master,
  [`${rev}/video/r360_h264/playlist.m3u8`]: '#EXTM3U\n#EXT-X-MAP:URI="init.mp4"\nseg_1.m4s\n',
  [`${rev}/video/r360_h264/init.mp4`]: 'init',
  [`${rev}/video/r360_h264/seg_1.m4s`]: segment,
  [`${rev}/video/r1080_h264/seg_1.m4s`]: segment,
  [`${rev}/audio/audio_en_aac_2ch/seg_1.m4s`]: 'audio',
  [`${rev}/text/text_en/captions.vtt`]: 'WEBVTT\n',
  [`${rev}/storyboard/sheet_1.jpg`]: 'jpg',
  [`${rev}/storyboard/cues.vtt`]: 'WEBVTT\n',
  [`${rev}/cover.jpg`]: 'jpg',
  [`${rev}/preview.webp`]: 'webp',
  [`${rev}/manifest.mpd`]: '<MPD><Period id="0"/></MPD>',
} as const;
const topMaster = master.replaceAll('video/', `${rev}/video/`).replaceAll('audio/', `${rev}/audio/`);
const paths = ['master.m3u8', 'video/r360_h264/playlist.m3u8', 'storyboard/cues.vtt', ...Object.keys(objects)];

const inAnHour = () => Math.floor(Date.now() / 1000) + 3600;
const ticketOf = (given: Partial<Parameters<typeof signStreamTicket>[0]> = {}, by: string = secret) =>
  signStreamTicket({ hash, exp: inAnHour(), ...given }, by);
const at = (ticket: string, path: string, of = hash) => `/s/${ticket}/${of}/${path}`;

let bucketRequests = 0;
/** The bucket, whose requests are counted. */
const counted = (store: ObjectStore): ObjectStore =>
  new Proxy(store, {
    get: (target, name) => {
      if (name !== 'close') bucketRequests += 1;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? (value.bind(target) as unknown) : value;
    },
  });

let api: ApiUnderTest;
let unsigned: ApiUnderTest;
beforeAll(async () => {
  api = await startApi({ streamSecrets: [secret, older] });
  unsigned = await startApi({}, { media: counted(api.d.media) });
  await api.putMedia(masterKey(hash), topMaster);
  for (const [path, body] of Object.entries(objects))
    await api.putMedia(videoKey(hash, rev, path.slice(rev.length + 1)), body);
});
afterAll(async () => {
  await unsigned.close();
  await api.close();
});

describe('objects under a ticket', () => {
  it.each(paths)('C33.1, C33.4: %s is served as below `/stream`, but for how long it may be cached', async (path) => {
    const ticket = ticketOf();
    const [open, signed] = [await api.raw(`/stream/${hash}/${path}`), await api.raw(at(ticket, path))];
    expect([signed.status, signed.text]).toEqual([200, open.text]);
    const { 'cache-control': cacheControl = '', ...headers } = Object.fromEntries(signed.headers);
    const { 'cache-control': _, ...headersOfOpen } = Object.fromEntries(open.headers);
    const passing = { date: '', 'x-trace-id': '' };
    expect({ ...headers, ...passing }).toEqual({ ...headersOfOpen, ...passing });
    const [, seconds = ''] = /^public, max-age=(\d+)/.exec(cacheControl) ?? [];
    const isOfRevision = path.startsWith(rev);
    expect(Number(seconds)).toBeGreaterThan(isOfRevision ? 3500 : 50);
    expect(Number(seconds)).toBeLessThanOrEqual(isOfRevision ? 3600 : 60);
  });

  it('C33.1: HEAD, ranges, ETags and gzip are as below `/stream`, and so is the second answer, from memory', async () => {
    const path = `${rev}/video/r360_h264/seg_1.m4s`;
    const ticket = ticketOf();
    for (let n = 0; n < 3; n++) expect((await api.raw(at(ticket, path))).bytes.equals(segment)).toBe(true);
    const range = await api.raw(at(ticket, path), { headers: { range: 'bytes=10-19' } });
    expect([range.status, range.bytes.equals(segment.subarray(10, 20))]).toEqual([206, true]);
    const head = await api.raw(at(ticket, path), { method: 'HEAD' });
    expect([head.status, head.headers.get('content-length')]).toEqual([200, String(segment.length)]);
    const same = await api.raw(at(ticket, path), { headers: { 'if-none-match': head.headers.get('etag') ?? '' } });
    expect(same.status).toBe(304);
    const zipped = await api.raw(at(ticket, 'master.m3u8'), { headers: { 'accept-encoding': 'gzip' } });
    expect([zipped.status, zipped.headers.get('content-encoding')]).toEqual([200, 'gzip']);
    for (const below of [path, 'master.m3u8'])
      for (const opened of [ticket, ticketOf({ scope: '480p' })]) {
        const other = await api.raw(at(opened, below), { headers: { 'if-match': '"other"' } });
        expect([below, other.status]).toEqual([below, 412]);
      }
  });

  it('C33.1: the DASH manifest of the current revision is named relative to the ticket', async () => {
    const answer = await api.raw(at(ticketOf(), 'manifest.mpd'));
    expect([answer.status, answer.headers.get('location')]).toEqual([302, `${rev}/manifest.mpd`]);
  });

  it('C33.1: another spelling is 308 to the address under the same ticket', async () => {
    const ticket = ticketOf();
    const answer = await api.raw(at(ticket, `${rev}/%63over.jpg`));
    expect([answer.status, answer.headers.get('location')]).toEqual([308, at(ticket, `${rev}/cover.jpg`)]);
  });

  it('C33.2: tickets of each secret are accepted', async () => {
    for (const by of [secret, older]) expect((await api.raw(at(ticketOf({}, by), 'master.m3u8'))).status).toBe(200);
  });

  it('a missing object is 404, and a path that breaks the rules 400', async () => {
    const missing = await api.raw(at(ticketOf(), `${rev}/video/r360_h264/seg_9.m4s`));
    expect([missing.status, missing.json.detail]).toEqual([
      404,
      expect.stringContaining(`/s/${ticketOf().slice(0, 5)}`),
    ]);
    expect((await api.raw(at(ticketOf(), '../x.jpg'))).status).toBe(400);
  });
});

describe('refusals', () => {
  const [exp = '', kid = '', generation = '', signature = ''] = ticketOf().split('.');
  const flipped = `${signature.startsWith('A') ? 'B' : 'A'}${signature.slice(1)}`;
  const wrong: Record<string, [ticket: string, says: string]> = {
    forged: [[exp, kid, generation, flipped].join('.'), 'signature does not hold'],
    'prolonged by its holder': [[Number(exp) + 1, kid, generation, signature].join('.'), 'signature does not hold'],
    'of another media': [ticketOf({ hash: 'movie-2' }), 'signature does not hold'],
    'of another secret': [ticketOf({}, 'a secret of somebody else'), 'a secret that this service does not have'],
    expired: [ticketOf({ exp: Math.floor(Date.now() / 1000) - 1 }), 'The ticket expired at 20'],
    malformed: ['ticket', '{exp}.{kid}.{generation}.{sig}'],
  };
  const cases = Object.entries(wrong).flatMap(([kind, [ticket, says]]) =>
    [...paths, 'manifest.mpd'].map((path) => [kind, path, ticket, says] as const),
  );

  it.each(cases)('C33.3: a ticket that is %s does not open %s', async (_kind, path, ticket, says) => {
    for (const headers of [{}, { range: 'bytes=0-1' }, { 'if-none-match': '"x"' }]) {
      const answer = await api.raw(at(ticket, path), { headers });
      expect([answer.status, answer.headers.get('cache-control')]).toEqual([403, 'no-store']);
      expect(answer.headers.get('access-control-allow-origin')).toBe('*');
      expect(answer.json.detail).toContain(says);
      expect(answer.json.detail).toContain('Ask the application');
    }
  });

  it('C33.3: a page of any origin may ask, and reads each refusal', async () => {
    const preflight = await api.raw(at('ticket', 'master.m3u8'), { method: 'OPTIONS' });
    expect([preflight.status, preflight.headers.get('access-control-allow-origin')]).toEqual([204, '*']);
    for (const path of ['/s', '/s/', '/s/x', `/s/x/${hash}`])
      expect([403, 404]).toContain((await api.raw(path)).status);
  });

  it('C33.3: without STREAM_SECRET every ticket is 403, and the answer names the variable', async () => {
    const answer = await unsigned.raw(at(ticketOf(), 'master.m3u8'));
    expect([answer.status, answer.json.code]).toEqual([403, 'not_configured']);
    expect(answer.json.detail).toContain('STREAM_SECRET');
  });

  it('C33.5: who is refused makes no request to the bucket', async () => {
    bucketRequests = 0;
    for (const path of paths) expect((await unsigned.raw(at(ticketOf(), path))).status).toBe(403);
    expect(bucketRequests).toBe(0);
    expect((await unsigned.raw(`/stream/${hash}/master.m3u8`)).status).toBe(200);
    expect(bucketRequests).toBeGreaterThan(0);
  });

  it('C33.3: a ticket that expires after it was used is refused, from memory too', async () => {
    const ticket = ticketOf({ exp: Math.floor(Date.now() / 1000) + 2 });
    const path = `${rev}/video/r360_h264/seg_1.m4s`;
    expect((await api.raw(at(ticket, path))).status).toBe(200);
    expect((await api.raw(at(ticket, 'master.m3u8'))).status).toBe(200);
    for (const each of [path, 'master.m3u8'])
      await expect.poll(async () => (await api.raw(at(ticket, each))).status, { timeout: 5_000 }).toBe(403);
  });
});

const read = (scope: string, path: string) => api.raw(at(ticketOf({ scope }), path));

describe('scopes', () => {
  it('C33.7: a height leaves larger variants out of the master, and refuses their objects', async () => {
    const lines = topMaster.split('\n');
    const answer = await read('720p', 'master.m3u8');
    expect([answer.status, answer.text]).toEqual([200, lines.toSpliced(4, 2).join('\n')]);
    expect((await read('720p', `${rev}/video/r360_h264/seg_1.m4s`)).status).toBe(200);
    const outside = await read('720p', `${rev}/video/r1080_h264/seg_1.m4s`);
    expect([outside.status, outside.json.detail]).toEqual([403, expect.stringContaining("ticket's scope")]);
  });

  it('C33.7: audio opens audio and captions alone', async () => {
    const answer = await read('audio', `${rev}/master.m3u8`);
    expect([answer.status, answer.text]).toEqual([200, master.split('\n').toSpliced(2, 4).join('\n')]);
    const statuses = await Promise.all(
      [
        'audio/audio_en_aac_2ch/seg_1.m4s',
        'text/text_en/captions.vtt',
        'video/r360_h264/init.mp4',
        'storyboard/cues.vtt',
      ].map(async (path) => (await read('audio', `${rev}/${path}`)).status),
    );
    expect(statuses).toEqual([200, 200, 403, 403]);
    expect((await read('audio', 'video/r360_h264/playlist.m3u8')).status).toBe(403);
  });

  it('C33.7: masters of two scopes have different ETags', async () => {
    const etags = await Promise.all(
      ['audio', '720p', 'sid-a'].map(async (scope) => (await read(scope, 'master.m3u8')).headers.get('etag')),
    );
    expect(new Set(etags).size).toBe(3);
  });
});

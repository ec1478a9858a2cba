import { createHash } from 'node:crypto';
import sharp from 'sharp';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { verifyPlaybackToken } from '#domain/playback/token.ts';
import { openUploadBucket } from '#platform/storage/upload-bucket.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { type ApiUnderTest, apiKey, keyTokenSecret, startApi } from './api-under-test.ts';

// `POST /api/console/links`, and where the console is.

const key = 'images/ab/photo/0123456789abcdef/large.jpg';
const now = new Date('2026-01-01T00:07:00Z');
const lines: Record<string, unknown>[] = [];
const destination = { write: (line: string) => void lines.push(JSON.parse(line) as Record<string, unknown>) };
let api: ApiUnderTest;
let clock = now;

beforeAll(async () => {
  const log = createLogger({ level: 'info', name: 'test', destination });
  api = await startApi({ console: 'on' }, { log, clock: () => clock });
  const create = { width: 64, height: 48, channels: 3 as const, background: 'red' };
  await api.putMedia(key, await sharp({ create }).jpeg().toBuffer(), 'image/jpeg');
});
afterAll(() => api.close());

const ask = (body: unknown, headers: Record<string, string> = {}) =>
  api.call('/api/console/links', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });

it('C31.7: an image gets an address that shows it, and the same one for a quarter of an hour', async () => {
  const { status, json, headers } = await ask({ images: [{ key, w: 32, f: 'png' }, { key }] });
  expect([status, headers.get('cache-control')]).toEqual([200, 'no-store']);
  expect(json.playback).toBeNull();
  expect(json.images.map((image: { expires_at: string }) => image.expires_at)).toEqual(
    Array(2).fill('2026-01-01T00:30:00.000Z'),
  );
  const image = await api.raw(json.images[0].path);
  expect([image.status, image.headers.get('content-type')]).toEqual([200, 'image/png']);
  expect((await sharp(image.bytes).metadata()).width).toBe(32);
  clock = new Date('2026-01-01T00:14:59Z');
  expect((await ask({ images: [{ key, w: 32, f: 'png' }] })).json.images[0].path).toBe(json.images[0].path);
  clock = new Date('2026-01-01T00:31:00Z');
  expect((await api.raw(json.images[0].path)).status).toBe(403);
  clock = now;
});

it('C31.7: a playback token is for one hash and ten minutes, and its issue is logged without it', async () => {
  lines.length = 0;
  const { json } = await ask({ playback: 'movie-1' });
  const { token, ...rest } = json.playback;
  expect(rest).toEqual({ hash: 'movie-1', ticket: null, expires_at: '2026-01-01T00:17:00.000Z' });
  const nowSec = now.getTime() / 1000;
  const verdict = (hash: string, afterSec: number) =>
    verifyPlaybackToken(token, keyTokenSecret, { hash, nowSec: nowSec + afterSec });
  expect([verdict('movie-1', 599), verdict('movie-1', 601), verdict('movie-2', 0)]).toEqual([
    'valid',
    'expired',
    'hash_mismatch',
  ]);
  const logged = lines.filter(({ msg }) => msg === 'playback token issued');
  const keyId = createHash('sha256').update(apiKey).digest('hex').slice(0, 8);
  expect(logged).toMatchObject([{ hash: 'movie-1', key_id: keyId, route: 'POST /api/console/links' }]);
  expect(JSON.stringify(lines)).not.toContain(token);
});

it('C31.13: a playback token may be valid for up to a week, and its end is logged', async () => {
  lines.length = 0;
  const week = 604_800;
  const { json } = await ask({ playback: 'movie-1', playback_expires_in_sec: week });
  expect(json.playback.expires_at).toBe('2026-01-08T00:07:00.000Z');
  expect(lines).toMatchObject([{ msg: 'playback token issued', expires_in_sec: week }]);
  for (const seconds of [59, week + 1, 60.5]) {
    const refused = await ask({ playback: 'movie-1', playback_expires_in_sec: seconds });
    expect([refused.status, refused.json.errors[0].pointer]).toEqual([400, '/playback_expires_in_sec']);
  }
});

it('C31.7: links need an API key, and faults name their field', async () => {
  expect((await ask({ playback: 'movie-1' }, { 'x-api-key': 'another-key-0123456789' })).status).toBe(401);
  const images = [{ key: 'work/secret.jpg' }, { key, w: 5000, exp: 1 }];
  const { status, json } = await ask({ images, playback: 'a/b', more: 1 });
  expect(status).toBe(400);
  const pointers = json.errors.map(({ pointer }: { pointer: string }) => pointer).toSorted();
  expect(pointers).toEqual(['/images/0/key', '/images/1/exp', '/images/1/w', '/more', '/playback']);
  expect((await ask({ images: Array.from({ length: 101 }, () => ({ key })) })).json.errors[0].pointer).toBe('/images');
});

it('C31.7: links are limited for each API key', async () => {
  const limited = await startApi({ console: 'on' }, { clock: () => now });
  try {
    const body = JSON.stringify({});
    const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body };
    const statuses: number[] = [];
    for (let sent = 0; sent < 121; sent += 1) statuses.push((await limited.call('/api/console/links', init)).status);
    expect([statuses.indexOf(429), new Set(statuses.slice(0, 120))]).toEqual([120, new Set([200])]);
    expect((await limited.call('/api/jobs')).status).toBe(200);
  } finally {
    await limited.close();
  }
});

it.each([
  ['off', ['api', 'delivery'], [404, 404, 200]],
  ['on', ['api', 'delivery'], [200, 400, 200]],
  ['on', ['api'], [200, 404, 200]],
  ['home', ['api', 'delivery'], [200, 400, 302]],
] as const)(
  'C31.1, C31.8: what a server with CONSOLE=%s and the surfaces %j has',
  async (choice, surfaces, expected) => {
    const server = await startApi({ console: choice, surfaces: new Set(surfaces) });
    try {
      const init = { method: 'POST', headers: { 'content-type': 'application/json' }, body: '{"playback": ""}' };
      const [page, links, home] = [
        await server.raw('/console/'),
        await server.call('/api/console/links', init),
        await server.raw('/'),
      ];
      expect([page.status, links.status, home.status]).toEqual(expected);
      const { paths } = (await server.raw('/openapi.json')).json;
      expect('/api/console/links' in paths).toBe(links.status !== 404);
      if (choice === 'home') expect(home.headers.get('location')).toBe('console/');
      if (choice === 'on') expect(home.text).toContain('<a href="console/">');
      expect((await server.raw('/player/console/index.html')).status).toBe(404);
    } finally {
      await server.close();
    }
  },
);

it.each([
  ['an S3 server', { endpoint: 'http://s3:7070', forcePathStyle: true }, undefined, 'http://s3:7070'],
  [
    'the address of an S3 server for clients',
    { endpoint: 'http://s3:7070', forcePathStyle: true },
    'https://files.example.com/s3',
    'https://files.example.com',
  ],
  ['Amazon, by path', { forcePathStyle: true }, undefined, 'https://s3.eu-central-1.amazonaws.com'],
  ['Amazon, by host', { forcePathStyle: false }, undefined, 'https://sources.s3.eu-central-1.amazonaws.com'],
])('C31.12: the page may connect to %s', async (_, s3, publicEndpoint, origin) => {
  const keys = { accessKeyId: 'id', secretAccessKey: 'secret' };
  const settings = {
    region: 'eu-central-1',
    keys,
    checksums: 'when_supported',
    timeoutMs: 1000,
    chainVariables: {},
  } as const;
  const store = { bucket: 'sources', s3: { ...settings, ...s3 } };
  const uploads = openUploadBucket({ store, publicEndpoint, prefix: 'uploads/', expiryMs: 60_000, openMax: 1 });
  const server = await startApi({ console: 'on' }, { uploads });
  try {
    const policy = (await server.raw('/console/')).headers.get('content-security-policy') ?? '';
    expect(policy).toContain(`; connect-src 'self' ${origin}; `);
  } finally {
    await server.close();
    await uploads.close();
  }
});

it('C31.12: without uploads to an S3 server the page connects to its own server alone', async () => {
  const policy = (await api.raw('/console/')).headers.get('content-security-policy') ?? '';
  expect(policy).toContain("; connect-src 'self'; ");
});

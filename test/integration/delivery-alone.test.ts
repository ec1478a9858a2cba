import { chmod, mkdir, mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { Client } from 'pg';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { imageKey, masterKey, videoKey } from '#domain/media/object-keys.ts';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import { openDatabase } from '#platform/postgres/database.ts';
import { migrate } from '#platform/postgres/migrate.ts';
import { type EmbeddedPostgres, startEmbeddedPostgres } from '#platform/embedded-postgres/embedded.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { until } from '../../testing/controller-rig.ts';
import { endPrograms, type Program, secrets as all, startProgram } from '../../testing/programs.ts';
import { removeFolder } from '../../testing/remove-folder.ts';
import { type Proxy, startProxy } from '../../testing/proxy.ts';

// The program with SERVER_SURFACES=delivery: it gets the least that playback needs, its PostgreSQL is a real
// server that is really stopped, under a role that may read content keys and nothing else, and no Redis answers.

const rev = '0123456789abcdef';
const secrets = { KEY_TOKEN_SECRET: all.KEY_TOKEN_SECRET, ENCRYPTION_KEY: all.ENCRYPTION_KEY };
const photo = imageKey('photo', rev, { variant: 'thumb', format: 'jpg' });
const noRedis = { REDIS_URL: 'redis://127.0.0.1:1/0' };

let dir: string;
let server: EmbeddedPostgres;
let proxy: Proxy;
let env: Record<string, string>;

const startServer = () => startEmbeddedPostgres({ dir: join(dir, 'database') });
const sql = async <Row extends object>(text: string): Promise<Row[]> => {
  const client = new Client({ connectionString: server.url });
  await client.connect();
  try {
    return (await client.query<Row>(text)).rows;
  } finally {
    await client.end();
  }
};
const stopServer = async () => {
  await proxy.set('cut');
  await server.stop();
};
const startServerAgain = async () => {
  server = await startServer();
  proxy.moveTo(server.url);
  await proxy.set('open');
};

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelwright-delivery-'));
  // As root the database's server runs under a user of its own, who must be able to pass through this folder.
  await chmod(dir, 0o755);
  await mkdir(join(dir, 'media'));
  const media = openObjectStore({ bucket: 'media', dir: join(dir, 'media') });
  const put = (key: string, body: Buffer | string) => media.put(key, body, { contentType: 'application/octet-stream' });
  await put(masterKey('movie'), `#EXTM3U\n${rev}/video/r360_h264/playlist.m3u8\n`);
  await put(videoKey('movie', rev, 'video/r360_h264/seg_1.m4s'), 'a segment');
  const look = { create: { width: 80, height: 60, channels: 3, background: '#336699' } } as const;
  await put(photo, await sharp(look).jpeg().toBuffer());
  await media.close();

  server = await startServer();
  const database = openDatabase(server.url);
  await migrate(database);
  await new ContentKeyStore(database, { encryptionKeys: [secrets.ENCRYPTION_KEY] }).findOrCreate('movie');
  await database.close();
  await sql(`create role reader login password 'only-reads'`);
  await sql('grant select on content_keys, media_deletions to reader');
  await sql('create database empty owner reader');
  proxy = await startProxy(server.url);
  const address = new URL(proxy.url);
  [address.username, address.password] = ['reader', 'only-reads'];
  env = {
    ...secrets,
    ...noRedis,
    MODE: 'server',
    SERVER_SURFACES: 'delivery',
    BASE_URL: '',
    DATABASE_URL: address.href,
    MEDIA_BUCKET: `file:${join(dir, 'media')}`,
  };
}, 180_000);
afterEach(endPrograms);
afterAll(async () => {
  await proxy.close();
  await server.stop();
  await removeFolder(dir);
});

const [thumbSecret = ''] = thumbSecretsOf([], secrets.KEY_TOKEN_SECRET);
const token = () =>
  signPlaybackToken({ hash: 'movie', exp: Math.floor(Date.now() / 1000) + 600 }, secrets.KEY_TOKEN_SECRET);
const askKey = async ({ url }: Program) => {
  const began = performance.now();
  const answer = await fetch(`${url}/api/key/movie`, { headers: { authorization: `Bearer ${token()}` } });
  const bytes = (await answer.arrayBuffer()).byteLength;
  return { status: answer.status, bytes, answer, ms: performance.now() - began };
};
const statusOf = async (program: Program, path: string, init?: RequestInit) =>
  (await fetch(`${program.url}${path}`, init)).status;

async function expectPlayback(program: Program): Promise<void> {
  const segment = await fetch(`${program.url}/stream/movie/video/r360_h264/seg_1.m4s`);
  expect([segment.status, await segment.text()]).toEqual([200, 'a segment']);
  const thumb = await fetch(`${program.url}${signThumbPath(photo, { w: 40 }, thumbSecret)}`);
  expect([thumb.status, thumb.headers.get('content-type')]).toEqual([200, 'image/jpeg']);
  expect(await statusOf(program, '/player/')).toBe(200);
  expect(await statusOf(program, '/healthz')).toBe(200);
}

describe.skipIf(!inject('postgres'))('a server of the surface `delivery` alone', () => {
  it('C10.13: a delivery server starts and plays without PostgreSQL and Redis, and keys work again when PostgreSQL is back', async () => {
    await stopServer();
    const program = await startProgram({ env, waits: 'alive' });
    await expectPlayback(program);
    const refused = await askKey(program);
    expect(refused.status).toBe(500);
    expect(refused.ms).toBeLessThan(8_000);
    expect(refused.answer.headers.get('cache-control')).toBe('no-store');
    const ready = await fetch(`${program.url}/readyz`);
    expect(ready.status).toBe(503);
    // No source bucket is named: it reads none.
    expect((await ready.text()).replaceAll(/: \S+?(?=;|$)/g, '')).toBe('not ready: database; key_value_store');

    await startServerAgain();
    const found = await until(
      () => askKey(program),
      ({ status }) => status === 200,
    );
    expect(found.bytes).toBe(16);
    expect(found.answer.headers.get('ratelimit')).toMatch(/^"key";r=\d+;t=\d+$/);

    await stopServer();
    await expectPlayback(program);
    // A key is remembered for 5 s.
    await expect.poll(async () => (await askKey(program)).status, { timeout: 10_000, interval: 500 }).toBe(500);
    await startServerAgain();
    await until(
      () => askKey(program),
      ({ status }) => status === 200,
    );
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
    // The role may read one table; a write, or another table's name, would have been refused and logged here.
    expect(program.output()).not.toContain('permission denied');
  });

  it('C10.13: a delivery server creates no table and waits for a migration', async () => {
    const empty = new URL(env['DATABASE_URL'] ?? '');
    empty.pathname = '/empty';
    const program = await startProgram({ env: { ...env, DATABASE_URL: empty.href }, waits: 'alive' });
    await expectPlayback(program);
    expect((await askKey(program)).status).toBe(500);
    const ofEmpty = new URL(server.url);
    ofEmpty.pathname = '/empty';
    const database = openDatabase(ofEmpty.href);
    const { rows } = await database.pool.query("select 1 from pg_tables where schemaname = 'public'");
    expect(rows).toEqual([]);
    await migrate(database);
    await database.pool.query('grant select on content_keys, media_deletions to reader');
    await database.close();
    expect((await askKey(program)).status).toBe(404);
  });
});

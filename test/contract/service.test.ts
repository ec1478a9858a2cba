import { chmod, copyFile, mkdir, readdir, readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { loadConfig } from '#platform/config/config.ts';
import { openDatabase } from '#platform/postgres/database.ts';
import { mostAtOnce, openRig } from '../../testing/controller-rig.ts';
import { endPrograms, secrets, startProgram } from '../../testing/programs.ts';
import { finished, headers, job, prepareService, type ServiceUnderTest, submit } from './service-under-test.ts';
import { metricFamilies } from './metric-families.ts';

// docs/reference/contract.md, "Service and modes", with the program itself on real media. Beside this:
// test/integration/modes.test.ts (server and worker over Postgres, Redis and S3) and platform/config/config.test.ts
// (every name of the configuration).

let service: ServiceUnderTest;
let env: Record<string, string>;
const folder = (name: string) => service.folder(name);

/** A packager that notes what it was called with, and keeps its folder as it was at the end. */
const watchedPackager = (packager: string, notes: string) => `#!/bin/sh
printf '%s\\n' "$@" > ${notes}/arguments
${packager} "$@" || exit $?
mkdir -p ${notes}/workspace && cp -r . ${notes}/workspace
`;

beforeAll(async () => {
  service = await prepareService();
  await writeFile(folder('packager'), watchedPackager(findProgram('packager', process.env), folder('notes')));
  await chmod(folder('packager'), 0o755);
  env = { ...service.env, PACKAGER_PATH: folder('packager') };
});
afterEach(endPrograms);
afterAll(() => service.close());

/** An answer to whoever asks, without any credential. */
async function ask(url: string, requestHeaders: Record<string, string> = {}) {
  const answer = await fetch(url, { headers: requestHeaders });
  return {
    status: answer.status,
    type: answer.headers.get('content-type'),
    bytes: Buffer.from(await answer.arrayBuffer()),
  };
}

/** Every file below a folder, as text of single bytes. */
async function filesBelow(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'latin1')));
}

/** Each file below a folder with its size and the time of its last change. */
async function statesOf(path: string): Promise<string[]> {
  const names = (await readdir(path, { recursive: true })).toSorted();
  const states = await Promise.all(names.map((name) => stat(join(path, name))));
  return names.map((name, index) => `${name} ${states[index]?.size} ${states[index]?.mtimeMs}`);
}

/** Everything that the tables hold, also the tables of the queue, as text. */
async function rowsOf(databaseUrl: string): Promise<string> {
  const opened = openDatabase(databaseUrl);
  const texts: string[] = [];
  const { rows: tables } = await opened.pool.query<{ name: string }>(
    `select quote_ident(schemaname) || '.' || quote_ident(tablename) as name from pg_tables
     where schemaname not in ('pg_catalog', 'information_schema')`,
  );
  expect(tables.map(({ name }) => name)).toEqual(expect.arrayContaining(['public.jobs', 'public.webhook_events']));
  for (const { name } of tables) {
    const { rows } = await opened.pool.query<{ text: string }>(`select row_to_json(t)::text as text from ${name} t`);
    texts.push(...rows.map(({ text }) => text));
  }
  await opened.close();
  return texts.join('\n');
}

describe.skipIf(!inject('postgres'))('the mode `all`', () => {
  it('C10.1, C10.2, C10.3, C10.4, C10.5, C10.6, C10.7, C27.1, C27.2: one process does jobs of every type', async () => {
    const program = await startProgram({ env });
    const sources = await statesOf(folder('source'));
    const encrypt = { transcode: { encrypt: true } };
    const [thumbnail, cover, preview, transcode, full] = await Promise.all([
      submit(program, { type: 'image:thumbnail', hash: 'red-1', source: 'red.png' }),
      submit(program, { type: 'video:cover', hash: 'clip-1', source: 'clip.mp4', options: { timestamp_sec: 1 } }),
      submit(program, { type: 'video:preview', hash: 'clip-1', source: 'clip.mp4', options: { format: 'gif' } }),
      submit(program, { type: 'video:transcode', hash: 'clip-2', source: 'clip.mp4' }),
      submit(program, { type: 'video:full', hash: 'clip-3', source: 'clip.mp4', options: encrypt }),
    ]);
    expect(await finished(program, thumbnail)).toMatchObject({ results: { outputs: [{ variant: 'thumb' }] } });
    expect(await finished(program, cover)).toMatchObject({ results: { format: 'jpg', timestamp_sec: 1 } });
    expect(await finished(program, preview)).toMatchObject({ results: { format: 'gif' } });
    const streaming = { protocol: 'hls', container: 'cmaf' };
    expect(await finished(program, transcode)).toMatchObject({
      results: { streaming: { ...streaming, encrypted: false } },
    });
    // One job, and no job beside it.
    const ready = { status: 'ready' };
    expect(await finished(program, full)).toMatchObject({
      status: 'completed',
      results: { stages: { source: ready, cover: ready, preview: ready, transcode: ready } },
    });
    const list = (await (await fetch(`${program.url}/api/jobs`, { headers })).json()) as { jobs: unknown[] };
    expect(list.jobs).toHaveLength(5);
    expect(await statesOf(folder('source'))).toEqual(sources);
    expect((await filesBelow(folder('media'))).length).toBeGreaterThan(10);

    // Playlist, init segment and media segment, over HTTP.
    const stream = `${program.url}/stream/clip-2`;
    const master = (await ask(`${stream}/master.m3u8`)).bytes.toString();
    const [playlist = ''] = /^[0-9a-f]{16}\/video\/.*playlist\.m3u8$/m.exec(master) ?? [];
    const lines = (await ask(`${stream}/${playlist}`)).bytes.toString();
    const [, init = ''] = /#EXT-X-MAP:URI="([^"]+)"/.exec(lines) ?? [];
    const [segment = ''] = /^[^#\n]+\.m4s$/m.exec(lines) ?? [];
    for (const [name, box] of [
      [init, 'ftyp'],
      [segment, 'moof'],
    ] as const) {
      const { status, bytes } = await ask(`${stream}/${playlist.replace('playlist.m3u8', name)}`);
      expect([status, bytes.includes(box)]).toEqual([200, true]);
    }
    for (const path of ['/healthz', '/readyz', '/metrics']) expect((await ask(program.url + path)).status).toBe(200);

    // Results, working objects and a cached image.
    const { results } = await job(program, thumbnail);
    const [secret = ''] = thumbSecretsOf([], secrets.KEY_TOKEN_SECRET);
    expect((await ask(program.url + signThumbPath(results.key, { w: 8 }, secret))).status).toBe(200);
    await expect.poll(() => readdir(folder('media'))).toContain('cache');
    const kinds = (await readdir(folder('media'))).filter((name) => !name.startsWith('.'));
    expect(kinds.filter((name) => name !== 'work').toSorted()).toEqual(['cache', 'images', 'videos']);
    expect(await statesOf(folder('source'))).toEqual(sources);
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);
    expect(await filesBelow(folder('work'))).toEqual([]);
  });

  it('C18.1, C18.2, C18.4, C19.11: the packager gets the raw content key as an argument, and no file, row or log line holds it', async () => {
    await rm(folder('notes'), { recursive: true });
    await mkdir(folder('notes'));
    const program = await startProgram({ env: { ...env, LOG_LEVEL: 'trace', BASE_URL: 'https://media.example' } });
    const options = { encrypt: true };
    const body = { type: 'video:transcode', hash: 'secret-1', source: 'clip.mp4', options };
    const id = await submit(program, { ...body, callback_url: 'https://receiver.invalid/' });
    const { results } = await finished(program, id);
    const given = await readFile(folder('notes/arguments'), 'utf8');
    const [, kid = '', key = ''] = /^label=:key_id=([0-9a-f]{32}):key=([0-9a-f]{32})$/m.exec(given) ?? [];
    expect(key).not.toBe('');
    // C14.4
    expect(results.encryption).toEqual({
      scheme: 'cbcs',
      kid,
      key_endpoint: 'https://media.example/api/key/secret-1',
    });
    // C18.6
    const token = signPlaybackToken(
      { hash: 'secret-1', exp: Math.floor(Date.now() / 1000) + 60 },
      secrets.KEY_TOKEN_SECRET,
    );
    const handedOut = await ask(`${program.url}/api/key/secret-1`, { authorization: `Bearer ${token}` });
    expect([handedOut.status, handedOut.bytes.toString('hex')]).toEqual([200, key]);
    // Another revision of the media.
    await copyFile(folder('source/clip.mp4'), folder('source/again.mp4'));
    const again = await finished(program, await submit(program, { ...body, source: 'again.mp4' }));
    expect(again.results.encryption.kid).toBe(kid);
    expect(await readFile(folder('notes/arguments'), 'utf8')).toContain(`key_id=${kid}:key=${key}\n`);
    expect(again.results.video_tracks[0].playlist).not.toBe(results.video_tracks[0].playlist);
    program.signal('SIGTERM');
    expect(await program.ended).toBe(0);

    const forms = [key, key.toUpperCase(), Buffer.from(key, 'hex').toString('base64')];
    const bytes = Buffer.from(key, 'hex').toString('latin1');
    const files = [
      ...(await filesBelow(folder('notes/workspace'))),
      ...(await filesBelow(folder('media'))),
      ...(await filesBelow(folder('work'))),
    ];
    expect(files.length).toBeGreaterThan(10);
    for (const text of [...files, await rowsOf(service.databaseUrl), program.output()])
      for (const form of [...forms, bytes]) expect(text.includes(form)).toBe(false);

    // C19.11: a player adds the token to a header.
    const playlists = files.filter((text) => text.startsWith('#EXTM3U'));
    const keyAddresses = playlists
      .flatMap((text) => [...text.matchAll(/#EXT-X-KEY:.*URI="([^"]*)"/g)])
      // The folder holds the streams of the test above as well.
      .filter(([, uri = '']) => uri.endsWith('/secret-1'));
    expect(new Set(keyAddresses.map(([, uri]) => uri))).toEqual(new Set([results.encryption.key_endpoint]));
    for (const text of playlists) expect(text).not.toMatch(/[?&]|token|bearer/i);
  });
});

describe.skipIf(!inject('postgres'))('the modes `server` and `worker`', () => {
  it('C10.8, C10.9, C10.10, C10.11, C25.6: a server does no job, and a worker does it and serves only health and metrics', async () => {
    const server = await startProgram({ env: { ...env, MODE: 'server' } });
    const id = await submit(server, { type: 'image:thumbnail', hash: 'waits', source: 'red.png' });
    expect((await fetch(`${server.url}/stream/none/master.m3u8`)).status).toBe(404);
    expect((await fetch(`${server.url}/api/key/none`)).status).toBe(401);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect((await job(server, id)).status).toBe('queued');

    const worker = await startProgram({ args: ['--mode=worker'], env: { ...env, MODE: 'server' } });
    expect(await finished(server, id)).toMatchObject({ status: 'completed' });
    for (const path of ['/api/jobs', '/stream/none/master.m3u8', '/api/key/none', '/readyz'])
      expect([path, (await fetch(`${worker.url}${path}`, { headers })).status]).toEqual([path, 404]);
    for (const path of ['/healthz', '/metrics']) expect((await ask(worker.url + path)).status).toBe(200);

    // Any server and any worker: a second server, and a worker that has taken the place of the first.
    const other = await startProgram({ env: { ...env, MODE: 'server' } });
    worker.signal('SIGTERM');
    expect(await worker.ended).toBe(0);
    const second = await submit(other, { type: 'image:thumbnail', hash: 'waits-too', source: 'red.png' });
    await startProgram({ args: ['--mode=worker'], env });
    expect(await finished(server, second)).toMatchObject({ status: 'completed' });
    expect(await job(other, id)).toMatchObject({ status: 'completed' });
  });

  it('C25.13: server and worker expose every metric family of the contract', async () => {
    for (const mode of ['server', 'worker']) {
      const { url } = await startProgram({ args: [`--mode=${mode}`], env });
      const text = await (await fetch(`${url}/metrics`)).text();
      const found = [...text.matchAll(/^# TYPE (svc_\w+) /gm)].map(([, name]) => name);
      expect([mode, found]).toEqual([mode, expect.arrayContaining(metricFamilies)]);
    }
  });
});

describe.skipIf(!inject('postgres'))('queues and pools', () => {
  it('C10.14, C10.15, C10.16: each queue has as many jobs at work at once as its variable says', async () => {
    const rig = await openRig({ WORKER_CONCURRENCY: '3', LARGE_WORKER_CONCURRENCY: '2', LEASE_DURATION: '15s' });
    try {
      const submitSlow = (queue: 'default' | 'video:large') => rig.submit('slow-6000', { queue });
      const normal = await Promise.all(Array.from({ length: 4 }, () => submitSlow('default')));
      const large = await Promise.all(Array.from({ length: 3 }, () => submitSlow('video:large')));
      // Each long enough that a busy machine has started as many as may run before the first is done.
      rig.startWorker();
      for (const id of [...normal, ...large]) await rig.finished(id, 100_000);
      const notes = await rig.notes();
      expect(mostAtOnce(notes, (note) => normal.includes(note.job))).toBe(3);
      expect(mostAtOnce(notes, (note) => large.includes(note.job))).toBe(2);
    } finally {
      await rig.close();
    }
  });
});

describe('the configuration', () => {
  const table = (
    'API_KEY KEY_TOKEN_SECRET WEBHOOK_SECRET ENCRYPTION_KEY BASE_URL SOURCE_BUCKET SOURCE_S3_ENDPOINT MEDIA_BUCKET ' +
    'MEDIA_S3_ENDPOINT MAX_FILE_SIZE WORKER_METRICS_PORT OTEL_EXPORTER_OTLP_ENDPOINT MODE WORKER_CONCURRENCY ' +
    'LARGE_WORKER_CONCURRENCY DATABASE_URL REDIS_URL'
  ).split(' ');
  const whole = {
    ...secrets,
    DATABASE_URL: 'postgres://db/x',
    REDIS_URL: 'redis://redis',
    BASE_URL: 'https://media.example',
    SOURCE_BUCKET: 'source',
    MEDIA_BUCKET: 'media',
  };

  // What they do: test/integration/modes.test.ts.
  it("C24.1, C24.8, C24.10: the interface's variables are all read and all documented", async () => {
    const page = await readFile(join(import.meta.dirname, '../../docs/reference/configuration.md'), 'utf8');
    for (const name of table) {
      expect([name, page.includes(`| \`${name}\``)]).toEqual([name, true]);
      // A value that nothing takes: whatever reads the name says so.
      const loaded = loadConfig({ ...whole, [name]: '\u0000' }, []);
      const isNamed = 'faults' in loaded && loaded.faults.some((fault) => fault.startsWith(`${name}: `));
      expect([name, isNamed]).toEqual([name, true]);
    }
  });

  it('C24.4, C24.7: a BASE_URL that ends with a slash is refused; the worker listens on port 3001 by default', () => {
    expect(loadConfig({ ...whole, BASE_URL: 'https://media.example/' }, [])).toMatchObject({
      faults: [expect.stringMatching(/^BASE_URL: /)],
    });
    expect(loadConfig(whole, [])).toMatchObject({
      config: { workerMetricsPort: 3001, mode: 'all', otlpEndpoint: null },
    });
    expect(loadConfig({ ...whole, WORKER_METRICS_PORT: '0' }, [])).toMatchObject({ config: { workerMetricsPort: 0 } });
  });
});

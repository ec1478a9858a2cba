import { chmod, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { findProgram } from '#platform/commands/find-program.ts';
import { loadConfig } from '#platform/config/config.ts';
import { openDatabase } from '#platform/postgres/database.ts';
import { mostAtOnce, openRig, until } from '../support/controller-rig.ts';
import { migratedDatabase, type TestDatabase } from '../support/databases.ts';
import { endPrograms, type Program, secrets, startProgram } from '../support/programs.ts';
import { makeVideo } from '../support/samples.ts';

// Section 1, "What the service does", with the program itself on real media. Beside this: test/integration/modes.test.ts
// (server and worker over Postgres, Redis and S3; `--mode` against `MODE`; `WORKER_METRICS_PORT=0`) and
// platform/config/config.test.ts (every name of the configuration).

let dir: string;
let database: TestDatabase;
let env: Record<string, string>;
const folder = (name: string) => join(dir, name);

/** A packager that notes what it was called with, and keeps its folder as it was at the end. */
const watchedPackager = (packager: string, notes: string) => `#!/bin/sh
printf '%s\\n' "$@" > ${notes}/arguments
${packager} "$@" || exit $?
cp -r . ${notes}/workspace
`;

beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelwright-service-'));
  for (const name of ['source', 'media', 'work', 'notes']) await mkdir(folder(name));
  await makeVideo({ path: folder('source/clip.mp4'), seconds: 2, width: 128, height: 72 });
  const create = { width: 64, height: 48, channels: 3 as const, background: 'red' };
  await sharp({ create }).png().toFile(folder('source/red.png'));
  await writeFile(folder('packager'), watchedPackager(findProgram('packager', process.env), folder('notes')));
  await chmod(folder('packager'), 0o755);
  if (!inject('postgres')) return;
  database = await migratedDatabase();
  env = {
    ...secrets,
    DATABASE_URL: database.url,
    REDIS_URL: 'embedded:',
    SOURCE_BUCKET: `file:${folder('source')}`,
    MEDIA_BUCKET: `file:${folder('media')}`,
    WORK_DIR: folder('work'),
    X264_PRESET: 'ultrafast',
    PACKAGER_PATH: folder('packager'),
  };
});
afterEach(endPrograms);
afterAll(async () => {
  if (inject('postgres')) await database.drop();
  await rm(dir, { recursive: true, force: true });
});

const headers = { 'x-api-key': secrets.API_KEY, 'content-type': 'application/json' };

async function submit(program: Program, body: object): Promise<string> {
  const answer = await fetch(`${program.url}/api/jobs`, { method: 'POST', headers, body: JSON.stringify(body) });
  expect(answer.status).toBe(202);
  return ((await answer.json()) as { job_id: string }).job_id;
}

// oxlint-disable-next-line typescript/no-explicit-any -- a test says what it expects of it
async function job(program: Program, id: string): Promise<any> {
  return (await fetch(`${program.url}/api/jobs/${id}`, { headers })).json();
}

const finished = (program: Program, id: string) =>
  until(
    () => job(program, id),
    ({ status }) => status === 'completed' || status === 'failed',
    90_000,
  );

/** Every file below a folder, as text of single bytes. */
async function filesBelow(path: string): Promise<string[]> {
  const entries = await readdir(path, { withFileTypes: true, recursive: true });
  const files = entries.filter((entry) => entry.isFile());
  return Promise.all(files.map(({ parentPath, name }) => readFile(join(parentPath, name), 'latin1')));
}

/** Everything that the tables hold, as text. */
async function rowsOf(databaseUrl: string): Promise<string> {
  const opened = openDatabase(databaseUrl);
  const texts: string[] = [];
  for (const table of ['jobs', 'content_keys', 'webhook_events', 'webhook_attempts', 'key_values']) {
    const { rows } = await opened.pool.query<{ text: string }>(`select row_to_json(t)::text as text from ${table} t`);
    texts.push(...rows.map(({ text }) => text));
  }
  await opened.close();
  return texts.join('\n');
}

describe.skipIf(!inject('postgres'))('MODE `all` (the default)', () => {
  it('"HTTP server and queue worker in one process": every job type does what its purpose says', async () => {
    const program = await startProgram({ env });
    const encrypt = { transcode: { encrypt: true } };
    const [thumbnail, cover, preview, transcode, full] = await Promise.all([
      submit(program, { type: 'image:thumbnail', hash: 'red-1', source: 'red.png' }),
      submit(program, { type: 'video:cover', hash: 'clip-1', source: 'clip.mp4', options: { timestamp_sec: 1 } }),
      submit(program, { type: 'video:preview', hash: 'clip-1', source: 'clip.mp4', options: { format: 'gif' } }),
      submit(program, { type: 'video:transcode', hash: 'clip-2', source: 'clip.mp4' }),
      submit(program, { type: 'video:full', hash: 'clip-3', source: 'clip.mp4', options: encrypt }),
    ]);
    // "derive one or more image variants from an image source"
    expect(await finished(program, thumbnail)).toMatchObject({ results: { outputs: [{ variant: 'thumb' }] } });
    // "derive a cover image from a video at a timestamp"
    expect(await finished(program, cover)).toMatchObject({ results: { format: 'jpg', timestamp_sec: 1 } });
    // "derive a short animated preview (`webp` or `gif`)"
    expect(await finished(program, preview)).toMatchObject({ results: { format: 'gif' } });
    // "produce HLS (CMAF container) output, optionally encrypted"
    const streaming = { protocol: 'hls', container: 'cmaf' };
    expect(await finished(program, transcode)).toMatchObject({
      results: { streaming: { ...streaming, encrypted: false } },
    });
    // "run cover, preview and transcode as one workflow inside a single worker handler (no parent/child jobs)"
    const ready = { status: 'ready' };
    expect(await finished(program, full)).toMatchObject({
      status: 'completed',
      results: { stages: { source: ready, cover: ready, preview: ready, transcode: ready } },
    });
    const list = (await (await fetch(`${program.url}/api/jobs`, { headers })).json()) as { jobs: unknown[] };
    expect(list.jobs).toHaveLength(5);
  });

  it('"Raw encryption keys are passed to the packaging tool as arguments and are not written to disk as files"', async () => {
    await rm(folder('notes'), { recursive: true });
    await mkdir(folder('notes'));
    const program = await startProgram({ env: { ...env, LOG_LEVEL: 'trace', BASE_URL: 'https://media.example' } });
    const options = { encrypt: true };
    const id = await submit(program, { type: 'video:transcode', hash: 'secret-1', source: 'clip.mp4', options });
    const { results } = await finished(program, id);
    const given = await readFile(folder('notes/arguments'), 'utf8');
    const [, kid = '', key = ''] = /^label=:key_id=([0-9a-f]{32}):key=([0-9a-f]{32})$/m.exec(given) ?? [];
    expect(key).not.toBe('');
    // "`BASE_URL` … used to build `results.encryption.key_endpoint`": "`{base_url}/api/key/<hash>`"
    expect(results.encryption).toEqual({
      scheme: 'cbcs',
      kid,
      key_endpoint: 'https://media.example/api/key/secret-1',
    });
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
    for (const text of [...files, await rowsOf(database.url), program.output()])
      for (const form of [...forms, bytes]) expect(text.includes(form)).toBe(false);

    // Section 5: "The token must never appear in playlist or segment URLs." The player adds it to a header.
    const playlists = files.filter((text) => text.startsWith('#EXTM3U'));
    const keyAddresses = playlists
      .flatMap((text) => [...text.matchAll(/#EXT-X-KEY:.*URI="([^"]*)"/g)])
      // The folder holds the streams of the test above as well.
      .filter(([, uri = '']) => uri.endsWith('/secret-1'));
    expect(new Set(keyAddresses.map(([, uri]) => uri))).toEqual(new Set([results.encryption.key_endpoint]));
    for (const text of playlists) expect(text).not.toMatch(/[?&]|token|bearer/i);
  });
});

describe.skipIf(!inject('postgres'))('MODE `server` and MODE `worker`', () => {
  it('`server`: "HTTP server and delivery endpoints only"; `--mode=worker` "overrides the `MODE` environment variable": "queue worker only"', async () => {
    const server = await startProgram({ env: { ...env, MODE: 'server' } });
    const id = await submit(server, { type: 'image:thumbnail', hash: 'waits', source: 'red.png' });
    expect((await fetch(`${server.url}/stream/none/master.m3u8`)).status).toBe(404);
    expect((await fetch(`${server.url}/api/key/none`)).status).toBe(401);
    await new Promise((resolve) => setTimeout(resolve, 3_000));
    expect((await job(server, id)).status).toBe('queued');

    // "Server and worker processes must share the same relational database, key-value store, bucket names …"
    const worker = await startProgram({ args: ['--mode=worker'], env: { ...env, MODE: 'server' } });
    expect(await finished(server, id)).toMatchObject({ status: 'completed' });
    for (const path of ['/api/jobs', '/stream/none/master.m3u8', '/api/key/none', '/readyz'])
      expect([path, (await fetch(`${worker.url}${path}`, { headers })).status]).toEqual([path, 404]);
  });

  it('both listeners have every metric family of section 4', async () => {
    const families = [
      'svc_http_requests_total',
      'svc_http_request_duration_seconds',
      'svc_image_cache_events_total',
      'svc_image_results_total',
      'svc_image_errors_total',
      'svc_worker_tasks_total',
      'svc_worker_task_duration_seconds',
      'svc_readiness_failures_total',
      'svc_queue_tasks',
      'svc_queue_metrics_sync_failures_total',
    ];
    for (const mode of ['server', 'worker']) {
      const { url } = await startProgram({ args: [`--mode=${mode}`], env });
      const text = await (await fetch(`${url}/metrics`)).text();
      const found = [...text.matchAll(/^# TYPE (svc_\w+) /gm)].map(([, name]) => name);
      expect([mode, found]).toEqual([mode, expect.arrayContaining(families)]);
    }
  });
});

describe.skipIf(!inject('postgres'))('Job queues: "a default queue and a dedicated `video:large` queue"', () => {
  it('"Pool sizes are set by `WORKER_CONCURRENCY` … and `LARGE_WORKER_CONCURRENCY`"', async () => {
    const rig = await openRig({ WORKER_CONCURRENCY: '3', LARGE_WORKER_CONCURRENCY: '2', LEASE_DURATION: '15s' });
    try {
      const submitSlow = (queue: 'default' | 'video:large') => rig.submit('slow-1000', { queue });
      const normal = await Promise.all(Array.from({ length: 6 }, () => submitSlow('default')));
      const large = await Promise.all(Array.from({ length: 4 }, () => submitSlow('video:large')));
      rig.startWorker();
      for (const id of [...normal, ...large]) await rig.finished(id, 60_000);
      const notes = await rig.notes();
      expect(mostAtOnce(notes, (note) => normal.includes(note.job))).toBe(3);
      expect(mostAtOnce(notes, (note) => large.includes(note.job))).toBe(2);
    } finally {
      await rig.close();
    }
  });
});

describe('Configuration names used by the interface', () => {
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

  it('are all read, and described for operators', async () => {
    const page = await readFile(join(import.meta.dirname, '../../docs/configuration.md'), 'utf8');
    for (const name of table) {
      expect([name, page.includes(`| \`${name}\``)]).toEqual([name, true]);
      // A value that nothing takes: whatever reads the name says so.
      const loaded = loadConfig({ ...whole, [name]: '\u0000' }, []);
      const isTold = 'faults' in loaded && loaded.faults.some((fault) => fault.startsWith(`${name}: `));
      expect([name, isTold]).toEqual([name, true]);
    }
  });

  it('`BASE_URL` "must not end with `/`"; `WORKER_METRICS_PORT`: "default `3001`; `0` disables it"', () => {
    expect(loadConfig({ ...whole, BASE_URL: 'https://media.example/' }, [])).toMatchObject({
      faults: [expect.stringMatching(/^BASE_URL: /)],
    });
    expect(loadConfig(whole, [])).toMatchObject({
      config: { workerMetricsPort: 3001, mode: 'all', otlpEndpoint: null },
    });
    expect(loadConfig({ ...whole, WORKER_METRICS_PORT: '0' }, [])).toMatchObject({ config: { workerMetricsPort: 0 } });
  });
});

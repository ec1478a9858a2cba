import { execFile } from 'node:child_process';
import { createHmac, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { text as readBody } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { CreateBucketCommand, S3Client } from '@aws-sdk/client-s3';
import { Redis } from 'ioredis';
import sharp from 'sharp';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { openDatabase } from '#platform/postgres/database.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { isAlive } from '#platform/commands/is-alive.ts';
import { readStorageSettings } from '#platform/config/storage-settings.ts';
import { until } from '../../testing/controller-rig.ts';
import { migratedDatabase, type TestDatabase } from '../../testing/databases.ts';
import { checkout } from '../../testing/checkout.ts';
import { endPrograms, type Program, secrets, startProgram } from '../../testing/programs.ts';
import { startProxy } from '../../testing/proxy.ts';

afterEach(endPrograms);

const stopped = (program: Program) => {
  program.signal('SIGTERM');
  return program.ended;
};

describe('a wrong configuration', () => {
  it('C24.9: a wrong configuration ends the program with 2, each fault on a line of its own, and shows no secret', async () => {
    const env = {
      MODE: 'everything',
      API_KEY: 'short',
      WEBHOOK_SECRET: 'one secret for two things',
      KEY_TOKEN_SECRET: 'one secret for two things',
      BASE_URL: 'https://media.example/',
      WORKER_CONCURRENCY: 'many',
      DATABASE_URL: 'mysql://root:hunter2@db/x',
      MEDIA_BUCKET: 'media',
      MEDIA_S3_ACCESS_KEY_ID: 'half-of-a-pair',
      LARGE_VIDEO_THRESHOLD: '2 GB',
    };
    const program = await startProgram({ env, waits: 'not' });
    expect(await program.ended).toBe(2);
    const lines = program.output().trim().split('\n');
    const wrong = ['MODE', 'API_KEY', 'BASE_URL', 'WORKER_CONCURRENCY', 'DATABASE_URL', 'REDIS_URL', 'SOURCE_BUCKET'];
    for (const name of [...wrong, 'LARGE_VIDEO_THRESHOLD', 'MEDIA_S3_SECRET_ACCESS_KEY'])
      expect(
        lines.filter((line) => line.startsWith(`${name}: `)),
        name,
      ).toHaveLength(1);
    expect(lines.every((line) => /^[A-Z0-9_]+(_FILE)?: \S/.test(line))).toBe(true);
    for (const secret of ['short', 'one secret', 'hunter2', 'half-of']) expect(program.output()).not.toContain(secret);
  });

  it('an unknown flag ends the program with 2 and is named', async () => {
    const program = await startProgram({ args: ['--mod=worker'], env: {}, waits: 'not' });
    expect(await program.ended).toBe(2);
    expect(program.output()).toContain('--mod: is not a known flag');
  });
});

describe.skipIf(!inject('postgres') || !inject('redis') || !inject('s3'))('server and worker', () => {
  let database: TestDatabase;
  let env: Record<string, string>;

  beforeAll(async () => {
    database = await migratedDatabase();
    const s3 = inject('s3');
    if (s3 === null) throw new Error('no S3 server was started for this run');
    const store = (name: string) => ({
      [`${name}_BUCKET`]: `modes-${name.toLowerCase()}-${randomBytes(4).toString('hex')}`,
      [`${name}_S3_ENDPOINT`]: s3.endpoint,
      [`${name}_S3_ACCESS_KEY_ID`]: s3.accessKeyId,
      [`${name}_S3_SECRET_ACCESS_KEY`]: s3.secretAccessKey,
    });
    const redis = { REDIS_URL: `${inject('redis')?.url}/3` };
    const receivers = { WEBHOOK_ALLOWED_CIDRS: '127.0.0.1/32' };
    env = { ...secrets, ...receivers, ...redis, ...store('SOURCE'), ...store('MEDIA'), DATABASE_URL: database.url };
    const client = new S3Client({ ...s3, region: 'us-east-1', forcePathStyle: true, credentials: s3 });
    for (const name of ['SOURCE_BUCKET', 'MEDIA_BUCKET'])
      await client.send(new CreateBucketCommand({ Bucket: env[name] }));
    client.destroy();
  });
  afterAll(async () => {
    await database.drop();
  });

  it('C24.2, C24.3, C24.5, C24.6: server and worker, started with npm, work on the stores and with the secrets that the variables name', async () => {
    const received: { body: string; signature: unknown }[] = [];
    const receiver = createHttpServer((request, response) => {
      void readBody(request).then((body) => received.push({ body, signature: request.headers['x-signature'] }));
      response.end();
    }).listen(0, '127.0.0.1');
    await once(receiver, 'listening');
    const server = await startProgram({ args: ['--mode=server'], env, viaNpm: true });
    const worker = await startProgram({ args: ['--mode=worker'], env, viaNpm: true });
    const source = openObjectStore(readStorageSettings(env, 'SOURCE'));
    const red = { width: 64, height: 48, channels: 3 as const, background: 'red' };
    const png = await sharp({ create: red }).png().toBuffer();
    await source.put('in/red.png', png, { contentType: 'image/png' });
    await source.close();

    const headers = { 'x-api-key': secrets.API_KEY, 'content-type': 'application/json' };
    const callback_url = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
    const body = JSON.stringify({ type: 'image:thumbnail', hash: 'red-1', source: 'in/red.png', callback_url });
    const submitted = await fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body });
    expect(submitted.status).toBe(202);
    const { job_id: id } = (await submitted.json()) as { job_id: string };
    const ask = async () => {
      const answer = await fetch(`${server.url}/api/jobs/${id}`, { headers });
      return (await answer.json()) as { status: string; results: { key: string } };
    };
    const job = await until(ask, ({ status }) => status === 'completed' || status === 'failed', 60_000);
    expect(job).toMatchObject({ status: 'completed', progress: 100 });
    const media = openObjectStore(readStorageSettings(env, 'MEDIA'));
    expect((await media.head(job.results.key))?.sizeBytes).toBeGreaterThan(0);
    await media.close();
    const rows = openDatabase(database.url);
    expect((await rows.pool.query('select status from jobs where id = $1', [id])).rows).toEqual([
      { status: 'completed' },
    ]);
    await rows.close();
    const redis = new Redis(env['REDIS_URL'] ?? '');
    expect(await redis.keys('*')).toContainEqual(expect.stringContaining('default'));
    await redis.quit();
    const [event] = await until(
      () => received,
      (events) => events.length > 0,
    );
    const signature = createHmac('sha256', secrets.WEBHOOK_SECRET)
      .update(event?.body ?? '')
      .digest('hex');
    expect(event?.signature).toBe(`sha256=${signature}`);
    receiver.close();
    // A token that holds learns that there is no key, another one nothing.
    for (const [secret, status] of [
      [secrets.KEY_TOKEN_SECRET, 404],
      [secrets.WEBHOOK_SECRET, 403],
    ] as const) {
      const token = signPlaybackToken({ hash: 'red-1', exp: Math.floor(Date.now() / 1000) + 60 }, secret);
      const answer = await fetch(`${server.url}/api/key/red-1`, { headers: { authorization: `Bearer ${token}` } });
      expect(answer.status).toBe(status);
    }

    // The depth of the queues is counted from time to time.
    const metrics = await until(
      async () => (await fetch(`${worker.url}/metrics`)).text(),
      (text) => /^svc_queue_tasks\{queue="default",state="pending"\} 0$/m.test(text),
      60_000,
    );
    expect(metrics).toContain('svc_worker_tasks_total{type="image:thumbnail",result="completed"} 1');
    expect((await fetch(`${worker.url}/readyz`)).status).toBe(404);
    expect(await (await fetch(`${worker.url}/healthz`)).text()).toBe('OK');
    for (const program of [worker, server]) {
      const below = await program.descendants();
      await stopped(program);
      await until(
        () => below.filter(isAlive),
        (alive) => alive.length === 0,
      );
    }
    expect(server.output() + worker.output()).not.toMatch(/"level":"(?:error|fatal)"/);
  });

  it('server and worker end at once on a second signal', async () => {
    const proxy = await startProxy(database.url);
    const program = await startProgram({
      args: ['--mode=worker'],
      env: { ...env, DATABASE_URL: proxy.url },
    });
    await proxy.set('silent');
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    program.signal('SIGTERM');
    await until(program.output, (output) => output.includes('"msg":"stopping"'));
    program.signal('SIGTERM');
    expect(await program.ended).toBe(130);
    await proxy.close();
  });

  it('C24.7: a worker listens nowhere with WORKER_METRICS_PORT=0', async () => {
    const worker = await startProgram({
      args: ['--mode=worker'],
      env: { ...env, WORKER_METRICS_PORT: '0' },
      waits: 'not',
    });
    await until(worker.output, (output) => output.includes('"msg":"starting"'), 30_000);
    await expect(fetch(`${worker.url}/healthz`)).rejects.toThrow();
    expect(await stopped(worker)).toBe(0);
  });
});

describe('the flags', () => {
  const delivery = {
    MODE: 'server',
    SERVER_SURFACES: 'delivery',
    KEY_TOKEN_SECRET: secrets.KEY_TOKEN_SECRET,
    ENCRYPTION_KEY: secrets.ENCRYPTION_KEY,
    DATABASE_URL: 'postgres://unused@127.0.0.1:1/none',
    MEDIA_BUCKET: `file:${tmpdir()}`,
  };

  it('--help lists every variable and ends with 0', async () => {
    const { stdout } = await promisify(execFile)(process.execPath, ['main.ts', '--help'], { cwd: checkout });
    for (const name of ['WEBHOOK_BACKOFF', 'RUNNER_IMAGE', 'MEDIA_S3_TIMEOUT']) expect(stdout).toContain(name);
  });

  it('--check-config ends with 0 for a valid configuration, and with 2 and every fault for another', async () => {
    const valid = await startProgram({ args: ['--check-config'], env: delivery, waits: 'not' });
    expect(await valid.ended).toBe(0);
    const wrong = await startProgram({ args: ['--check-config'], env: { ...delivery, PORT: 'x' }, waits: 'not' });
    expect(await wrong.ended).toBe(2);
    expect(wrong.output()).toContain('PORT: expected');
  });

  it('a port that is taken ends the program with a message that names PORT, and a misspelt variable is logged', async () => {
    const taken = createServer().listen(0, '127.0.0.1');
    await once(taken, 'listening');
    const { port } = taken.address() as AddressInfo;
    const env = { ...delivery, HOST: '127.0.0.1', PORT: String(port), DELIVERY_CACHE_SISE: '1MiB' };
    const program = await startProgram({ env, waits: 'not' });
    expect(await program.ended).toBe(1);
    taken.close();
    expect(program.output()).toContain(`port ${port} of 127.0.0.1 is in use: set PORT to another one`);
    expect(program.output()).toMatch(/"variable":"DELIVERY_CACHE_SISE","nearest":"DELIVERY_CACHE_SIZE"/);
  });
});

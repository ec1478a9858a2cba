import { once } from 'node:events';
import { mkdir, mkdtemp, rename, rm, writeFile } from 'node:fs/promises';
import { Agent, get, type IncomingMessage } from 'node:http';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, it } from 'vitest';
import { masterKey } from '#domain/media/object-keys.ts';
import { until } from '../../testing/controller-rig.ts';
import { freePort } from '../../testing/free-port.ts';
import { endPrograms, type Program, secrets, startProgram } from '../../testing/programs.ts';
import { stalledClients } from './delivery-rig.ts';

// PROBE_PORT, with the program itself.

let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelwright-probes-'));
});
afterEach(endPrograms);
afterAll(() => rm(folder, { recursive: true, force: true }));

async function startWithProbes(env: Record<string, string>): Promise<{ program: Program; probes: string }> {
  const port = await freePort();
  const nowhere = { DATABASE_URL: 'postgres://u:p@127.0.0.1:1/x', MEDIA_BUCKET: `file:${join(folder, 'media')}` };
  const program = await startProgram({
    args: ['--mode=server'],
    env: { ...secrets, ...nowhere, PROBE_PORT: String(port), ...env },
    waits: 'alive',
  });
  return { program, probes: `http://127.0.0.1:${port}` };
}

async function probe(url: string): Promise<[number, string]> {
  const answer = await fetch(url);
  return [answer.status, await answer.text()];
}

it('C25.19: a pod of delivery is ready once it has reached the media bucket, and stays so in an outage', async () => {
  const { probes, program } = await startWithProbes({
    SERVER_SURFACES: 'delivery',
    MEDIA_S3_ENDPOINT: 'http://127.0.0.1:1',
    MEDIA_S3_ACCESS_KEY_ID: 'id',
    MEDIA_S3_SECRET_ACCESS_KEY: 'secret',
    MEDIA_BUCKET: 'away',
  });
  expect(await probe(`${probes}/healthz`)).toEqual([200, 'OK']);
  expect(await probe(`${probes}/readyz`)).toEqual([503, expect.stringMatching(/^not ready: media_bucket: /)]);
  expect(await probe(`${program.url}/readyz`)).toEqual([503, expect.stringContaining('database: ')]);
  const found = await startWithProbes({ SERVER_SURFACES: 'delivery', MEDIA_BUCKET: `file:${folder}` });
  expect(await probe(`${found.probes}/readyz`)).toEqual([200, 'OK']);
  // The database has been away all the time: streams play on without it.
  expect(await probe(`${found.program.url}/readyz`)).toEqual([503, expect.stringContaining('database: ')]);
  await rename(folder, `${folder}-away`);
  expect(await probe(`${found.program.url}/readyz`)).toEqual([503, expect.stringContaining('media_bucket: ')]);
  expect(await probe(`${found.probes}/readyz`)).toEqual([200, 'OK']);
  await rename(`${folder}-away`, folder);
}, 60_000);

it('C25.19: a pod of jobs is ready by its database alone, and every failing check is counted', async () => {
  const away = { SOURCE_BUCKET: `file:${folder}`, MEDIA_BUCKET: `file:${folder}`, REDIS_URL: 'redis://127.0.0.1:1' };
  const { probes, program } = await startWithProbes({ SERVER_SURFACES: 'api', BASE_URL: 'http://127.0.0.1', ...away });
  expect(await probe(`${probes}/readyz`)).toEqual([503, expect.stringMatching(/^not ready: database: [A-Z_]+$/)]);
  const [, metrics] = await probe(`${program.url}/metrics`);
  expect(metrics).toMatch(/svc_readiness_failures_total\{check="key_value_store"\} [1-9]/);
}, 60_000);

it('C25.19: probes are answered while clients hold all connections of the main port', async () => {
  const { probes, program } = await startWithProbes({ SERVER_SURFACES: 'delivery', MEDIA_BUCKET: `file:${folder}` });
  const port = Number(new URL(program.url).port);
  const addresses = Array.from({ length: 8 }, (_, n) => `127.0.0.${n + 10}`);
  const sockets = await Promise.all(addresses.map((from) => stalledClients(port, 100, 'GET / HTTP/1.1\r\n', from)));
  expect(await probe(`${probes}/healthz`)).toEqual([200, 'OK']);
  expect(await probe(`${probes}/readyz`)).toEqual([200, 'OK']);
  expect(await probe(`${probes}/`)).toEqual([404, 'not found']);
  for (const socket of sockets.flat()) socket.destroy();
  program.signal('SIGTERM');
  expect(await program.ended).toBe(0);
  await until(
    () =>
      fetch(`${probes}/healthz`).then(
        () => 'open',
        () => 'closed',
      ),
    (state) => state === 'closed',
  );
}, 60_000);

/** Requests an address over and over, by one connection at a time, until two responses have closed theirs. */
async function playUntilClosed(address: string): Promise<void> {
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  try {
    for (let closed = 0; closed < 2;) {
      const [response] = (await once(get(address, { agent }), 'response')) as [IncomingMessage];
      response.resume();
      expect(response.statusCode).toBe(200);
      await once(response, 'end');
      if (response.headers.connection === 'close') closed += 1;
      await sleep(100);
    }
  } finally {
    agent.destroy();
  }
}

it('C17.39: a pod that stops answers requests on open and new connections, and closes each by its response', async () => {
  const master = join(folder, masterKey('movie'));
  await mkdir(dirname(master), { recursive: true });
  await writeFile(master, '#EXTM3U\n');
  // Without a secret of tickets, no database has to say which media are signed.
  const delivery = { SERVER_SURFACES: 'delivery', STREAM_SECRET: '', MEDIA_BUCKET: `file:${folder}` };
  const { program } = await startWithProbes(delivery);
  const address = `${program.url}/stream/movie/master.m3u8`;
  const ended = Promise.all(Array.from({ length: 30 }, () => playUntilClosed(address)));
  await sleep(1_000);
  program.signal('SIGTERM');
  await ended;
  // The connection of the test's own fetch is idle, and ends after ten seconds.
  expect(await program.ended).toBe(0);
}, 60_000);

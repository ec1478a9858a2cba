import { mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, inject, it, type TestContext } from 'vitest';
import type { Job } from '#domain/jobs/job.ts';
import { until } from '../../testing/controller-rig.ts';
import { type Fleet, openFleet } from '../../testing/fleet.ts';
import { type Program, secrets } from '../../testing/programs.ts';

const isSent = ({ callbackStatus }: Job) => callbackStatus === 'sent';

async function kill(program: Program): Promise<void> {
  program.signal('SIGKILL');
  await program.ended;
}

const rows = async (fleet: Fleet, hash = 'red-1') =>
  (await fleet.database.pool.query<{ id: string }>('select id from jobs where hash = $1', [hash])).rows;

/** Answers every webhook, unless it is silent. */
async function startReceiver({ onTestFinished }: TestContext) {
  const received: { id: string; body: string }[] = [];
  const state = { isSilent: false };
  const server = createServer((request, response) => {
    let text = '';
    request.setEncoding('utf8').on('data', (chunk: string) => (text += chunk));
    request.on('end', () => {
      received.push({ id: String(request.headers['webhook-id']), body: text });
      if (!state.isSilent) response.end();
    });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  await once(server, 'listening');
  const callbackUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return { received, state, callbackUrl };
}

// A real process is killed at each gap between two stores: the row, the ticket, the answer, the webhook.

describe.skipIf(!inject('postgres') || !inject('redis')).concurrent('a killed process', () => {
  let samples: string;
  const headers = { 'x-api-key': secrets.API_KEY, 'content-type': 'application/json' };

  beforeAll(async () => {
    samples = await mkdtemp(join(tmpdir(), 'reelwright-samples-'));
    const create = { width: 64, height: 48, channels: 3 as const, background: 'red' };
    await sharp({ create }).png().toFile(join(samples, 'red.png'));
  });
  afterAll(async () => {
    await rm(samples, { recursive: true, force: true });
  });

  async function fleetOf(context: TestContext): Promise<Fleet> {
    const fleet = await openFleet(context);
    await fleet.addSource('red.png', join(samples, 'red.png'));
    return fleet;
  }
  const submit = (server: Program, hash = 'red-1') => {
    const body = JSON.stringify({ type: 'image:thumbnail', hash, source: 'red.png' });
    return fetch(`${server.url}/api/jobs`, { method: 'POST', headers, body });
  };

  it('a server killed between the commit of a submission and its ticket loses nothing: the sweeper adds the ticket', async (context) => {
    const fleet = await fleetOf(context);
    const server = await fleet.start('server');
    await fleet.redisProxy.set('silent');
    const answer = submit(server).catch(() => 'no answer');
    const [row] = await until(
      () => rows(fleet),
      (found) => found.length === 1,
    );
    await kill(server);
    expect(await answer).toBe('no answer');
    await fleet.redisProxy.set('open');
    expect((await fleet.queue.depth()).default).toMatchObject({ pending: 0, active: 0 });
    await fleet.start('worker');
    expect(await fleet.finished(row?.id ?? '')).toMatchObject({ status: 'completed', attempt: 1 });
  });

  describe('with a webhook to deliver', () => {
    it('C21.8: after a worker is killed between sending and recording a webhook, the same bytes are sent again under the same id', async (context) => {
      const fleet = await fleetOf(context);
      const { received, state, callbackUrl } = await startReceiver(context);
      state.isSilent = true;
      const worker = await fleet.start('worker');
      const id = await fleet.submit('image:thumbnail', 'red.png', { callbackUrl });
      await until(
        () => received.length,
        (count) => count === 1,
        60_000,
      );
      await kill(worker);
      state.isSilent = false;
      await fleet.start('worker');
      await until(() => fleet.find(id), isSent, 60_000);
      expect(received).toHaveLength(2);
      expect(received[1]).toEqual(received[0]);
    });
  });
});

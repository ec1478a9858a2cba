import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it, type TestContext } from 'vitest';
import { isAlive } from '#platform/commands/is-alive.ts';
import { until } from '../../testing/controller-rig.ts';
import { slowFfmpeg } from '../../testing/counted-ffmpeg.ts';
import { type Fleet, openFleet } from '../../testing/fleet.ts';
import { secrets } from '../../testing/programs.ts';
import { makeVideo } from '../../testing/media.ts';

/** Which of these processes run a program of this name. */
async function named(program: string, pids: readonly number[]): Promise<number[]> {
  const names = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/comm`, 'utf8').catch(() => '')));
  const found = pids.filter((_, index) => names[index]?.trim() === program);
  expect(found).not.toEqual([]);
  return found;
}

describe.skipIf(!inject('postgres') || !inject('redis')).concurrent('a worker in the middle of an encode', () => {
  let samples: string;
  let ffmpeg: string;

  beforeAll(async () => {
    samples = await mkdtemp(join(tmpdir(), 'reelwright-samples-'));
    await makeVideo({ path: join(samples, 'clip.mp4'), seconds: 12, width: 640, height: 360 });
    ffmpeg = await slowFfmpeg(samples);
  });
  afterAll(async () => {
    await rm(samples, { recursive: true, force: true });
  });

  async function fleetOf(context: TestContext): Promise<Fleet> {
    const fleet = await openFleet(context);
    await fleet.addSource('clip.mp4', join(samples, 'clip.mp4'));
    return fleet;
  }

  /** A worker that is encoding a job, slowly enough to be caught at it, and the processes below it. */
  async function encodingWorker(fleet: Fleet) {
    const worker = await fleet.start('worker', { FFMPEG_PATH: ffmpeg });
    const id = await fleet.submit('video:transcode', 'clip.mp4', { options: { encrypt: true } });
    await fleet.reached(id, 'encoding');
    // The runner, and ffmpeg below it.
    const below = await until(worker.descendants, (pids) => pids.length >= 2);
    return { worker, id, below };
  }

  it('the processes of a killed worker end by themselves, and the next worker completes the job', async (context) => {
    const fleet = await fleetOf(context);
    const { worker, id, below } = await encodingWorker(fleet);
    worker.signal('SIGKILL');
    expect(await worker.ended).toBe('SIGKILL');
    await until(
      () => below.filter(isAlive),
      (alive) => alive.length === 0,
      10_000,
    );
    expect(await fleet.workspaces()).toHaveLength(1);
    const next = await fleet.start('worker');
    const job = await fleet.finished(id);
    expect(job).toMatchObject({ status: 'completed', progress: 95, attempt: 2, failures: 0 });
    await until(fleet.workspaces, (left) => left.length === 0);
    next.signal('SIGTERM');
    expect(await next.ended).toBe(0);
  });

  it('a worker that gets SIGTERM leaves no process, not even a frozen one, and another completes its job', async (context) => {
    const fleet = await fleetOf(context);
    const { worker, id, below } = await encodingWorker(fleet);
    for (const pid of await named('ffmpeg', below)) process.kill(pid, 'SIGSTOP');
    const signalledAt = Date.now();
    worker.signal('SIGTERM');
    expect(await worker.ended).toBe(0);
    expect(Date.now() - signalledAt).toBeLessThan(8_000);
    expect(below.filter(isAlive)).toEqual([]);
    expect(await fleet.workspaces()).toEqual([]);
    expect(await fleet.find(id)).toMatchObject({ status: 'processing', attempt: 2, failures: 0 });
    await fleet.start('worker');
    expect(await fleet.finished(id)).toMatchObject({ status: 'completed', attempt: 2, failures: 0 });
  });

  it('a worker frozen for longer than its lease stops its work when it resumes, and another worker completes the job', async (context) => {
    const fleet = await fleetOf(context);
    const { worker, id, below } = await encodingWorker(fleet);
    worker.signal('SIGSTOP');
    await fleet.start('worker');
    expect(await fleet.finished(id)).toMatchObject({ status: 'completed', attempt: 2, failures: 0 });
    worker.signal('SIGCONT');
    await until(
      () => below.filter(isAlive),
      (alive) => alive.length === 0,
    );
    const metrics = async () => (await fetch(`${worker.url}/metrics`)).text();
    await until(metrics, (text) => text.includes('svc_worker_tasks_total{type="video:transcode",result="lost"} 1'));
    expect(await fleet.find(id)).toMatchObject({ status: 'completed', attempt: 2 });
  });

  it('the processes of a job cancelled through the API end within five seconds', async (context) => {
    const fleet = await fleetOf(context);
    const server = await fleet.start('server');
    const { worker, id, below } = await encodingWorker(fleet);
    const cancelledAt = Date.now();
    const headers = { 'x-api-key': secrets.API_KEY };
    const answer = await fetch(`${server.url}/api/jobs/${id}/cancel`, { method: 'POST', headers });
    expect([answer.status, await answer.json()]).toMatchObject([200, { status: 'cancelled' }]);
    await until(
      () => below.filter(isAlive),
      (alive) => alive.length === 0,
    );
    expect(Date.now() - cancelledAt).toBeLessThan(5_000);
    await until(fleet.workspaces, (left) => left.length === 0);
    expect(await fleet.find(id)).toMatchObject({ status: 'cancelled', attempt: 1, error: { code: 'cancelled' } });
    expect((await fetch(`${worker.url}/healthz`)).status).toBe(200);
  });

  it('a worker without a database for longer than its lease works on and records the result once it is back', async (context) => {
    const fleet = await fleetOf(context);
    const worker = await fleet.start('worker', { X264_PRESET: 'medium' });
    const id = await fleet.submit('video:transcode', 'clip.mp4');
    await fleet.reached(id, 'encoding');
    await fleet.databaseProxy.set('cut');
    await sleep(6_000);
    expect((await fetch(`${worker.url}/healthz`)).status).toBe(200);
    await fleet.databaseProxy.set('open');
    expect(await fleet.finished(id)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
  });
});

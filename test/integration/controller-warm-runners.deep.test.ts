import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { openRig, processesWith, type Rig, until } from '../../testing/controller-rig.ts';

// Image jobs in kept runners of the process executor, with the scripted runner.

const image = { type: 'image:thumbnail' } as const;
const processesOf = (runner: string | undefined) => processesWith(`TMPDIR=${runner}`);

describe.skipIf(!inject('postgres'))('a kept runner', () => {
  let rig: Rig;
  beforeEach(async () => {
    rig = await openRig();
  });
  afterEach(async () => {
    await rig.close();
  });

  const begun = async () => (await rig.notes()).filter(({ what }) => what === 'begin');
  /** The kept runner of each job, by its folder: in its namespace every runner has the same process id. */
  const runners = async () => (await begun()).map(({ tmpdir }) => tmpdir);
  const running = (count: number) => until(begun, (notes) => notes.length === count);

  /** Submits jobs one after another, each after the end of the one before. */
  async function inTurn(...sources: readonly string[]) {
    const jobs = [];
    for (const source of sources) jobs.push(await rig.finished(await rig.submit(source, image)));
    return jobs;
  }

  it('image jobs one after another share a process, and none finds a file of another', async () => {
    rig.startWorker();
    const jobs = await inTurn('leave', 'leave', 'ok');
    expect(jobs.map(({ status, progress }) => [status, progress])).toEqual(
      Array.from({ length: 3 }, () => ['completed', 100]),
    );
    expect(new Set(await runners()).size).toBe(1);
    expect((await begun()).map(({ found }) => found)).toEqual([[], [], []]);
  });

  it('a kept runner is replaced after IMAGE_JOBS_PER_PROCESS jobs and after a job that failed', async () => {
    rig.startWorker({ imageJobsPerProcess: 2 });
    expect((await inTurn('ok', 'ok', 'exit-10', 'ok')).map(({ status }) => status)).toEqual([
      'completed',
      'completed',
      'failed',
      'completed',
    ]);
    const [first, second, third, fourth] = await runners();
    expect(second).toBe(first);
    expect(new Set([first, third, fourth]).size).toBe(3);
    await until(
      async () => [await processesOf(first), await processesOf(third)].flat(),
      (alive) => alive.length === 0,
    );
  });

  it('a kept runner that dies costs the one job that it was at an attempt', async () => {
    rig.startWorker({ workerConcurrency: 2 });
    const other = await rig.submit('slow-4000', image);
    await running(1);
    const died = await rig.finished(await rig.submit('die-1', image));
    expect(died).toMatchObject({ status: 'completed', attempt: 2, failures: 1 });
    expect(await rig.finished(other)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
  });

  it('C13.27: the kept runner of a cancelled image job ends within five seconds, and no other does', async () => {
    rig.startWorker({ workerConcurrency: 2 });
    const other = await rig.submit('slow-4000', image);
    await running(1);
    const id = await rig.submit('slow-60000', image);
    const [kept, cancelled] = (await running(2)).map(({ tmpdir }) => tmpdir);
    const cancelledAt = Date.now();
    const error = { code: 'cancelled' as const, message: 'cancelled', retryable: false, attempt: 1 };
    const end = { status: 'cancelled' as const, results: null, error, eventId: crypto.randomUUID(), now: new Date() };
    await rig.jobs.finish({ jobId: id, attempt: 1, ...end });
    await until(
      () => processesOf(cancelled),
      (alive) => alive.length === 0,
    );
    expect(Date.now() - cancelledAt).toBeLessThan(5_000);
    expect(await processesOf(kept)).not.toEqual([]);
    expect(await rig.finished(other)).toMatchObject({ status: 'completed', attempt: 1 });
  });

  it('C12.10: a stopped worker leaves no kept runner, and an interrupted image job costs no attempt', async () => {
    const worker = rig.startWorker({ workerConcurrency: 2 });
    await inTurn('ok');
    const [idle, busy] = [await rig.submit('ok', image), await rig.submit('slow-60000', image)];
    await rig.finished(idle);
    await running(3);
    await worker.stop();
    for (const runner of await runners()) expect(await processesOf(runner)).toEqual([]);
    expect(await rig.find(busy)).toMatchObject({ status: 'processing', attempt: 2, failures: 0 });
    expect(await rig.workspaces()).toEqual([]);
  });
});

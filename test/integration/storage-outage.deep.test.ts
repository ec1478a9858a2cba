import { rename } from 'node:fs/promises';
import { expect, it, type TestContext } from 'vitest';
import { openRig, type Rig, until } from '../../testing/controller-rig.ts';

async function rigOf({ onTestFinished }: TestContext): Promise<Rig> {
  const rig = await openRig();
  onTestFinished(() => rig.close());
  return rig;
}

/** Takes the media bucket away; returns what brings it back. */
async function takeMediaAway(rig: Rig): Promise<() => Promise<void>> {
  const dir = rig.config.media.dir ?? '';
  await rename(dir, `${dir}-away`);
  return () => rename(`${dir}-away`, dir);
}

it.concurrent(
  'C12.11: an outage of the object storage costs no attempt and starts none',
  async (context) => {
    const rig = await rigOf(context);
    rig.startWorker({ jobAttempts: 1, workerConcurrency: 1 });
    const bringBack = await takeMediaAway(rig);
    const running = await rig.submit('exit-20-1');
    const waiting = await rig.submit('ok');
    await until(
      () => rig.find(running),
      ({ attempt }) => attempt === 2,
    );
    const backAt = Date.now();
    await bringBack();
    expect(await rig.finished(running)).toMatchObject({ status: 'completed', attempt: 2, failures: 0 });
    expect(await rig.finished(waiting)).toMatchObject({ status: 'completed', attempt: 1, failures: 0 });
    const begun = (await rig.notes()).filter(({ what, job }) => what === 'begin' && job === waiting);
    expect(begun[0]?.at).toBeGreaterThanOrEqual(backAt);
  },
  60_000,
);

it.concurrent(
  'C12.11: an outage that lasts longer than its deadline fails jobs again',
  async (context) => {
    const rig = await rigOf(context);
    rig.startWorker({ jobAttempts: 1, outageDeadlineMs: 1_000 });
    const bringBack = await takeMediaAway(rig);
    const job = await rig.finished(await rig.submit('exit-20'));
    expect(job).toMatchObject({ status: 'failed', attempt: 2, error: { code: 'storage_error' } });
    await bringBack();
  },
  60_000,
);

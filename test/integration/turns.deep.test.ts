import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { openRig, type Rig, until } from '../../testing/controller-rig.ts';

/** The keys of the jobs in the order in which their work began. */
async function orderOfWork(rig: Rig): Promise<string> {
  const ids = (await rig.notes()).filter(({ what, step }) => what === 'begin' && step === 'process');
  const keys = await Promise.all(ids.map(async ({ job }) => (await rig.find(job)).keyId ?? '-'));
  return keys.join('');
}

describe.skipIf(!inject('postgres')).each([
  { queue: 'postgres', variables: {} },
  { queue: 'redis', variables: { REDIS_URL: inject('redis')?.url ?? '' } },
])('workers of jobs of several keys, tickets in $queue', ({ variables }) => {
  const isMissing = 'REDIS_URL' in variables && variables.REDIS_URL === '';
  let rig: Rig;
  beforeEach(async () => {
    if (!isMissing) rig = await openRig(variables);
  });
  afterEach(async () => {
    if (!isMissing) await rig.close();
  });

  it.skipIf(isMissing)('C36.2: a key that comes beside a backlog has the next turn', { timeout: 120_000 }, async () => {
    const jobs: string[] = [];
    for (let n = 0; n < 6; n++) jobs.push(await rig.submit('ok', { keyId: 'a' }));
    rig.startWorker({ workerConcurrency: 1 });
    await until(
      () => orderOfWork(rig),
      (order) => order.length >= 1,
    );
    for (let n = 0; n < 2; n++) jobs.push(await rig.submit('ok', { keyId: 'b' }));
    for (const id of jobs) expect(await rig.finished(id)).toMatchObject({ status: 'completed', attempt: 1 });
    const order = await orderOfWork(rig);
    expect(order).toHaveLength(8);
    expect(order, 'b before the last jobs of a').toMatch(/a{2}$/);
    await until(
      async () => Object.values(await rig.queue.depth()).map(({ pending, active }) => pending + active),
      (tickets) => tickets.every((count) => count === 0),
    );
  });

  it.skipIf(isMissing)('C36.6: what several workers begin at once is begun once', { timeout: 120_000 }, async () => {
    const jobs: string[] = [];
    for (let n = 0; n < 8; n++) jobs.push(await rig.submit('ok', { keyId: 'a' }));
    for (let n = 0; n < 3; n++) jobs.push(await rig.submit('ok', { keyId: n === 0 ? null : 'b' }));
    for (let n = 0; n < 2; n++) rig.startWorker({ workerConcurrency: 1 });
    for (const id of jobs) expect(await rig.finished(id)).toMatchObject({ status: 'completed', attempt: 1 });
    const order = await orderOfWork(rig);
    expect(order.split('').toSorted().join('')).toBe('-aaaaaaaabb');
    expect(order, 'the other keys before the last jobs of a').toMatch(/a{3}$/);
  });
});

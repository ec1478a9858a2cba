import { expect } from 'vitest';
import { until } from '../../testing/k8s/cluster.ts';
import { rigTest as test } from '../../testing/k8s/controller.ts';
import type { FaultyProxy } from '../../testing/k8s/faulty-proxy.ts';
import { runningStatus } from '../../testing/k8s/pod-states.ts';
import { leaveThumbnail } from '../../testing/k8s/workers.ts';

const thumbnail = { options: { outputs: [{ variant: 'thumb', width: 100, format: 'webp' as const }] } };
const isWrite = (line: string) => !line.startsWith('GET') && !line.includes('/leases');
const isList = (line: string) => /^GET \S+\/(mediajobs|runnerpools|jobs|pods)\?/.test(line) && !line.includes('watch=');

test('in a steady state nothing is written during several full lists', async ({ openRig }) => {
  const rig = await openRig();
  const proxy = await rig.startProxiedWorker({ relistEveryMs: 2_000 });
  const ids: string[] = [];
  for (let n = 0; n < 3; n += 1) ids.push(await rig.submit('image:thumbnail', thumbnail));
  // One has ended, one runs, and the pod of one has no status yet.
  const [running, done] = await rig.jobsAre(3);
  if (running === undefined || done === undefined) throw new Error('there are Jobs');
  const id = done.metadata?.labels?.['reelwright.dev/job-id'] ?? '';
  await leaveThumbnail(rig.media, { jobId: id, hash: (await rig.find(id)).hash, attempt: 1 });
  await rig.node.setStatus(await rig.node.podOf(done), { phase: 'Succeeded' });
  const pod = await rig.node.podOf(running);
  await rig.node.setStatus(pod, runningStatus(pod));
  // Statuses of jobs are written within five seconds, of pools within ten.
  const from = await quiet(proxy, 11_000);
  const lists = () => proxy.requests.slice(from).filter(isList).length;
  await until('each was listed three times', () => lists() >= 12);
  expect(proxy.requests.slice(from).filter(isWrite)).toEqual([]);
  expect((await Promise.all(ids.map(rig.find))).filter(({ status }) => status === 'completed')).toHaveLength(1);
});

/** Waits until nothing was written for some time; how many requests there were until then. */
async function quiet({ requests }: FaultyProxy, forMs: number): Promise<number> {
  let [writes, since] = [-1, Date.now()];
  await until(`nothing was written for ${forMs} ms`, () => {
    const now = requests.filter(isWrite).length;
    if (now !== writes) [writes, since] = [now, Date.now()];
    return Date.now() - since > forMs;
  });
  return requests.length;
}

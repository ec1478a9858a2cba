import { beforeAll, expect, test } from 'vitest';
import { isFinal } from '#domain/jobs/status.ts';
import { leases } from '#platform/kubernetes/objects.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { openCrashScene } from '../../testing/k8s/crashes.ts';
import { PodPlayer } from '../../testing/k8s/pod-player.ts';
import { endPrograms } from '../../testing/programs.ts';

beforeAll(() => endPrograms);

const thumbnail = { options: { outputs: [{ variant: 'thumb', width: 100, format: 'webp' as const }] } };
const isWrite = (line: string) => !line.startsWith('GET') && !line.includes('/leases');

test('a leader that was paused while another took over writes nothing when it is resumed', async ({
  onTestFinished,
}) => {
  const scene = await openCrashScene(onTestFinished, {});
  const { admin, namespace, proxy, workplace, start, startProxied } = scene;
  const holder = async () => {
    const lease = await admin.get(leases, { namespace, name: 'reelwright-controller' }).catch(() => null);
    return lease?.spec?.holderIdentity ?? '';
  };
  const paused = await startProxied();
  await until('the first leads', async () => (await holder()) !== '');
  const first = await holder();
  await start();
  const ids: string[] = [];
  for (let n = 0; n < 3; n += 1) ids.push(await workplace.submit('image:thumbnail', thumbnail));
  const player = new PodPlayer(scene);
  await until('it has made the Jobs', () => proxy.requests.filter((line) => /^POST \S+\/jobs/.test(line)).length === 3);
  paused.signal('SIGSTOP');
  player.start();
  onTestFinished(() => player.stop());
  await until('the second leads', async () => !['', first].includes(await holder()));
  const states = () => workplace.jobs.statesOf(ids);
  await until('every job has ended', async () => (await states()).every(({ status }) => isFinal(status)));
  const before = proxy.requests.length;
  paused.signal('SIGCONT');
  const looks = () =>
    proxy.requests.slice(before).filter((line) => line.startsWith('GET') && line.includes('/leases/'));
  // It looks at the lease every few seconds, and had time to write what it had begun.
  await until('the first has looked at the lease again and again', () => looks().length >= 3);
  expect(proxy.requests.slice(before).filter(isWrite)).toEqual([]);
  for (const id of ids) expect(await workplace.find(id)).toMatchObject({ status: 'completed', attempt: 1 });
  expect([...player.uids.values()].map((uids) => uids.size)).toEqual([1, 1, 1]);
});

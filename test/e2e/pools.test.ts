import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { putClip, putLargeClip } from './support/clips.ts';
import { kubectl, kubectlJson } from './support/kubectl.ts';
import type { List, RunnerPoolObject } from './support/objects.ts';
import {
  cancelUnfinished,
  completed,
  eventsOf,
  eventually,
  getJob,
  inRunners,
  mediaJob,
  runnerPods,
  submit,
} from './support/service.ts';
import { watchPods } from './support/watch-pods.ts';

const label = 'media.example.com/pool';
let node: string;
let largeClip: string;

beforeAll(async () => {
  largeClip = await putLargeClip();
  const workers = ['get', 'nodes', '-l', '!node-role.kubernetes.io/control-plane'];
  const { items } = await kubectlJson<List<{ metadata: { name: string } }>>(...workers);
  node = items.at(-1)?.metadata.name ?? '';
  await unlabel();
});
afterEach(cancelUnfinished);
afterAll(async () => {
  await unlabel();
  await inRunners('scale', 'rp/video-large', '--replicas=1');
});

const unlabel = () => kubectl('label', 'nodes', '--all', `${label}-`);
const large = () => submit({ type: 'video:transcode', source: largeClip });

test('a large video without a node for its pool shows why within 30 s, and runs on the node that `kubectl label` adds', async () => {
  const id = await submit({ type: 'video:transcode', source: largeClip });
  const name = `mj-${id}`;
  const shown = await eventually(
    () => mediaJob(name).catch(() => null),
    (current) => current?.status?.phase === 'unschedulable',
    30_000,
  );
  expect(shown?.status?.pool).toBe('video-large');
  const progressing = shown?.status?.conditions?.find(({ type }) => type === 'Progressing');
  expect(progressing).toMatchObject({ status: 'False', reason: 'Unschedulable' });
  expect(progressing?.message).toMatch(/node affinity\/selector/);
  const events = await eventually(
    () => eventsOf('MediaJob', name),
    (found) => found.length > 0,
    10_000,
  );
  expect(events[0]).toMatchObject({ type: 'Warning', reason: 'Unschedulable' });
  expect(await inRunners('get', 'mj', name)).toMatch(
    /video:transcode\s+unschedulable\s+0\s+Unschedulable\s+video-large/,
  );
  const pool = await eventually(
    () => kubectlJson<RunnerPoolObject>('-n', shown?.metadata.namespace ?? '', 'get', 'rp', 'video-large'),
    ({ status }) => status?.lastError !== '',
    30_000,
  );
  expect(pool.status?.lastError).toMatch(/Unschedulable/);
  expect((await getJob(id)).status).toBe('processing');

  await kubectl('label', 'node', node, `${label}=large`);
  expect(await completed(id)).toMatchObject({ attempt: 1 });
  const pods = await runnerPods(id);
  expect(pods.map(({ spec }) => spec.nodeName)).toEqual([node]);
});

test('a pool runs one job at a time, and two after `kubectl scale rp/video-large --replicas=2`', async () => {
  await kubectl('label', 'node', node, `${label}=large`, '--overwrite');
  const one = watchPods('video-large');
  const first = await Promise.all([large(), large(), large()]);
  for (const id of first) await completed(id);
  await one.stop();
  expect(one.most()).toBe(1);

  await inRunners('scale', 'rp/video-large', '--replicas=2');
  expect(await inRunners('get', 'rp', 'video-large')).toMatch(/^video-large\s+2\s/m);
  const two = watchPods('video-large');
  const second = await Promise.all([large(), large(), large(), large()]);
  for (const id of second) await completed(id);
  await two.stop();
  expect(two.most()).toBe(2);
  expect([...one.nodes(), ...two.nodes()]).toEqual([node, node]);
});

test('a burst of submissions never exceeds the concurrency of the pool', async () => {
  // Image jobs would share a pod.
  const source = await putClip();
  const watch = watchPods('default');
  const ids = await Promise.all(Array.from({ length: 9 }, () => submit({ type: 'video:cover', source })));
  for (const id of ids) await completed(id);
  await watch.stop();
  expect(watch.most()).toBe(3);
  const jobs = await inRunners('get', 'jobs', '-o', 'jsonpath={.items[*].metadata.labels.reelwright\\.dev/job-id}');
  expect(ids.map((id) => jobs.split(id).length - 1)).toEqual(ids.map(() => 1));
});

import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { putLargeClip } from './support/clips.ts';
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
afterAll(() => unlabel());

const unlabel = () => kubectl('label', 'nodes', '--all', `${label}-`);

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

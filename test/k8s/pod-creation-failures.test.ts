import { expect, test } from 'vitest';
import { events } from '#platform/kubernetes/objects.ts';
import { PodCreationFailures } from '../../controller/kubernetes/cache/pod-creation-failures.ts';
import type { JobSnapshot } from '../../controller/kubernetes/snapshots/job.ts';
import type { PodSnapshot } from '../../controller/kubernetes/snapshots/pod.ts';
import { adminCredentials, clientFor, newNamespace } from '../../testing/k8s/cluster.ts';
import { FaultyProxy } from '../../testing/k8s/faulty-proxy.ts';

const nowMs = Date.parse('2026-11-21T12:00:00Z');
const jobWithout = (name: string, more: Partial<JobSnapshot> = {}): JobSnapshot => ({
  metadata: { name, creationTimestamp: '2026-11-21T11:59:50Z' },
  isSuspended: false,
  conditions: [],
  hasPod: false,
  ...more,
});

async function createFailure(namespace: string, name: string, note: string): Promise<void> {
  await clientFor().create(events, {
    metadata: { namespace, name: `of-${name}` },
    eventTime: new Date().toISOString().replace('Z', '000Z'),
    reportingController: 'job-controller',
    reportingInstance: 'test',
    action: 'Create',
    regarding: { apiVersion: 'batch/v1', kind: 'Job', namespace, name },
    type: 'Warning',
    reason: 'FailedCreate',
    note,
  });
}

test('the failures of all Jobs are read in one list, at most every five seconds', async () => {
  const proxy = await FaultyProxy.start();
  const namespace = await newNamespace(clientFor());
  const failures = new PodCreationFailures(clientFor(adminCredentials(proxy.url)), namespace);
  const of = (name: string, atMs = nowMs) => failures.of(jobWithout(name), [], atMs);
  await createFailure(namespace, 'a', 'exceeded quota: one');
  await createFailure(namespace, 'b', 'exceeded quota: two');
  const found = await Promise.all(['a', 'b', 'c'].map((name) => of(name)));
  expect(found).toEqual(['exceeded quota: one', 'exceeded quota: two', null]);
  expect(proxy.requests).toHaveLength(1);
  await createFailure(namespace, 'c', 'exceeded quota: three');
  expect(await of('c', nowMs + 4_999)).toBeNull();
  expect(proxy.requests).toHaveLength(1);
  expect(await of('c', nowMs + 5_000)).toBe('exceeded quota: three');
  expect(proxy.requests).toHaveLength(2);
});

test('more failures than fit on a page are read page by page', async () => {
  const proxy = await FaultyProxy.start();
  const namespace = await newNamespace(clientFor());
  const failures = new PodCreationFailures(clientFor(adminCredentials(proxy.url)), namespace, 1);
  for (const name of ['a', 'b', 'c']) await createFailure(namespace, name, `exceeded quota: ${name}`);
  expect(await failures.of(jobWithout('c'), [], nowMs)).toBe('exceeded quota: c');
  expect(await failures.of(jobWithout('a'), [], nowMs)).toBe('exceeded quota: a');
  expect(proxy.requests).toHaveLength(3);
});

test('a Job that is new, is suspended or has its pod causes no request', async () => {
  const proxy = await FaultyProxy.start();
  const namespace = await newNamespace(clientFor());
  const failures = new PodCreationFailures(clientFor(adminCredentials(proxy.url)), namespace);
  const recent = jobWithout('a', { metadata: { name: 'a', creationTimestamp: '2026-11-21T11:59:58Z' } });
  for (const job of [recent, jobWithout('a', { isSuspended: true }), jobWithout('a', { hasPod: true }), null])
    expect(await failures.of(job, [], nowMs)).toBeNull();
  expect(proxy.requests).toEqual([]);
});

test('a list that failed is requested again by the next caller', async () => {
  const proxy = await FaultyProxy.start();
  const namespace = await newNamespace(clientFor());
  const failures = new PodCreationFailures(clientFor(adminCredentials(proxy.url)), namespace);
  await createFailure(namespace, 'a', 'exceeded quota: one');
  proxy.answer(/events/, 500);
  await expect(failures.of(jobWithout('a'), [], nowMs)).rejects.toThrow();
  expect(await failures.of(jobWithout('a'), [], nowMs)).toBe('exceeded quota: one');
});

const indexed = { parallelism: 2, completions: 4, completed: '0', failed: '' };
const podAt = (creationTimestamp: string, phase: string): PodSnapshot => ({
  metadata: { creationTimestamp },
  phase,
  reason: '',
  message: '',
  conditions: [],
  containers: [],
  hasRunningSidecar: false,
});

test('a Job of chunks counts the failures since its last pod, until it has as many pods as it may have', async () => {
  const namespace = await newNamespace(clientFor());
  const failures = new PodCreationFailures(clientFor(), namespace);
  await createFailure(namespace, 'a', 'exceeded quota: one');
  const of = (...pods: PodSnapshot[]) => failures.of(jobWithout('a', { hasPod: true, indexed }), pods, nowMs);
  const [before, after] = ['2026-01-01T00:00:00Z', '2199-01-01T00:00:00Z'];
  expect(await of()).toBe('exceeded quota: one');
  expect(await of(podAt(before, 'Succeeded'), podAt(before, 'Failed'))).toBe('exceeded quota: one');
  expect(await of(podAt(before, 'Running'))).toBe('exceeded quota: one');
  expect(await of(podAt(before, 'Running'), podAt(before, 'Pending'))).toBeNull();
  expect(await of(podAt(before, 'Succeeded'), podAt(after, 'Succeeded'))).toBeNull();
  const complete = [{ type: 'Complete', status: 'True' }] as JobSnapshot['conditions'];
  expect(await failures.of(jobWithout('a', { conditions: complete, indexed }), [], nowMs)).toBeNull();
});

import { expect, test } from 'vitest';
import { events } from '#platform/kubernetes/objects.ts';
import { PodCreationFailures } from '../../controller/kubernetes/cache/pod-creation-failures.ts';
import type { JobSnapshot } from '../../controller/kubernetes/snapshots/job.ts';
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
  const of = (name: string, atMs = nowMs) => failures.of(jobWithout(name), null, atMs);
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
  expect(await failures.of(jobWithout('c'), null, nowMs)).toBe('exceeded quota: c');
  expect(await failures.of(jobWithout('a'), null, nowMs)).toBe('exceeded quota: a');
  expect(proxy.requests).toHaveLength(3);
});

test('a Job that is new, is suspended or has its pod causes no request', async () => {
  const proxy = await FaultyProxy.start();
  const namespace = await newNamespace(clientFor());
  const failures = new PodCreationFailures(clientFor(adminCredentials(proxy.url)), namespace);
  const recent = jobWithout('a', { metadata: { name: 'a', creationTimestamp: '2026-11-21T11:59:58Z' } });
  for (const job of [recent, jobWithout('a', { isSuspended: true }), jobWithout('a', { hasPod: true }), null])
    expect(await failures.of(job, null, nowMs)).toBeNull();
  expect(proxy.requests).toEqual([]);
});

test('a list that failed is requested again by the next caller', async () => {
  const proxy = await FaultyProxy.start();
  const namespace = await newNamespace(clientFor());
  const failures = new PodCreationFailures(clientFor(adminCredentials(proxy.url)), namespace);
  await createFailure(namespace, 'a', 'exceeded quota: one');
  proxy.answer(/events/, 500);
  await expect(failures.of(jobWithout('a'), null, nowMs)).rejects.toThrow();
  expect(await failures.of(jobWithout('a'), null, nowMs)).toBe('exceeded quota: one');
});

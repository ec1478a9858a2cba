import { expect, test } from 'vitest';
import { events } from '#platform/kubernetes/objects.ts';
import { PodCreationFailures } from '../../controller/kubernetes/cache/pod-creation-failures.ts';
import type { JobSnapshot } from '../../controller/kubernetes/snapshots.ts';
import { adminCredentials, clientFor, newNamespace } from '../../testing/k8s/cluster.ts';
import { FaultyProxy } from '../../testing/k8s/faulty-proxy.ts';

const nowMs = Date.parse('2026-11-21T12:00:00Z');
const jobSeen = (name: string, more: Partial<JobSnapshot> = {}): JobSnapshot => ({
  metadata: { name, creationTimestamp: '2026-11-21T11:59:50Z' },
  isSuspended: false,
  conditions: [],
  hasPod: false,
  ...more,
});

async function denied(namespace: string, name: string, note: string): Promise<void> {
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

test('why Jobs have no pods is read for all of them in one list, every five seconds at most', async () => {
  const proxy = await FaultyProxy.start();
  const namespace = await newNamespace(clientFor());
  const denials = new PodCreationFailures(clientFor(adminCredentials(proxy.url)), namespace);
  const of = (name: string, atMs = nowMs) => denials.of(jobSeen(name), null, atMs);
  await denied(namespace, 'a', 'exceeded quota: one');
  await denied(namespace, 'b', 'exceeded quota: two');
  const found = await Promise.all(['a', 'b', 'c'].map((name) => of(name)));
  expect(found).toEqual(['exceeded quota: one', 'exceeded quota: two', null]);
  expect(proxy.requests).toHaveLength(1);
  await denied(namespace, 'c', 'exceeded quota: three');
  expect(await of('c', nowMs + 4_999)).toBeNull();
  expect(proxy.requests).toHaveLength(1);
  expect(await of('c', nowMs + 5_000)).toBe('exceeded quota: three');
  expect(proxy.requests).toHaveLength(2);
});

test('nothing is asked about a Job that is new, is suspended, or has its pod', async () => {
  const proxy = await FaultyProxy.start();
  const namespace = await newNamespace(clientFor());
  const denials = new PodCreationFailures(clientFor(adminCredentials(proxy.url)), namespace);
  const recent = jobSeen('a', { metadata: { name: 'a', creationTimestamp: '2026-11-21T11:59:58Z' } });
  for (const job of [recent, jobSeen('a', { isSuspended: true }), jobSeen('a', { hasPod: true }), null])
    expect(await denials.of(job, null, nowMs)).toBeNull();
  expect(proxy.requests).toEqual([]);
});

test('a list that failed is asked for again by the next who wants it', async () => {
  const proxy = await FaultyProxy.start();
  const namespace = await newNamespace(clientFor());
  const denials = new PodCreationFailures(clientFor(adminCredentials(proxy.url)), namespace);
  await denied(namespace, 'a', 'exceeded quota: one');
  proxy.answer(/events/, 500);
  await expect(denials.of(jobSeen('a'), null, nowMs)).rejects.toThrow();
  expect(await denials.of(jobSeen('a'), null, nowMs)).toBe('exceeded quota: one');
});

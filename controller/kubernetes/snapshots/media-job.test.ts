import { expect, it } from 'vitest';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { isOfApiJob, jobIdOf, ownJobIdOf, remainingTtlMs, trimMediaJob } from './media-job.ts';
import { isReservedName, keyOfRun } from './names.ts';

const id = '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10';
const labels = { 'reelwright.dev/job-id': id };
const named = (name: string, more: Pick<MediaJob, 'status'> & { labels?: Record<string, string> } = {}): MediaJob => ({
  metadata: { name, uid: 'u', ...(more.labels === undefined ? {} : { labels: more.labels }) },
  spec: { type: 'video:cover', hash: 'h', source: 's' },
  ...(more.status === undefined ? {} : { status: more.status }),
});

it.each<[string, MediaJob, { own: string; shown: string }]>([
  ['of an API job', named(`mj-${id}`, { labels, status: { jobId: 'other' } }), { own: id, shown: id }],
  ['from kubectl', named('mine'), { own: 'u', shown: 'u' }],
  ['that follows an equal job', named('mine', { status: { jobId: id } }), { own: 'u', shown: id }],
  ['with the label of a job under another name', named('mine', { labels }), { own: 'u', shown: 'u' }],
])('a MediaJob %s runs and shows the job of its id', (_, mediaJob, { own, shown }) => {
  expect(ownJobIdOf(mediaJob)).toBe(own);
  expect(jobIdOf(mediaJob)).toBe(shown);
  expect(isOfApiJob(mediaJob)).toBe(own === id);
});

it('a MediaJob without the time of its end keeps its whole TTL, and any other what is left of it', () => {
  expect(remainingTtlMs({ status: {} }, 60_000, 1_000_000)).toBe(60_000);
  const status = { completionTime: new Date(990_000).toISOString() };
  expect(remainingTtlMs({ status }, 60_000, 1_000_000)).toBe(50_000);
});

it('a MediaJob is cached without its results and the annotations of others', () => {
  const metadata = { name: 'x', annotations: { 'reelwright.dev/mark': 'm', 'kubectl.kubernetes.io/last': '{}' } };
  const trimmed = trimMediaJob({ ...named('x', { status: { progress: 5, results: { key: 'k' } } }), metadata });
  expect(trimmed.status).toEqual({ progress: 5 });
  expect(trimmed.metadata).toEqual({ name: 'x', annotations: { 'reelwright.dev/mark': 'm' } });
});

it('only the name of a job’s MediaJob is reserved, and a pod leads to its MediaJob or its batch', () => {
  expect(isReservedName(`mj-${id}`)).toBe(true);
  for (const other of [`mj-${id}-1`, 'mj-1', id, `x-mj-${id}`]) expect(isReservedName(other), other).toBe(false);
  const annotations = { 'reelwright.dev/media-job': 'mine' };
  expect(keyOfRun({ namespace: 'r', annotations })).toBe('r/mine');
  expect(keyOfRun({ namespace: 'r', annotations, labels: { 'reelwright.dev/batch-id': 'b' } })).toBe('batch:b');
  expect(keyOfRun({ namespace: 'r', labels })).toBeUndefined();
});

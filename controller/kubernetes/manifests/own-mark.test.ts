import { expect, it } from 'vitest';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { OwnMark } from './own-mark.ts';

const id = '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10';
const mark = new OwnMark(['the first encryption key', 'the second encryption key']);
const labels = { 'reelwright.dev/job-id': id, 'reelwright.dev/pool': 'default', team: 'video' };

const mediaJob = (annotations: Record<string, string>, status?: MediaJob['status']): MediaJob => ({
  metadata: { name: `mj-${id}`, labels, annotations },
  spec: { type: 'video:cover', hash: 'h', source: 's' },
  ...(status === undefined ? {} : { status }),
});
const labelsOf = (given: MediaJob) => mark.withoutForgedLabels(given).metadata?.labels;

it.each<[string, MediaJob, boolean]>([
  ['with its mark', mediaJob(mark.annotationsFor(id)), true],
  ['with a mark of an earlier key', mediaJob(new OwnMark(['the second encryption key']).annotationsFor(id)), true],
  ['without a mark whose status names the job', mediaJob({}, { jobId: id }), true],
  ['without a mark whose status names another job', mediaJob({}, { jobId: 'another' }), false],
  ['without a mark', mediaJob({}), false],
  ['with the mark of another job', mediaJob(mark.annotationsFor('another')), false],
  ['with a mark of another key', mediaJob(new OwnMark(['a stranger']).annotationsFor(id)), false],
])('the labels of a MediaJob %s count as the controller’s: %s', (_, given, isOwn) => {
  expect(labelsOf(given)).toEqual(isOwn ? labels : { team: 'video' });
});

import { describe, expect, it } from 'vitest';
import { lostNode, pod, running } from '../../../testing/k8s/plan-cases.ts';
import { nodeProblemOf, podProblemOf, waitingReasonOf } from './pod-problem.ts';

const waiting = (reason: string, name = 'process') => ({
  name,
  isRunning: false,
  waiting: { reason, message: 'Back-off.' },
});

describe('what keeps a pod from starting', () => {
  it.each([
    ['exceeded quota: pods', 'quota_exceeded', 'QuotaExceeded', 'resource_exhausted'],
    [
      'pods "x" is forbidden: failed quota: q: must specify limits.cpu',
      'quota_exceeded',
      'QuotaExceeded',
      'resource_exhausted',
    ],
    ['failed quota: must specify requests.memory', 'quota_exceeded', 'QuotaExceeded', 'resource_exhausted'],
    ['Exceeded Quota', 'quota_exceeded', 'QuotaExceeded', 'resource_exhausted'],
    ['admission webhook denied the request', 'scheduling', 'FailedCreate', 'internal'],
  ])('a pod that was not created because of "%s" is %s', (message, phase, reason, code) => {
    expect(podProblemOf(null, message)).toEqual({ phase, reason, message, code });
  });

  it('a pod that is not there yet has no problem, nor has one that runs, or starts', () => {
    expect(podProblemOf(null, null)).toBeNull();
    expect(podProblemOf(running('process'), 'an event of before')).toBeNull();
    expect(podProblemOf({ ...pod, containers: [waiting('PodInitializing')] }, null)).toBeNull();
    const scheduled = [
      { type: 'PodScheduled', status: 'True' },
      { type: 'Ready', status: 'False' },
    ];
    expect(podProblemOf({ ...pod, conditions: scheduled }, null)).toBeNull();
  });

  it('a pod without a node says why, as the scheduler does', () => {
    const conditions = [{ type: 'PodScheduled', status: 'False', reason: 'SchedulingGated', message: '0/3 nodes.' }];
    const problem = { phase: 'unschedulable', reason: 'SchedulingGated', message: '0/3 nodes.' };
    expect(podProblemOf({ ...pod, conditions }, null)).toEqual({ ...problem, code: 'resource_exhausted' });
    expect(podProblemOf({ ...pod, conditions: [{ type: 'PodScheduled', status: 'False' }] }, null)).toMatchObject({
      reason: 'Unschedulable',
      message: '',
    });
  });

  it.each([
    ['ErrImagePull', 'image_unavailable'],
    ['ImagePullBackOff', 'image_unavailable'],
    ['InvalidImageName', 'image_unavailable'],
    ['ErrImageNeverPull', 'image_unavailable'],
    ['RegistryUnavailable', 'image_unavailable'],
    ['CreateContainerConfigError', 'scheduling'],
    ['CreateContainerError', 'scheduling'],
    ['RunContainerError', 'scheduling'],
  ])('a container that waits with %s keeps its pod in %s', (reason, phase) => {
    const containers = [{ name: 'fetch', isRunning: true }, waiting('PodInitializing', 'other'), waiting(reason)];
    expect(podProblemOf({ ...pod, containers }, null)).toEqual({
      phase,
      reason,
      message: 'process: Back-off.',
      code: 'internal',
    });
  });

  it('a node that does not answer is named, with what follows', () => {
    expect(nodeProblemOf(lostNode, 'encoding')).toEqual({
      phase: 'encoding',
      reason: 'NodeNotReady',
      message: expect.stringMatching(
        /^Its node node-1 is not ready: Kubelet stopped posting node status\. The job continues here .+\.$/,
      ) as string,
      code: 'resource_exhausted',
    });
    expect(nodeProblemOf({ ...lostNode, metadata: {}, unreadyBecause: null }, 'encoding').message).toMatch(
      /^Its node {2}is not ready: {2}The job continues/,
    );
  });
});

describe('a problem as callers see it', () => {
  it.each([
    ['Queued', 'scheduling', 'pool_full'],
    ['StorageUnavailable', 'scheduling', 'storage_outage'],
    ['JobSuspended', 'scheduling', 'suspended'],
    ['NodeNotReady', 'encoding', 'node_lost'],
    ['Unschedulable', 'unschedulable', 'unschedulable'],
    ['QuotaExceeded', 'quota_exceeded', 'quota_exceeded'],
    ['ErrImagePull', 'image_unavailable', 'image_unavailable'],
  ] as const)('%s in %s is %s, in the words of the problem', (reason, phase, code) => {
    const message = 'x'.repeat(1_001);
    expect(waitingReasonOf({ phase, reason, message })).toEqual({ code, message: 'x'.repeat(1_000) });
  });

  it('any other one is named by its reason', () => {
    const problem = { phase: 'scheduling', reason: 'FailedCreate', message: 'denied' } as const;
    expect(waitingReasonOf(problem)).toEqual({ code: 'cannot_start', message: 'FailedCreate: denied' });
  });
});

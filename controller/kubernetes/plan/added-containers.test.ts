import { describe, expect, it } from 'vitest';
import { endOfAttempt } from './attempt-end.ts';
import { isPodOver, trimPod } from '../snapshots/pod.ts';
import { trimJob } from '../snapshots/job.ts';

const finishedAt = '2026-11-21T12:00:00Z';
const ended = { terminated: { exitCode: 0, reason: 'Completed', finishedAt } };
const running = { running: { startedAt: finishedAt } };

type Status = NonNullable<NonNullable<Parameters<typeof trimPod>[0]['status']>['containerStatuses']>[number];
const status = (name: string, state: Status['state']): Status =>
  ({ name, state, image: '', imageID: '', ready: false, restartCount: 0 }) as Status;

const job = trimJob({ metadata: { name: 'mj-1-1' } });

describe('a pod with an added container', () => {
  it.each([
    ['before', [status('aaa-proxy', running), status('publish', ended)]],
    ['after', [status('publish', ended), status('vault-agent', running)]],
  ])(
    'a pod with an added container has ended well with its last step, also when the other container is listed %s it',
    (_, containerStatuses) => {
      const steps = [status('fetch', ended), status('process', ended)];
      const pod = trimPod({
        metadata: {},
        status: { phase: 'Running', initContainerStatuses: steps, containerStatuses },
      });
      expect(endOfAttempt({ attempt: 1, job, pod }, 0)).toEqual({ kind: 'done' });
      expect(isPodOver(pod)).toBe(true);
      expect(pod.hasRunningSidecar).toBe(true);
    },
  );

  it('a pod with an added container has its steps in their order, whatever the order of their statuses', () => {
    const steps = [status('istio-init', ended), status('process', running), status('fetch', ended)];
    const pod = trimPod({ metadata: {}, status: { phase: 'Pending', initContainerStatuses: steps } });
    expect(pod.containers.map(({ name }) => name)).toEqual(['fetch', 'process']);
    expect(pod.hasRunningSidecar).toBe(false);
  });

  it('a pod with a native sidecar, which Kubernetes ends by itself, is not kept running by it', () => {
    const initContainerStatuses = [status('mesh', running), status('fetch', ended), status('process', ended)];
    const containerStatuses = [status('publish', ended)];
    const pod = trimPod({ metadata: {}, status: { phase: 'Running', initContainerStatuses, containerStatuses } });
    expect([isPodOver(pod), pod.hasRunningSidecar]).toEqual([true, false]);
  });

  it('a pod with an added container is not over while a step runs, although the other container has ended', () => {
    const pod = trimPod({
      metadata: {},
      status: { phase: 'Running', containerStatuses: [status('all', running), status('agent', ended)] },
    });
    expect(isPodOver(pod)).toBe(false);
    expect(endOfAttempt({ attempt: 1, job, pod }, 0)).toBeNull();
  });
});

describe('a resumed Job', () => {
  it('a resumed Job counts as suspended until the Job controller has confirmed the resumption', () => {
    const conditions = [{ type: 'Suspended', status: 'True', lastTransitionTime: finishedAt }];
    expect(trimJob({ metadata: {}, spec: { suspend: false } as never, status: { conditions } }).isSuspended).toBe(true);
  });

  it('a resumed Job has the time at which it was resumed', () => {
    const conditions = [{ type: 'Suspended', status: 'False', lastTransitionTime: finishedAt }];
    expect(trimJob({ metadata: {}, status: { conditions } }).resumedAt).toBe(finishedAt);
    expect(job.resumedAt).toBeUndefined();
  });
});

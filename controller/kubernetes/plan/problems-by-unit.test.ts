import { expect, it } from 'vitest';
import { type UnitKind, unitKindRow, unitKinds } from '#domain/work/unit.ts';
import { actionOf, done, job as chunkJob, podOf, units, waiting } from '../../../testing/k8s/chunk-cases.ts';
import { ago } from '../../../testing/k8s/plan-cases.ts';
import type { JobSnapshot } from '../snapshots/job.ts';
import type { PodSnapshot } from '../snapshots/pod.ts';

// Each kind of unit, by what may keep its pod from going on: all are shown by the MediaJob and the API (`recordWaiting`
// is what a `reason` comes of) as soon as the plan sees them. A pool shows the last problem of its MediaJobs.

const { indexed: _, ...single } = chunkJob;
const jobOf = (kind: UnitKind): JobSnapshot => (unitKindRow(kind).isParallel ? chunkJob : { ...single, hasPod: false });

/** A pod whose first step cannot start. */
const notStarted = podOf(1, {
  metadata: { ...podOf(1).metadata, creationTimestamp: ago(30) },
  phase: 'Pending',
  containers: [
    { name: 'fetch', isRunning: false, waiting: { reason: 'CreateContainerConfigError', message: 'no key' } },
  ],
});

interface Problem {
  readonly pods: readonly PodSnapshot[];
  readonly podCreationFailure?: string;
  readonly shown: string;
}
const problems: Readonly<Record<string, Problem>> = {
  'cannot be created': { pods: [], podCreationFailure: 'exceeded quota: pods', shown: 'QuotaExceeded' },
  'cannot start': { pods: [notStarted], shown: 'CreateContainerConfigError' },
  'cannot start a later step': { pods: [waiting(1, 30)], shown: 'CreateContainerConfigError' },
};
const kinds = Object.keys(unitKinds) as UnitKind[];
const cases = kinds.flatMap((kind) => Object.keys(problems).map((name) => [kind, name] as const));

it.each(cases)('a unit of the kind %s whose pod %s is reported', (kind, name) => {
  const { pods, podCreationFailure = null, shown } = problems[name] as Problem;
  const pod = pods[0] ?? null;
  const observed = { units: { ...units, kind, pods }, job: jobOf(kind), pod, podCreationFailure, pods: [...pods] };
  expect(actionOf(observed, 'writeStatus')?.status.conditions?.[0]?.reason).toBe(shown);
  expect(done(observed)).toContain('recordWaiting');
});

it.each([
  ['cannot be created', { podCreationFailure: 'denied by a policy' }, 'FailedCreate'],
  ['cannot start', { pods: [podOf(0), notStarted] }, 'CreateContainerConfigError'],
  ['cannot start a later step', { pods: [podOf(0), waiting(1, 30)] }, 'CreateContainerConfigError'],
])('a chunk whose pod %s is reported among others that work', (_name, more, shown) => {
  expect(actionOf(more, 'writeStatus')?.status.conditions?.[0]?.reason).toBe(shown);
  expect(done(more)).toContain('recordWaiting');
});

import { expect, it } from 'vitest';
import type { StepRun, UnitRun } from '#domain/work/unit-run.ts';
import type { JobSnapshot } from '../snapshots/job.ts';
import type { ContainerSnapshot, PodSnapshot } from '../snapshots/pod.ts';
import { allRunsOf, keepRunsOf, unitRunsOf } from './unit-runs.ts';
import { unitsAnnotation } from '../snapshots/units.ts';

const row = { id: 'job', attempt: 2, type: 'video:transcode' } as const;
const run: StepRun = {
  step: 'fetch',
  started_at: '2026-11-24T08:00:00.000Z',
  duration_ms: 900,
  processor_ms: 310,
  code: null,
};
const ended = (message: string, more: Partial<ContainerSnapshot['terminated']> = {}): ContainerSnapshot => ({
  name: 'fetch',
  isRunning: false,
  terminated: { exitCode: 0, reason: 'Completed', message, ...more },
});
const pod = (name: string, containers: ContainerSnapshot[], labels: Record<string, string> = {}): PodSnapshot => ({
  metadata: { name, labels },
  phase: 'Succeeded',
  reason: '',
  message: '',
  conditions: [],
  containers,
  hasRunningSidecar: false,
});
const pending = JSON.stringify({ v: 1, rev: '0123456789abcdef', chunk_frames: [10, 10, 10], chunks: [1, 2] });

/** The runs that are read of these pods, by the name of their Job. */
function runsOf(pods: Readonly<Record<string, PodSnapshot[]>>) {
  const metadata = { annotations: { [unitsAnnotation]: pending } };
  return unitRunsOf(row, {
    job: (name) => (name === 'mj-job-2-c' ? ({ metadata } as unknown as JobSnapshot) : null),
    podsOf: (name) => pods[name] ?? [],
  });
}

it('the runs of an attempt are what its pods reported, each chunk with its number', () => {
  const report = JSON.stringify({ type: 'result', error: null, steps: [run] });
  const indexed = { 'batch.kubernetes.io/job-completion-index': '1' };
  const found = runsOf({ 'mj-job-2': [pod('a', [ended(report)])], 'mj-job-2-c': [pod('b', [ended(report)], indexed)] });
  expect(found).toEqual([
    { unit: 'split', chunk: null, pod: 'a', steps: [run] },
    { unit: 'chunk', chunk: 2, pod: 'b', steps: [run] },
  ]);
});

it('a step that was killed has the times of the kubelet, one that lies too, and one without times is left out', () => {
  const times = { startedAt: '2026-11-24T08:00:00Z', finishedAt: '2026-11-24T08:00:07Z' };
  const running: ContainerSnapshot = { name: 'process', isRunning: true };
  const containers = [ended('', times), running, { ...ended(''), name: 'publish' }];
  const empty = ended(JSON.stringify({ type: 'result', error: null, steps: [] }), times);
  const steps = [{ ...run, started_at: times.startedAt, duration_ms: 7000, processor_ms: null }];
  expect(runsOf({ 'mj-job-2': [pod('a', containers), pod('b', [running])] })).toEqual([
    { unit: 'split', chunk: null, pod: 'a', steps },
  ]);
  expect(runsOf({ 'mj-job-2': [pod('a', [empty])] })).toMatchObject([{ steps }]);
  const dear = { ...run, started_at: times.startedAt, duration_ms: 9_000_000, processor_ms: 100 };
  const told = JSON.stringify({ type: 'result', error: null, steps: [dear, { ...dear, step: 'publish' }] });
  expect(runsOf({ 'mj-job-2': [pod('a', [ended(told, times)])] })).toMatchObject([
    { steps: [{ step: 'fetch', duration_ms: 8000, processor_ms: 100 }] },
  ]);
});

it('C37.19: a step that was killed has what it wrote last of the time that it used', () => {
  const times = { startedAt: '2026-11-24T08:00:00Z', finishedAt: '2026-11-24T08:00:07Z' };
  const used = JSON.stringify({ type: 'used', steps: [{ ...run, processor_ms: 6_400, duration_ms: 6_900 }] });
  const killed = ended(used.padEnd(1024), { ...times, exitCode: 137, reason: 'OOMKilled' });
  expect(runsOf({ 'mj-job-2': [pod('a', [killed])] })).toMatchObject([{ steps: [{ processor_ms: 6_400 }] }]);
});

it('what the pods of a deleted chunk Job ran counts at the end of the attempt, each pod once', async () => {
  const report = JSON.stringify({ type: 'result', error: null, steps: [run] });
  const pods: Record<string, PodSnapshot[]> = {
    'mj-job-2': [pod('split', [ended(report)])],
    'mj-job-2-c': [pod('first', [ended(report)])],
  };
  const caches = { job: () => null, podsOf: (name: string) => pods[name] ?? [] };
  const kept = new Map<string | null, UnitRun>();
  const jobs = {
    keepRuns: async (_: object, runs: readonly UnitRun[]) => runs.forEach((each) => kept.set(each.pod, each)),
    keptRuns: async () => [...kept.values()],
  };
  await keepRunsOf(row, 'mj-job-2-c', { caches, jobs });
  // The cache shows the deleted Job for a while, and a later round has other pods.
  expect((await allRunsOf(row, { caches, jobs })).map((each) => each.pod)).toEqual(['split', 'first']);
  pods['mj-job-2-c'] = [pod('second', [ended(report)])];
  expect((await allRunsOf(row, { caches, jobs })).map((each) => each.pod)).toEqual(['first', 'split', 'second']);
  await keepRunsOf(row, 'mj-job-1-c', { caches, jobs });
  await keepRunsOf({ ...row, type: 'video:cover' }, 'mj-job-2', { caches, jobs });
  expect([...kept.keys()]).toEqual(['first']);
});

import { describe, expect, it } from 'vitest';
import { exampleTemplate } from '../../../testing/k8s/example-template.ts';
import { exampleJob } from '../../../testing/example-job.ts';
import { parseTask } from '#domain/work/task.ts';
import type { PendingChunks } from '#domain/work/split.ts';
import { pendingChunksOf } from '../snapshots/units.ts';
import type { UnitsToRun } from './unit-job.ts';
import { jobManifest } from './job-manifest.ts';

const id = '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10';
const row = exampleJob({ type: 'video:transcode', options: { encrypt: true }, attempt: 2 });
const split = { v: 1 as const, rev: '0123456789abcdef', chunk_frames: [150, 150, 150, 150] };
const pending: PendingChunks = { ...split, chunks: [1, 3] };
const unitsOf = (kind: UnitsToRun['kind']): UnitsToRun =>
  kind === 'split'
    ? { kind, split: null, chunks: [], parallelism: 1 }
    : { kind, split, chunks: [1, 3], parallelism: 2 };

function made(kind: UnitsToRun['kind']) {
  const mediaJob = { metadata: { name: 'mj-1', namespace: 'runners', uid: 'u' }, spec: {} } as never;
  const pool = { name: 'default', spec: { concurrency: 4 } };
  const report = { url: 'http://c/reports', token: 't' };
  const { metadata, spec } = jobManifest(
    { job: row, mediaJob, pool, report, keyEndpoint: 'https://m/api/key/h', units: unitsOf(kind) },
    exampleTemplate,
  );
  const pod = spec?.template.spec;
  const containers = [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])];
  const variables = (name: string) => containers.find((each) => each.name === name)?.env ?? [];
  const task = variables(containers[0]?.name ?? '').find(({ name }) => name === 'RUNNER_TASK')?.value ?? '';
  return { name: metadata?.name, metadata, spec, containers, variables, task };
}

describe('the Job of units', () => {
  it.each([
    ['split', `mj-${id}-2`],
    ['chunk', `mj-${id}-2-c`],
    ['finish', `mj-${id}-2-f`],
  ] as const)('the Job of the unit %s is called %s', (kind, name) => {
    expect(made(kind).name).toBe(name);
    expect(made(kind).metadata?.labels?.['reelwright.dev/unit']).toBe(kind);
  });

  it('the Job of chunks has a pod for each that is not finished, and repeats those that are disrupted', () => {
    const { spec, metadata } = made('chunk');
    expect(spec).toMatchObject({ completionMode: 'Indexed', completions: 2, parallelism: 2, backoffLimitPerIndex: 2 });
    expect(spec?.podReplacementPolicy).toBe('Failed');
    expect(spec?.podFailurePolicy?.rules).toEqual([
      { action: 'FailJob', onExitCodes: { operator: 'In', values: [10] } },
      { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
      { action: 'Ignore', onExitCodes: { operator: 'In', values: [143] } },
    ]);
    // Hours of chunks in turn are no reason to stop the Job; each pod has its own deadline.
    expect(spec?.activeDeadlineSeconds).toBeUndefined();
    expect(spec?.template.spec?.activeDeadlineSeconds).toBe(21_600);
    expect(pendingChunksOf(metadata?.annotations)).toEqual(pending);
  });

  it('the Job of chunks gives each pod the chunk of its index', () => {
    const { task } = made('chunk');
    expect(parseTask(task, '0').unit).toEqual({ kind: 'chunk', chunk: 1 });
    expect(parseTask(task, '1')).toMatchObject({ unit: { kind: 'chunk', chunk: 3 }, rev: split.rev });
    expect(() => parseTask(task, '2')).toThrow('expected an index of 2 chunks, found 2');
    expect(() => parseTask(task)).toThrow('found none');
  });

  it('the Job of chunks lets a chunk be read from the media bucket, and keeps the source’s keys and the content key from its decoder', () => {
    const { variables } = made('chunk');
    const secretsOf = (step: string) => variables(step).flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? []);
    expect(new Set(secretsOf('fetch'))).toEqual(new Set(['media-keys']));
    expect(secretsOf('process')).toEqual([]);
    expect(new Set(secretsOf('publish'))).toEqual(new Set(['media-keys', `mj-${id}-2-key`]));
  });

  it('every unit but a chunk reports progress, and finish has the step publish alone', () => {
    const hasReports = (kind: UnitsToRun['kind']) =>
      made(kind).containers.some(({ env }) => env?.some(({ name }) => name === 'REPORT_URL'));
    expect([hasReports('split'), hasReports('chunk'), hasReports('finish')]).toEqual([true, false, true]);
    expect(made('finish').containers.map(({ name }) => name)).toEqual(['publish']);
    expect(parseTask(made('split').task).unit).toEqual({ kind: 'split', chunk_sec: 60 });
  });
});

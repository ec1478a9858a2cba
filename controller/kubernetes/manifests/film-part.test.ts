import { describe, expect, it } from 'vitest';
import type { Job } from '#domain/jobs/job.ts';
import { parseTask } from '#domain/runner/task.ts';
import { type FilmSnapshot, filmOf } from '../film.ts';
import type { PartToRun } from './film-part.ts';
import { jobManifest } from './job-manifest.ts';

const id = '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10';
const options = { encrypt: true };
const job = { id, type: 'video:transcode', hash: 'h', source: 's', options, attempt: 2 } as unknown as Job;
const row: Job = { ...job, sourceEtag: null, sourceSizeBytes: null, profile: null, trace: null };
const film: FilmSnapshot = { rev: '0123456789abcdef', frames: [150, 150, 150, 150], chunks: [1, 3] };
const part = (kind: PartToRun['kind']): PartToRun => ({ kind, film: kind === 'split' ? null : film, parallelism: 2 });

function made(kind: PartToRun['kind']) {
  const mediaJob = { metadata: { name: 'mj-1', namespace: 'runners', uid: 'u' }, spec: {} } as never;
  const pool = { name: 'default', spec: { concurrency: 4 } };
  const report = { url: 'http://c/reports', token: 't' };
  const { metadata, spec } = jobManifest(
    { job: row, mediaJob, pool, report, keyEndpoint: 'https://m/api/key/h', part: part(kind) },
    {
      image: { name: 'runner', pullPolicy: 'Never', pullSecrets: [] },
      serviceAccount: 'runner',
      pod: {},
      caConfigMap: null,
      base: {},
      storage: { source: { SOURCE_BUCKET: 'uploads' }, media: { MEDIA_BUCKET: 'media' } },
      credentials: { source: 'source-keys', media: 'media-keys' },
      maxFileSizeBytes: 1_000_000,
      chunkSec: 60,
      pendingDeadlineMs: 3_600_000,
      ttlMs: 3_600_000,
    },
  );
  const pod = spec?.template.spec;
  const containers = [...(pod?.initContainers ?? []), ...(pod?.containers ?? [])];
  const variables = (name: string) => containers.find((each) => each.name === name)?.env ?? [];
  const task = variables(containers[0]?.name ?? '').find(({ name }) => name === 'RUNNER_TASK')?.value ?? '';
  return { name: metadata?.name, metadata, spec, containers, variables, task };
}

describe('the Job of a part of a film', () => {
  it.each([
    ['split', `mj-${id}-2`],
    ['encode', `mj-${id}-2-e`],
    ['finish', `mj-${id}-2-f`],
  ] as const)('of the part %s is called %s', (kind, name) => {
    expect(made(kind).name).toBe(name);
    expect(made(kind).metadata?.labels?.['reelwright.dev/part']).toBe(kind);
  });

  it('of chunks has a pod for each that is not finished, and repeats those that are disrupted', () => {
    const { spec, metadata } = made('encode');
    expect(spec).toMatchObject({ completionMode: 'Indexed', completions: 2, parallelism: 2, backoffLimitPerIndex: 2 });
    expect(spec?.podFailurePolicy?.rules.map(({ action }) => action)).toEqual(['FailJob', 'Ignore', 'Ignore']);
    // Hours of chunks in turn are no reason to stop the Job; each pod has its own deadline.
    expect(spec?.activeDeadlineSeconds).toBeUndefined();
    expect(spec?.template.spec?.activeDeadlineSeconds).toBe(21_600);
    expect(filmOf(metadata?.annotations)).toEqual(film);
  });

  it('gives each pod of a chunk the chunk of its index', () => {
    const { task } = made('encode');
    expect(parseTask(task, '0').part).toEqual({ kind: 'encode', chunk: 1 });
    expect(parseTask(task, '1')).toMatchObject({ part: { kind: 'encode', chunk: 3 }, rev: film.rev });
    expect(() => parseTask(task, '2')).toThrow('expected an index of 2 chunks, found 2');
    expect(() => parseTask(task)).toThrow('found none');
  });

  it('lets a chunk be read from the media bucket, and keeps the source’s keys and the content key from its decoder', () => {
    const { variables } = made('encode');
    const secretsOf = (step: string) => variables(step).flatMap(({ valueFrom }) => valueFrom?.secretKeyRef?.name ?? []);
    expect(new Set(secretsOf('fetch'))).toEqual(new Set(['media-keys']));
    expect(secretsOf('process')).toEqual([]);
    expect(new Set(secretsOf('publish'))).toEqual(new Set(['media-keys', `mj-${id}-2-key`]));
  });

  it('reports progress but for chunks, and publishes a film by one step', () => {
    const hasReports = (kind: PartToRun['kind']) =>
      made(kind).containers.some(({ env }) => env?.some(({ name }) => name === 'REPORT_URL'));
    expect([hasReports('split'), hasReports('encode'), hasReports('finish')]).toEqual([true, false, true]);
    expect(made('finish').containers.map(({ name }) => name)).toEqual(['publish']);
    expect(parseTask(made('split').task).part).toEqual({ kind: 'split', chunk_sec: 60 });
  });
});

import { describe, expect, it } from 'vitest';
import type { Job } from '#domain/jobs/job.ts';
import { type FilmPart, parseTask } from '#domain/runner/task.ts';
import { runnerTaskOf } from './runner-task.ts';
import {
  accessOf,
  keptRunnerVariables,
  needsContentKey,
  type StepName,
  stepsOf,
  stepVariables,
} from './step-access.ts';

const job: Job = {
  id: '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10',
  type: 'video:transcode',
  hash: 'clip-1',
  source: 'in/clip.mp4',
  options: { encrypt: true },
  status: 'processing',
  phase: 'scheduling',
  progress: 0,
  eta: null,
  attempt: 2,
  failures: 1,
  queue: 'default',
  sourceSizeBytes: 1234,
  sourceEtag: '"abc"',
  profile: null,
  callbackUrl: 'https://hooks.example/secret-path',
  callbackStatus: null,
  retryOfJobId: null,
  error: null,
  results: null,
  trace: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
  createdAt: new Date(0),
  updatedAt: new Date(0),
  startedAt: null,
  finishedAt: null,
  disruptions: 0,
  waitingReason: null,
  pool: null,
  priority: 0,
};

function variablesOf(step: StepName, part: FilmPart | null = null) {
  return stepVariables({
    access: accessOf(step, job, part),
    task: runnerTaskOf({ job, maxFileSizeBytes: 5_000 }),
    workspace: '/scratch/w',
    base: { PATH: '/usr/bin', FFMPEG_PATH: '/opt/ffmpeg', LOG_LEVEL: 'info' },
    storage: { source: { SOURCE_BUCKET: 'in' }, media: { MEDIA_BUCKET: 'out', MEDIA_S3_SECRET_ACCESS_KEY: 'm' } },
    keyEndpoint: 'https://media.example/api/key/clip-1',
  });
}

const everyStep =
  'AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE FFMPEG_PATH HOME LANG LOG_LEVEL PATH RUNNER_TASK RUNNER_WORKSPACE TMPDIR';

describe("a step's environment", () => {
  it.each([
    ['fetch', ['SOURCE_BUCKET']],
    ['process', []],
    ['publish', ['KEY_ENDPOINT', 'MEDIA_BUCKET', 'MEDIA_S3_SECRET_ACCESS_KEY']],
    ['all', ['MEDIA_BUCKET', 'MEDIA_S3_SECRET_ACCESS_KEY', 'SOURCE_BUCKET']],
  ] as const)('the environment of %s holds what that step needs and nothing else', (step, own) => {
    expect(Object.keys(variablesOf(step)).toSorted()).toEqual([...everyStep.split(' '), ...own].toSorted());
  });

  it('the environment of a kept runner is that of the step all, without a task', () => {
    const kept = keptRunnerVariables({
      workspace: '/scratch/k',
      base: { PATH: '/usr/bin' },
      storage: { source: { SOURCE_BUCKET: 'in' }, media: { MEDIA_BUCKET: 'out' } },
    });
    const own = 'AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE HOME LANG MEDIA_BUCKET PATH SOURCE_BUCKET TMPDIR';
    expect(Object.keys(kept).toSorted()).toEqual(own.split(' '));
  });

  it.each([
    ['split', { kind: 'split', chunk_sec: 60 }, [['SOURCE_BUCKET'], [], ['KEY_ENDPOINT', 'MEDIA_BUCKET']]],
    ['encode', { kind: 'encode', chunk: 3 }, [['MEDIA_BUCKET'], [], ['KEY_ENDPOINT', 'MEDIA_BUCKET']]],
    ['finish', { kind: 'finish' }, [['KEY_ENDPOINT', 'MEDIA_BUCKET']]],
  ] as const)('of the part %s of a film, no step that decodes has a bucket or a key', (_, part, expected) => {
    const buckets = stepsOf('video:transcode', part).map((step) =>
      Object.keys(variablesOf(step, part))
        .filter((name) => /_BUCKET$|^KEY_/.test(name))
        .toSorted(),
    );
    expect(buckets).toEqual(expected);
  });

  it("a step's environment names no file of the workspace as settings of a user or of the AWS SDK", () => {
    const { HOME, AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE } = variablesOf('publish');
    for (const path of [HOME, AWS_CONFIG_FILE, AWS_SHARED_CREDENTIALS_FILE]) expect(path).not.toContain('/scratch/w');
  });

  it('the content key is in the environment of the publish step alone', () => {
    const withKey = [...stepsOf('video:transcode'), 'all' as const].filter((step) => accessOf(step, job).hasContentKey);
    expect(withKey).toEqual(['publish']);
  });

  it("a step's environment holds a task that the runner can read, without the caller’s webhook address", () => {
    const task = variablesOf('process')['RUNNER_TASK'] ?? '';
    expect(parseTask(task)).toMatchObject({
      attempt: 2,
      hash: 'clip-1',
      options: { encrypt: true },
      source: { size: 1234, bytes_max: 5_000 },
    });
    expect(task).not.toContain('hooks.example');
  });
});

describe('whether an attempt needs the content key', () => {
  it.each([
    [{ type: 'video:transcode', options: { encrypt: true } }, true],
    [{ type: 'video:transcode', options: { encrypt: false } }, false],
    [{ type: 'video:full', options: { transcode: { encrypt: true } } }, true],
    [{ type: 'video:full', options: { transcode: { encrypt: false } } }, false],
    [{ type: 'video:cover', options: {} }, false],
  ])('%j: %s', (given, needs) => expect(needsContentKey(given as unknown as Job)).toBe(needs));
});

import { describe, expect, it } from 'vitest';
import { exampleJob } from '../../testing/example-job.ts';
import type { Job } from '../jobs/job.ts';
import { accessOf, needsContentKey, stepVariables, warmRunnerVariables } from './access.ts';
import type { StepName } from './steps.ts';
import { parseTask, taskOf } from './task.ts';
import { type UnitKind, unitKinds, unitOf } from './unit.ts';

const job = exampleJob({
  type: 'video:transcode',
  hash: 'clip-1',
  source: 'in/clip.mp4',
  options: { encrypt: true },
  attempt: 2,
  failures: 1,
  sourceSizeBytes: 1234,
  sourceEtag: '"abc"',
  callbackUrl: 'https://hooks.example/secret-path',
  trace: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
});

function variablesOf(step: StepName, kind: UnitKind = step === 'all' ? 'image' : 'whole') {
  return stepVariables({
    access: accessOf(step, kind, job),
    task: taskOf({ job, unit: unitOf(kind, { chunkSec: 60 }), split: null, maxFileSizeBytes: 5_000 }),
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

  it('a warm runner has the environment of the step all, without a task', () => {
    const warm = warmRunnerVariables({
      workspace: '/scratch/k',
      base: { PATH: '/usr/bin' },
      storage: { source: { SOURCE_BUCKET: 'in' }, media: { MEDIA_BUCKET: 'out' } },
    });
    const own = 'AWS_CONFIG_FILE AWS_SHARED_CREDENTIALS_FILE HOME LANG MEDIA_BUCKET PATH SOURCE_BUCKET TMPDIR';
    // Names of files in a source may have any character.
    expect(warm['LANG']).toBe('C.UTF-8');
    expect(Object.keys(warm).toSorted()).toEqual(own.split(' '));
  });

  it.each([
    ['split', [['SOURCE_BUCKET'], [], ['KEY_ENDPOINT', 'MEDIA_BUCKET']]],
    ['chunk', [['MEDIA_BUCKET'], [], ['KEY_ENDPOINT', 'MEDIA_BUCKET']]],
    ['finish', [['KEY_ENDPOINT', 'MEDIA_BUCKET']]],
  ] as const)('no step of the unit %s that decodes has a bucket or a key', (kind, expected) => {
    const buckets = unitKinds[kind].steps.map((step) =>
      Object.keys(variablesOf(step, kind))
        .filter((name) => /_BUCKET$|^KEY_/.test(name))
        .toSorted(),
    );
    expect(buckets).toEqual(expected);
  });

  it("a step's environment names no file of the workspace as settings of a user or of the AWS SDK", () => {
    expect(variablesOf('publish')).toMatchObject({
      HOME: '/nonexistent',
      AWS_CONFIG_FILE: '/dev/null',
      AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
    });
  });

  it('the content key is in the environment of the publish step alone', () => {
    const steps = [...unitKinds.whole.steps, ...unitKinds.image.steps];
    const withKey = steps.filter((step) => accessOf(step, 'whole', job).hasContentKey);
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

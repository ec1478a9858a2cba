import { describe, expect, it } from 'vitest';
import type { Job } from '#domain/jobs/job.ts';
import { parseTask } from '#domain/runner/task.ts';
import { needsContentKey, runnerTaskOf } from '#jobs/runner-task.ts';
import { stepEnvironment } from './step-environment.ts';

const job: Job = {
  id: '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10',
  type: 'video:transcode',
  hash: 'clip-1',
  source: 'in/clip.mp4',
  options: { encrypt: true },
  status: 'processing',
  phase: 'scheduling',
  progress: 0,
  attempt: 2,
  failures: 1,
  queue: 'default',
  sourceSizeBytes: 1234,
  sourceEtag: '"abc"',
  callbackUrl: 'https://hooks.example/secret-path',
  callbackStatus: null,
  retryOfJobId: null,
  error: null,
  results: null,
  trace: { traceparent: '00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01' },
  createdAt: new Date(0),
  updatedAt: new Date(0),
};

const kid = '11'.repeat(16);
const contentKey = '22'.repeat(16);

function environmentOf(step: 'fetch' | 'process' | 'publish' | 'all') {
  return stepEnvironment({
    step,
    task: runnerTaskOf(job),
    workspace: '/scratch/w',
    base: { PATH: '/usr/bin', FFMPEG_PATH: '/opt/ffmpeg', LOG_LEVEL: 'info' },
    storage: { source: { SOURCE_BUCKET: 'in' }, media: { MEDIA_BUCKET: 'out', MEDIA_S3_SECRET_ACCESS_KEY: 'm' } },
    content: { key: { kid, key: Buffer.from(contentKey, 'hex') }, keyEndpoint: 'https://media.example/api/key/clip-1' },
  });
}

const everyStep = 'FFMPEG_PATH HOME LANG LOG_LEVEL PATH RUNNER_PARENT RUNNER_TASK RUNNER_WORKSPACE TMPDIR'.split(' ');

describe("a step's environment", () => {
  it.each([
    ['fetch', ['SOURCE_BUCKET']],
    ['process', []],
    ['publish', ['CONTENT_KEY', 'KEY_ENDPOINT', 'MEDIA_BUCKET', 'MEDIA_S3_SECRET_ACCESS_KEY']],
    ['all', ['MEDIA_BUCKET', 'MEDIA_S3_SECRET_ACCESS_KEY', 'SOURCE_BUCKET']],
  ] as const)('of %s holds what that step needs and nothing else', (step, own) => {
    expect(Object.keys(environmentOf(step)).toSorted()).toEqual([...everyStep, ...own].toSorted());
  });

  it('holds the content key as kid and key in hex', () => {
    expect(environmentOf('publish')['CONTENT_KEY']).toBe(`${kid}:${contentKey}`);
  });

  it('holds a task that the runner can read, without the caller’s webhook address', () => {
    const task = environmentOf('process')['RUNNER_TASK'] ?? '';
    expect(parseTask(task)).toMatchObject({
      attempt: 2,
      hash: 'clip-1',
      options: { encrypt: true },
      source: { size: 1234 },
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

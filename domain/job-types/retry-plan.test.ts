import { describe, expect, it } from 'vitest';
import { planRetry } from './retry-plan.ts';

const ready = { status: 'ready' } as const;
const again = { status: 'failed', retryable: true } as const;
const never = { status: 'failed', retryable: false } as const;

describe('the retry plan of a full workflow', () => {
  it('the retry plan of a full workflow redoes each failed stage that may end differently, and no stage that is ready', () => {
    expect(planRetry({ source: ready, cover: ready, preview: again, transcode: again })).toMatchObject({
      allowed: true,
      strategy: 'retry_tasks',
      stages: ['preview', 'transcode'],
      job_types: ['video:preview', 'video:transcode'],
      reason: 'Failed and worth another try: preview, transcode.',
    });
  });

  it('the retry plan of a full workflow leaves out a failed stage that would fail again', () => {
    expect(planRetry({ source: ready, cover: never, preview: again, transcode: ready })).toMatchObject({
      allowed: true,
      stages: ['preview'],
    });
  });

  it.each([
    [
      { source: never, cover: again, preview: again, transcode: again },
      'A retry cannot help: the source is at fault. Upload it again.',
    ],
    [{ source: ready, cover: ready, preview: ready, transcode: ready }, 'No stage failed.'],
    [
      { source: ready, cover: never, preview: ready, transcode: never },
      'No failed stage can end differently with the same source.',
    ],
  ])('the retry plan of a full workflow allows nothing after %j, and says why', (stages, reason) => {
    const plan = { allowed: false, strategy: 'retry_tasks', stages: [], job_types: [], reason };
    expect(planRetry(stages)).toEqual(plan);
  });
});

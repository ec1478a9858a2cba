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
    });
  });

  it('the retry plan of a full workflow leaves out a failed stage that would fail again', () => {
    expect(planRetry({ source: ready, cover: never, preview: again, transcode: ready })).toMatchObject({
      allowed: true,
      stages: ['preview'],
    });
  });

  it.each([
    ['the source itself is at fault', { source: never, cover: again, preview: again, transcode: again }],
    ['nothing failed', { source: ready, cover: ready, preview: ready, transcode: ready }],
    ['every failed stage would fail again', { source: ready, cover: never, preview: ready, transcode: never }],
  ])('the retry plan of a full workflow allows nothing when %s, and says why', (_when, stages) => {
    const plan = planRetry(stages);
    expect(plan).toMatchObject({ allowed: false, stages: [], job_types: [] });
    expect(plan.reason).not.toBe('');
  });
});

import { describe, expect, it } from 'vitest';
import type { VideoFullResults } from '../job-types/video-full.ts';
import { retriesOf } from './retries.ts';
import { planRetry } from '../job-types/retry-plan.ts';

const options = {
  cover: { timestamp_sec: 3 },
  preview: { start_sec: 0, duration: 3, width: 480, fps: 10, format: 'gif' as const },
  transcode: { encrypt: true },
};
const ready = { status: 'ready' } as const;
const failed = { status: 'failed', error: 'storage_error', retryable: true } as const;

function fullJob(stages: VideoFullResults['stages']) {
  const results = { stages, artifacts: {}, retry_plan: planRetry(stages), warnings: [] };
  return { type: 'video:full' as const, options, results };
}

describe('retriesOf', () => {
  it('a retry redoes only the failed retryable stages of a video:full, each with its own options', () => {
    const job = fullJob({ source: ready, cover: ready, preview: failed, transcode: failed });
    expect(retriesOf(job)).toEqual([
      { type: 'video:preview', options: options.preview },
      { type: 'video:transcode', options: options.transcode },
    ]);
  });

  it('a retry makes one job of its own type from a job of a single task, and from a video:full without results', () => {
    expect(retriesOf({ type: 'video:cover', options: {}, results: null })).toEqual([
      { type: 'video:cover', options: {} },
    ]);
    expect(retriesOf({ type: 'video:full', options, results: null })).toEqual([{ type: 'video:full', options }]);
  });
});

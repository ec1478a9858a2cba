import type { JobResults } from '#domain/job-types/index.ts';
import { planRetry } from '#domain/job-types/retry-plan.ts';

// Results as workers write them, for jobs that these tests end by hand.

export const thumbnailResults: JobResults<'image:thumbnail'> = {
  key: 'images/ab/h/0123456789abcdef/thumb.webp',
  outputs: [
    {
      variant: 'thumb',
      key: 'images/ab/h/0123456789abcdef/thumb.webp',
      width: 300,
      height: 200,
      format: 'webp',
      size: 1234,
    },
  ],
};

export const previewResults: JobResults<'video:preview'> = {
  key: 'videos/ab/h/0123456789abcdef/preview.webp',
  format: 'webp',
  size: 1234,
  width: 480,
  height: 270,
  frames: 30,
};

const ready = { status: 'ready' } as const;

/** A `video:full` whose cover is ready and whose preview and transcode failed, the one for good. */
export function partlyFailedResults(retryable = true): JobResults<'video:full'> {
  const stages = {
    source: ready,
    cover: ready,
    preview: { status: 'failed', error: 'storage_error', retryable },
    transcode: { status: 'failed', error: 'packager_error', retryable },
  } as const;
  return {
    stages,
    artifacts: { cover: { key: 'videos/ab/h/0123456789abcdef/cover.jpg', format: 'jpg', size: 10 } },
    retry_plan: planRetry(stages),
    warnings: [],
  };
}

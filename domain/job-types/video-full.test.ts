import { describe, expect, it } from 'vitest';
import { firstStageError, fullOutcome, fullResultsOfSourceFailure, videoFull, videoFullResults } from './video-full.ts';
import { jobErrorOf } from '../job-error.ts';

describe('the outcome of a video:full job', () => {
  it('the outcome of a video:full job is ready in every stage, with nothing to retry, when nothing failed', () => {
    const errors = { cover: null, preview: null, transcode: null };
    const { stages, retry_plan: plan } = fullOutcome(errors);
    expect(Object.values(stages)).toEqual(Array.from({ length: 4 }, () => ({ status: 'ready' })));
    expect(plan.allowed).toBe(false);
    expect(firstStageError(errors)).toBeNull();
  });

  it('the outcome of a video:full job plans to redo the retryable stages alone, and has the error of the first that failed', () => {
    const errors = {
      cover: null,
      preview: jobErrorOf('corrupt_input', 2),
      transcode: jobErrorOf('packager_error', 2),
    };
    const { stages, retry_plan: plan } = fullOutcome(errors);
    expect(stages.preview).toEqual({ status: 'failed', error: 'corrupt_input', retryable: false });
    expect(stages.transcode).toEqual({ status: 'failed', error: 'packager_error', retryable: true });
    expect(plan).toMatchObject({ allowed: true, stages: ['transcode'], job_types: ['video:transcode'] });
    expect(firstStageError(errors)).toMatchObject({ code: 'corrupt_input', stage: 'preview', attempt: 2 });
  });

  it('C15.14: the outcome of a video:full job fails all stages and allows no retry when the source itself is at fault', () => {
    const results = fullResultsOfSourceFailure(jobErrorOf('no_video_stream', 1));
    expect(videoFullResults.parse(results)).toEqual(results);
    for (const stage of Object.values(results.stages)) {
      expect(stage).toEqual({ status: 'failed', error: 'no_video_stream', retryable: false });
    }
    expect(results.retry_plan.allowed).toBe(false);
  });

  it('C15.14: a job whose images were not begun has the results of a source at fault', () => {
    const error = jobErrorOf('source_unreadable', 1);
    expect(videoFull.resultsWithoutManifest(error, null)).toEqual(fullResultsOfSourceFailure(error));
  });

  it('C13.25: a retry that the plan does not allow is refused with its reason', () => {
    const results = fullResultsOfSourceFailure(jobErrorOf('no_video_stream', 1));
    const options = videoFull.options.parse({});
    expect(() => videoFull.retries(options, results)).toThrow(
      expect.objectContaining({
        code: 'not_retryable',
        message: 'A retry cannot help: the source is at fault. Upload it again.',
      }),
    );
  });

  it('the outcome of a video:full job allows every stage again when the attempt was lost to something that passes', () => {
    const { retry_plan: plan } = fullResultsOfSourceFailure(jobErrorOf('source_unreadable', 1));
    expect(plan).toMatchObject({ allowed: true, stages: ['cover', 'preview', 'transcode'] });
  });

  it('the outcome of a video:full job whose video failed has the images that were made before', () => {
    const cover = { key: 'videos/ab/clip/0123456789abcdef/cover.jpg', format: 'jpg' as const, size: 10 };
    const preview = jobErrorOf('corrupt_input', 1);
    const images = { artifacts: { cover }, errors: { cover: null, preview }, warnings: [] };
    const results = videoFull.resultsWithoutManifest(jobErrorOf('resource_exhausted', 3), images);
    expect(videoFullResults.parse(results)).toEqual(results);
    expect(results).toMatchObject({ artifacts: { cover }, retry_plan: { stages: ['transcode'] } });
    expect(results?.stages).toMatchObject({ cover: { status: 'ready' }, preview: { status: 'failed' } });
  });
});

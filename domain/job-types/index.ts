import type { z } from 'zod';
import { imageThumbnailOptions, imageThumbnailResults } from './image-thumbnail.ts';
import { videoCoverOptions, videoCoverResults } from './video-cover.ts';
import { videoFullOptions, videoFullResults } from './video-full.ts';
import { videoPreviewOptions, videoPreviewResults } from './video-preview.ts';
import { videoTranscodeOptions, videoTranscodeResults } from './video-transcode.ts';

interface JobTypeRow {
  /** Strict: an unknown field anywhere is refused. Parsing fills in the defaults. */
  readonly options: z.ZodType;
  readonly results: z.ZodType;
  /** Whether the source is looked at before acceptance (section 4, "Video source preflight"). */
  readonly hasPreflight: boolean;
  /** Whether decoding is sharp's under an allow-list, so that all steps may run in one container (design.md). */
  readonly runsInOneStep: boolean;
}

/** The job types (section 1). A new one is a row here, and a handler in `runner/handlers`. */
export const jobTypes = {
  'image:thumbnail': {
    options: imageThumbnailOptions,
    results: imageThumbnailResults,
    hasPreflight: false,
    runsInOneStep: true,
  },
  'video:cover': { options: videoCoverOptions, results: videoCoverResults, hasPreflight: false, runsInOneStep: false },
  'video:preview': {
    options: videoPreviewOptions,
    results: videoPreviewResults,
    hasPreflight: false,
    runsInOneStep: false,
  },
  'video:transcode': {
    options: videoTranscodeOptions,
    results: videoTranscodeResults,
    hasPreflight: true,
    runsInOneStep: false,
  },
  'video:full': { options: videoFullOptions, results: videoFullResults, hasPreflight: true, runsInOneStep: false },
} as const satisfies Record<string, JobTypeRow>;

export type JobType = keyof typeof jobTypes;
export type JobOptions<T extends JobType = JobType> = z.output<(typeof jobTypes)[T]['options']>;
export type JobResults<T extends JobType = JobType> = z.output<(typeof jobTypes)[T]['results']>;

/** The names of the job types, in the order of section 1. */
export const jobTypeNames = Object.keys(jobTypes) as [JobType, ...JobType[]];

import type { z } from 'zod';
import { imageThumbnail } from './image-thumbnail.ts';
import type { JobTypeRow } from './job-type.ts';
import { videoCover } from './video-cover.ts';
import { videoFull } from './video-full.ts';
import { videoPreview } from './video-preview.ts';
import { videoTranscode } from './video-transcode.ts';

/**
 * The job types. A new one is a row here, a file with its options, results and other columns, and a folder of its name
 * in `runner/handlers`. Nothing else lists them.
 */
export const jobTypes = {
  'image:thumbnail': imageThumbnail,
  'video:cover': videoCover,
  'video:preview': videoPreview,
  'video:transcode': videoTranscode,
  'video:full': videoFull,
} as const satisfies Record<string, JobTypeRow>;

export type JobType = keyof typeof jobTypes;
export type JobOptions<T extends JobType = JobType> = z.output<(typeof jobTypes)[T]['options']>;
export type JobResults<T extends JobType = JobType> = z.output<(typeof jobTypes)[T]['results']>;

/** The names of the job types, in the order of the table. */
export const jobTypeNames = Object.keys(jobTypes) as [JobType, ...JobType[]];

/** The row of a type, for code that treats all types alike. */
export function jobTypeRow(type: JobType): JobTypeRow {
  return jobTypes[type];
}

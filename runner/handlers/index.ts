import type { JobType } from '#domain/job-types/index.ts';
import type { JobHandler } from './job-handler.ts';

/** Loads the handler of each job type; a step loads only the handler that it needs. */
const handlers = {
  'image:thumbnail': async () => (await import('./image-thumbnail/handler.ts')).imageThumbnail,
  'video:cover': async () => (await import('./video-cover/handler.ts')).videoCover,
  'video:preview': async () => (await import('./video-preview/handler.ts')).videoPreview,
  'video:transcode': async () => (await import('./video-transcode/handler.ts')).videoTranscode,
  'video:full': async () => (await import('./video-full/handler.ts')).videoFull,
} as const satisfies { readonly [T in JobType]: () => Promise<JobHandler<T>> };

/** The handler of a job type. */
export function loadHandler(type: JobType): Promise<JobHandler<JobType>> {
  return handlers[type]();
}

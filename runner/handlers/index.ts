import type { JobType } from '#domain/job-types/index.ts';
import { imageThumbnail } from './image-thumbnail/handler.ts';
import type { JobHandler } from './job-handler.ts';
import { videoTranscode } from './video-transcode/handler.ts';

/** The handler of each job type. */
export const handlers = {
  'image:thumbnail': imageThumbnail,
  'video:transcode': videoTranscode,
} as const satisfies { readonly [T in JobType]?: JobHandler<T> };

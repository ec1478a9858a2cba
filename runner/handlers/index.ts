import type { JobType } from '#domain/job-types/index.ts';
import { imageThumbnail } from './image-thumbnail/handler.ts';
import type { JobHandler } from './job-handler.ts';
import { videoCover } from './video-cover/handler.ts';
import { videoFull } from './video-full/handler.ts';
import { videoPreview } from './video-preview/handler.ts';
import { videoTranscode } from './video-transcode/handler.ts';

/** The handler of each job type. */
export const handlers = {
  'image:thumbnail': imageThumbnail,
  'video:cover': videoCover,
  'video:preview': videoPreview,
  'video:transcode': videoTranscode,
  'video:full': videoFull,
} as const satisfies { readonly [T in JobType]: JobHandler<T> };

import type { z } from 'zod';
import type { JobOptions } from '#domain/job-types/index.ts';
import { type UnitHandler, unitHandler } from '../../job-handler.ts';
import { chunkMadeSchema, encodeChunk } from './encode-chunk.ts';
import { publishChunk } from './publish-units.ts';

/** The handler of a chunk, for every job type that encodes a stream. */
export function chunkHandler<T extends 'video:transcode' | 'video:full'>(
  transcodeOptionsOf: (options: JobOptions<T>) => JobOptions<'video:transcode'>,
): UnitHandler<T> {
  return unitHandler<T, z.infer<typeof chunkMadeSchema>>({
    made: chunkMadeSchema,
    process(context) {
      context.reporter.phase('encoding');
      return encodeChunk(context);
    },
    publish: (context, made) => publishChunk(made, transcodeOptionsOf(context.task.options), context),
  });
}

import { createHash } from 'node:crypto';
import canonicalize from 'canonicalize';
import { z } from 'zod';
import { chunkSources, type Chunk, type ChunkSource, planChunks } from '#domain/media/chunk-plan.ts';
import type { JobOptions } from '#domain/job-types/index.ts';
import { x264Presets } from '#domain/media/profiles.ts';
import { chunksMax } from '#domain/work/split.ts';
import type { Task } from '#domain/work/task.ts';
import type { PublishContext } from '../../job-handler.ts';
import { matrixRemovers, widePrimaries } from '../../../tools/video-filters.ts';
import type { PlannedStream } from '../encode.ts';
import { encodedSchema } from '../encoded.ts';

const count = z.int().positive();

/**
 * The plan of a chunked encode (`work/<rev>/plan.json`): all that its units need to know. `split` makes it next to
 * untrusted bytes, so it is read through this schema, which allows only strings that the plan of tracks produces.
 */
export const encodePlanSchema = encodedSchema.extend({
  /** Raised whenever the same plan would be encoded or packaged in another way. */
  v: z.literal(1),
  video: encodedSchema.shape.video.min(1),
  chunks: z
    .array(z.object({ firstFrame: z.int().nonnegative(), frames: count, firstSegment: count }))
    .min(1)
    .max(chunksMax),
  /** When the source begins, in seconds of its own timestamps. */
  startSec: z.number(),
  /** The frames of the source. */
  frame: z.object({
    width: count,
    height: count,
    rotation: z.int(),
    toneMap: z.enum(['pq', 'hlg']).nullable(),
    fieldOrder: z.enum(['progressive', 'tff', 'bff']),
    matrix: z.enum(['bt601', 'bt709', 'bt2020', 'fcc', 'smpte240m']),
    refusedMatrix: z
      .object({ bitstreamFilter: z.enum(Object.values(matrixRemovers)).nullable() })
      .nullable()
      .default(null),
    isFullRange: z.boolean(),
    widePrimaries: z.enum(widePrimaries).nullable().default(null),
    pixelFormat: z.string().max(64),
    hasAlpha: z.boolean().default(false),
    decoder: z.null().default(null),
    hasZscale: z.boolean(),
    stored: z.object({ width: count, height: count, sampleAspect: z.number() }),
    isUpright: z.boolean(),
  }),
  encoding: z.object({ crf: z.number(), preset: z.enum(x264Presets) }),
  /** The versions of the tools that make it. */
  tools: z.array(z.string().max(1024)).max(8),
});
export type EncodePlan = z.infer<typeof encodePlanSchema>;

/** Containers that can be read from any key frame, and codecs whose packets NUT holds without loss. */
const containers = ['mov', 'matroska', 'mpegts'];
const codecs = ['h264', 'hevc', 'mpeg2video', 'mpeg4', 'vp8', 'vp9', 'av1', 'prores', 'dnxhd', 'mjpeg', 'ffv1'];
/** Every chunk's source must have a frame. */
const startSecMax = 2;
/**
 * Timestamps of MPEG-2 TS have 33 bits of 1/90000 s; a source that lies across their end is not read from the middle.
 */
const transportSecMax = 2 ** 33 / 90_000;

/** The chunks of a stream and the cuts of the source that they need; null for a source that stays one piece. */
export function cutsOf(
  { source, grid, rungs, packets, span }: PlannedStream,
  chunkSec: number,
): { readonly chunks: readonly Chunk[]; readonly sources: readonly ChunkSource[] } | null {
  const { video } = source;
  const canBeCut =
    containers.includes(source.container) &&
    codecs.includes(video.codec) &&
    packets.isContinuous &&
    // Other encoders delay frames between decoding and display by numbers of their own.
    rungs.every(({ codec }) => codec === 'h264') &&
    !video.isMirrored &&
    // Its opacity lies beside the packets, and NUT does not keep it.
    video.decoder === null &&
    // The place of a frame depends on those of all before it.
    !video.isScattered &&
    video.startSec <= startSecMax &&
    !(source.container === 'mpegts' && source.startSec + source.durationSec >= transportSecMax);
  const chunks = canBeCut ? planChunks({ frames: span.frames, grid, chunkSec }) : [];
  const sources = chunkSources(chunks, grid, packets.keyTimesSec);
  return chunks.length === 0 || sources === null ? null : { chunks, sources };
}

/**
 * The shared revision of a chunked encode: 16 hex characters of a digest over all that decides its output. Attempts and
 * jobs that would make the same stream have the same one, and share its finished chunks; a rerun has one of its own.
 */
export function chunkedRev(
  plan: EncodePlan,
  options: JobOptions<'video:transcode'>,
  { task, encryption }: Pick<PublishContext, 'task' | 'encryption'>,
): string {
  const key = encryption === null ? null : { kid: encryption.contentKey.kid, endpoint: encryption.keyEndpoint };
  const canonical = canonicalize({
    plan,
    key,
    hash: task.hash,
    options,
    profile: task.profile,
    source: sourceIdentity(task),
    ...(task.rerun_of === undefined ? {} : { rerun: task.job_id }),
  });
  if (canonical === undefined) throw new TypeError('a revision needs a JSON value');
  return createHash('sha256').update(canonical).digest('hex').slice(0, 16);
}

/** The identity of the bytes of a source: without an ETag it is that of this job alone. */
function sourceIdentity({ source: { key, etag, size }, job_id: jobId }: Task): Record<string, unknown> {
  return { key, size, version: etag ?? jobId };
}

/** The IV of every segment (hex). Each chunk is packaged by itself, and one init segment serves them all. */
export function ivOf(rev: string): string {
  return createHash('sha256').update(`iv:${rev}`).digest('hex').slice(0, 32);
}

/** The chunk of a task, and its index. @throws Error for the task of another unit, or a chunk that the plan has not */
export function chunkOf({ unit }: Task, { chunks }: EncodePlan): { readonly chunk: Chunk; readonly index: number } {
  const index = 'chunk' in unit ? unit.chunk : -1;
  const chunk = chunks[index];
  if (chunk === undefined) throw new Error(`expected one of ${chunks.length} chunks, found ${JSON.stringify(unit)}`);
  return { chunk, index };
}

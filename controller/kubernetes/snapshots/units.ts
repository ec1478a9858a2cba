import { apiGroup } from '#domain/kubernetes/custom-resource.ts';
import { encodedShare, parsePendingChunks, type PendingChunks } from '#domain/work/split.ts';
import { indexesOf } from './job.ts';
import type { PodSnapshot } from './pod.ts';

// The Jobs of a chunked encode. The Indexed Job has a pod for each chunk that was unfinished at its creation; its
// annotation maps indexes to chunks.

/** The annotation of the Jobs that follow `split`. */
export const unitsAnnotation = `${apiGroup}/units`;

/** Reads the annotation of a Job; null without one. @throws ZodError, SyntaxError */
export function pendingChunksOf(annotations: Readonly<Record<string, string>> = {}): PendingChunks | null {
  const json = annotations[unitsAnnotation];
  return json === undefined ? null : parsePendingChunks(json);
}

/** How many chunks are finished, and which share of the frames they have. */
export interface ChunksProgress {
  readonly done: number;
  readonly wanted: number;
  readonly fraction: number;
}

/** The progress of chunks. `completed`: the indexes of their Job that have succeeded, as Kubernetes writes them. */
export function chunksProgress(pending: PendingChunks, completed = ''): ChunksProgress {
  const left = new Set(pending.chunks);
  for (const index of indexesOf(completed)) left.delete(pending.chunks[index] ?? -1);
  const wanted = pending.chunk_frames.length;
  const fraction = encodedShare(pending, (chunk) => (left.has(chunk) ? 0 : 1));
  return { done: wanted - left.size, wanted, fraction };
}

const indexLabel = 'batch.kubernetes.io/job-completion-index';

/** The chunk that a pod encodes, counted from 0; null for a pod of another kind. */
export function chunkOf(pod: PodSnapshot, pending: PendingChunks | null): number | null {
  const index = pod.metadata.labels?.[indexLabel];
  return index === undefined ? null : (pending?.chunks[Number(index)] ?? null);
}

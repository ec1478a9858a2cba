import { z } from 'zod';
import { apiGroup } from '#domain/kubernetes/custom-resource.ts';
import { indexesOf, type PodSnapshot } from './snapshots.ts';

// What the Jobs of a film say of it. The Indexed Job has a pod for each chunk that was not finished when it was created;
// its annotation says which chunk each index stands for.

/** The annotation of the Jobs of a film that follow `split`. */
export const filmAnnotation = `${apiGroup}/film`;

const filmSnapshotSchema = z.strictObject({
  rev: z.string(),
  /** The number of frames of each chunk of the film. */
  frames: z.array(z.int().positive()).min(1),
  /** The chunks that are not finished when the Job is created, by the index of their pod. */
  chunks: z.array(z.int().nonnegative()),
});
/** The film of a Job. */
export type FilmSnapshot = z.infer<typeof filmSnapshotSchema>;

/** Reads the annotation of a Job; null without one. @throws ZodError, SyntaxError */
export function filmOf(annotations: Readonly<Record<string, string>> = {}): FilmSnapshot | null {
  const json = annotations[filmAnnotation];
  return json === undefined ? null : filmSnapshotSchema.parse(JSON.parse(json));
}

/** How many chunks of a film are finished, and which share of its frames they have. */
export interface FilmProgress {
  readonly done: number;
  readonly wanted: number;
  readonly fraction: number;
}

/** The progress of a film. `completed`: the indexes of its Job that have succeeded, as Kubernetes writes them. */
export function progressOfFilm({ frames, chunks }: FilmSnapshot, completed = ''): FilmProgress {
  const pending = new Set(chunks);
  for (const index of indexesOf(completed)) pending.delete(chunks[index] ?? -1);
  const all = frames.reduce((sum, each) => sum + each, 0);
  const left = [...pending].reduce((sum, chunk) => sum + (frames[chunk] ?? 0), 0);
  return { done: frames.length - pending.size, wanted: frames.length, fraction: (all - left) / all };
}

const indexLabel = 'batch.kubernetes.io/job-completion-index';

/** The chunk that a pod encodes, counted from 0; null for a pod of another kind. */
export function chunkOf(pod: PodSnapshot, film: FilmSnapshot | null): number | null {
  const index = pod.metadata.labels?.[indexLabel];
  return index === undefined ? null : (film?.chunks[Number(index)] ?? null);
}

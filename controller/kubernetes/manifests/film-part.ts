import type { Job } from '#domain/jobs/job.ts';
import { exitCodes } from '#domain/exit-codes.ts';
import type { FilmPart } from '#domain/runner/task.ts';
import { runnerTaskOf } from '#jobs/runner-task.ts';
import type { WrittenTask } from '#jobs/step-access.ts';
import type { jobs } from '#platform/kubernetes/objects.ts';
import type { FilmSnapshot } from '../film.ts';
import type { PartKind } from './names.ts';

// What the Job of a film's part has that the Job of a whole job has not.

type JobSpec = NonNullable<NonNullable<(typeof jobs)['example']>['spec']>;

/** A part of a film's work, for which a Job is to be made. */
export interface PartToRun {
  readonly kind: PartKind;
  /** Null for `split`. */
  readonly film: FilmSnapshot | null;
  /** How many chunks are encoded at once. */
  readonly parallelism: number;
}

/** How often the pod of a chunk may fail by itself before the attempt does; the Job controller waits between them. */
export const chunkRetries = 2;

/**
 * The Job of a film's chunks: a pod for each, which may be replaced, since what two pods write of one chunk is written
 * once. A pod that was stopped from outside costs no retry. A chunk that cannot succeed ends the Job; after any other the
 * rest is encoded all the same, since a finished chunk serves the next attempt too.
 */
export function chunkRules({ film, parallelism }: PartToRun): Partial<JobSpec> {
  return {
    completionMode: 'Indexed',
    completions: film?.chunks.length ?? 1,
    parallelism,
    backoffLimitPerIndex: chunkRetries,
    podReplacementPolicy: 'Failed',
    podFailurePolicy: {
      rules: [
        { action: 'FailJob', onExitCodes: { operator: 'In', values: [exitCodes.permanent] } },
        { action: 'Ignore', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
        { action: 'Ignore', onExitCodes: { operator: 'In', values: [exitCodes.stopped] } },
      ],
    },
  };
}

/** What is known of a part when its task is written. */
function filmTaskOf(part: PartToRun, chunkSec: number): NonNullable<Parameters<typeof runnerTaskOf>[0]['film']> {
  const { kind, film } = part;
  if (film === null || kind === 'split') return { part: { kind: 'split', chunk_sec: chunkSec } };
  // The task of an Indexed Job names all its chunks (`taskOf`).
  return { part: kind === 'encode' ? { kind, chunk: 0 } : { kind }, rev: film.rev };
}

/** The part as the runner knows it. */
export function filmPartOf(part: PartToRun | null, chunkSec: number): FilmPart | null {
  return part === null ? null : filmTaskOf(part, chunkSec).part;
}

/** The task document of a part's pods. */
export function taskOf(
  { job, part }: { readonly job: Job; readonly part: PartToRun | null },
  { maxFileSizeBytes, chunkSec }: { readonly maxFileSizeBytes: number; readonly chunkSec: number },
): WrittenTask {
  if (part === null) return runnerTaskOf({ job, maxFileSizeBytes });
  const task = runnerTaskOf({ job, maxFileSizeBytes, film: filmTaskOf(part, chunkSec) });
  if (part.kind !== 'encode') return task;
  return { ...task, part: { kind: 'encode_indexed', chunks: [...(part.film?.chunks ?? [])] } };
}

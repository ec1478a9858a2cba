import { exitCodes } from '#domain/exit-codes.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { PendingChunks } from '#domain/work/split.ts';
import { taskOf, type WrittenTask } from '#domain/work/task.ts';
import { unitKindRow, unitOf } from '#domain/work/unit.ts';
import type { NextUnits } from '#jobs/completion/next-units.ts';
import type { jobs } from '#platform/kubernetes/objects.ts';
import { unitsAnnotation } from '../snapshots/units.ts';

// What depends on the kind of unit in the manifest of a Job.

type JobSpec = NonNullable<NonNullable<(typeof jobs)['example']>['spec']>;

/** The units for which a Job is to be made. */
export interface UnitsToRun extends NextUnits {
  /** How many run at once. */
  readonly parallelism: number;
}

/**
 * The Job of units that run at once, with a pod for each. A pod may be replaced, since only one result of a unit is
 * stored. A pod that was stopped from outside costs no retry. A unit that cannot succeed ends the Job; after any other
 * failure the rest continues, since the next attempt uses finished units too.
 */
export function parallelRules({ kind, chunks, parallelism }: UnitsToRun): Partial<JobSpec> {
  return {
    completionMode: 'Indexed',
    completions: chunks.length,
    parallelism,
    // The Job controller waits between them.
    backoffLimitPerIndex: unitKindRow(kind).retriesMax,
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

/** The annotations of a Job about the split that its units work on. */
export function unitAnnotations({ split, chunks }: UnitsToRun): Record<string, string> {
  if (split === null) return {};
  const pending: PendingChunks = { ...split, chunks: [...chunks] };
  return { [unitsAnnotation]: JSON.stringify(pending) };
}

/** The task document of the Job's pods. */
export function writtenTask(
  { job, units }: { readonly job: Job; readonly units: UnitsToRun },
  { maxFileSizeBytes, chunkSec }: { readonly maxFileSizeBytes: number; readonly chunkSec: number },
): WrittenTask {
  const { kind, split, chunks } = units;
  const unit = kind === 'chunk' ? { kind, chunks: [...chunks] } : unitOf(kind, { chunkSec });
  return taskOf({ job, unit, split, maxFileSizeBytes });
}

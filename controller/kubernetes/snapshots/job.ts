import type { jobs, ObjectMeta } from '#platform/kubernetes/objects.ts';
import { type Condition, trimCondition, trimMeta } from './trim.ts';

/** A batch/v1 Job. */
export interface JobSnapshot {
  metadata: ObjectMeta;
  readonly isSuspended: boolean;
  /** When it was last resumed, as by Kueue; absent if it was never suspended. */
  readonly resumedAt?: string;
  readonly conditions: readonly Condition[];
  readonly hasPod: boolean;
  /** The state of an Indexed Job, which encodes chunks. */
  readonly indexed?: {
    readonly parallelism: number;
    readonly completions: number;
    /** As Kubernetes writes them: `0-2,5`. */
    readonly completed: string;
    readonly failed: string;
  };
}

type BatchJob = NonNullable<(typeof jobs)['example']>;

export function trimJob({ metadata, spec, status }: BatchJob): JobSnapshot {
  return {
    metadata: trimMeta(metadata),
    // The Job controller confirms a resumption by the condition, from whose time deadlines count.
    isSuspended: spec?.suspend === true || hasCondition(status?.conditions, 'Suspended', 'True'),
    ...resumption(status?.conditions),
    conditions: (status?.conditions ?? []).filter(({ status: state }) => state === 'True').map(trimCondition),
    hasPod: (status?.active ?? 0) + (status?.succeeded ?? 0) + (status?.failed ?? 0) > 0,
    ...(spec?.completionMode === 'Indexed'
      ? {
          indexed: {
            parallelism: spec.parallelism ?? 1,
            completions: spec.completions ?? 1,
            completed: status?.completedIndexes ?? '',
            failed: status?.failedIndexes ?? '',
          },
        }
      : {}),
  };
}

function hasCondition(conditions: readonly Condition[] = [], type: string, state: string): boolean {
  return conditions.some((condition) => condition.type === type && condition.status === state);
}

/** The time of the condition `Suspended` with status False. */
function resumption(conditions: readonly (Condition & { lastTransitionTime?: string })[] = []): { resumedAt?: string } {
  const resumed = conditions.find(({ type, status }) => type === 'Suspended' && status === 'False');
  return resumed?.lastTransitionTime === undefined ? {} : { resumedAt: resumed.lastTransitionTime };
}

/** The condition with which the Job controller ended a Job; null while it has not ended. */
export function endOfJob({ conditions }: JobSnapshot): Condition | null {
  return conditions.find(({ type }) => type === 'Complete' || type === 'Failed') ?? null;
}

/** How many pods a Job may have at once; an Indexed Job needs fewer towards its end. */
export function podsMaxOf({ indexed }: JobSnapshot): number {
  if (indexed === undefined) return 1;
  return Math.min(indexed.parallelism, unfinishedOf(indexed));
}

/** How many indexes of an Indexed Job have not ended. */
export function unfinishedOf({ completions, completed, failed }: NonNullable<JobSnapshot['indexed']>): number {
  return completions - indexesOf(completed).length - indexesOf(failed).length;
}

/** Reads a list of indexes such as `0-2,5`. */
export function indexesOf(list: string): number[] {
  return list
    .split(',')
    .filter((range) => range !== '')
    .flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map(Number);
      return Array.from({ length: last - first + 1 }, (_, offset) => first + offset);
    });
}

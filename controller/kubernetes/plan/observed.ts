import type { JobError } from '#domain/job-error.ts';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { JobPhase } from '#domain/jobs/status.ts';
import type { WaitingReason } from '#domain/jobs/waiting.ts';
import type { MediaJobStatus } from '#domain/kubernetes/media-job.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import type { PendingChunks } from '#domain/work/split.ts';
import { type UnitKind, unitKindRow } from '#domain/work/unit.ts';
import type { NextUnits } from '#jobs/completion/next-units.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { NodeSnapshot } from '../snapshots/node.ts';
import { endOfJob, type JobSnapshot } from '../snapshots/job.ts';
import type { PodSnapshot } from '../snapshots/pod.ts';
import type { PodProblem } from './pod-problem.ts';

/** The observed state of one MediaJob. */
export interface Observed {
  readonly mediaJob: MediaJob;
  /** Its job in Postgres; null while there is none. */
  readonly row: Job | null;
  /** The units that the attempt is at; null without a row. */
  readonly units: ObservedUnits | null;
  /** The newest unit of the row's attempt. */
  readonly current: ObservedWork;
  /** Jobs of other attempts whose pods may run. A Job that has ended stays until its TTL, with its log. */
  readonly otherJobs: readonly JobSnapshot[];
  readonly pool: ObservedPool;
  /** Which bucket does not answer, and why; null while both do. */
  readonly storageProblem: string | null;
  readonly writes: ObservedWrites;
}

/** The Job and the pod of an attempt. */
export interface ObservedWork {
  readonly job: JobSnapshot | null;
  /** The Job was requested a moment ago, and the cache does not show it yet. */
  readonly isBeingCreated: boolean;
  /** The Job certainly never existed. */
  readonly isNeverCreated: boolean;
  /** The Job was created from other settings of its pool or of the runner. */
  readonly isOutdated: boolean;
  readonly pod: PodSnapshot | null;
  /** Why the Job controller could not create the pod, as its event says; null without such an event. */
  readonly podCreationFailure: string | null;
  /** The pod's node if it is not ready. */
  readonly unreadyNode: NodeSnapshot | null;
  /** How long it has been observed to run, in milliseconds; 0: not at all, or this is the first time. */
  readonly runningMs: number;
}

/** The pool that a job runs in. */
export interface ObservedPool {
  readonly name: string;
  /** Null: there is none of this name. */
  readonly spec: RunnerPoolSpec | null;
  /** Whether its concurrency allows one more Job. */
  readonly hasCapacity: boolean;
}

/** Which status writes are due. */
export interface ObservedWrites {
  /** The time since this process last wrote the status, in milliseconds. */
  readonly sinceMs: number;
  /** Whether the rate of progress writes allows one more. */
  readonly mayReportProgress: boolean;
}

/** The units of an attempt, as far as they are known. */
export interface ObservedUnits {
  /** The kind of the units whose Job is `job`; without a Job the first kind. */
  readonly kind: UnitKind;
  /** The chunks of that Job, or of the one before it; null before the source was split. */
  readonly pending: PendingChunks | null;
  /** The pods of a Job of several, and how many of them the pool has slots for. */
  readonly pods: readonly PodSnapshot[];
  readonly parallelism: number;
  /** Whose turn it is, while the attempt waits for the one of its key; null otherwise. */
  readonly turn: string | null;
  /** The units that follow a Job that has succeeded, or begin an attempt; null: none. */
  readonly next: NextUnits | null;
  /** The media bucket does not answer, so it is unknown which units follow. */
  readonly isUnread: boolean;
}

export type Action =
  | { readonly do: 'adopt' }
  /** Creates the Job of the units that are next. */
  | { readonly do: 'createJob' }
  /** Sets how many chunks are encoded at once. */
  | { readonly do: 'scaleJob'; readonly job: JobSnapshot; readonly parallelism: number }
  /** Deletes the Secrets with the content key, before the end of the job is shown. */
  | { readonly do: 'deleteKeys' }
  | { readonly do: 'deleteJob'; readonly job: JobSnapshot }
  /** The attempt has ended. */
  | { readonly do: 'concludeAttempt'; readonly end: AttemptEnd }
  /** The job fails although no runner reported an error. */
  | { readonly do: 'failJob'; readonly error: JobError }
  /** `fraction` of the phase that is done, 0–1; by default 0. */
  | { readonly do: 'reportPhase'; readonly phase: JobPhase; readonly fraction?: number }
  /** `isProgress`: the status differs in progress only, so the write may be delayed. */
  | { readonly do: 'writeStatus'; readonly status: MediaJobStatus; readonly isProgress?: true }
  /** Records why the attempt waits, for callers of the API; null: it does not. */
  | { readonly do: 'recordWaiting'; readonly reason: WaitingReason | null }
  /** Writes an Event and notes the problem for the status of the pool. */
  | { readonly do: 'recordProblem'; readonly problem: PodProblem }
  | { readonly do: 'deleteMediaJob' };

export interface Plan {
  readonly actions: readonly Action[];
  /** When to reconcile again at the latest, in milliseconds. */
  readonly requeueAfterMs?: number;
  /** The MediaJob shows the row of another job: reconcile again when that row changes. */
  readonly followsRow?: true;
}

export interface PlanSettings {
  readonly pendingDeadlineMs: number;
  readonly mediaJobTtlMs: number;
}

/** The view that the rules look at: a MediaJob as it was observed, at a moment. */
export interface View extends Observed {
  readonly nowMs: number;
  readonly settings: PlanSettings;
}

/** Whether the units that the attempt is at run several at once. */
export function isParallel<Seen extends Pick<Observed, 'units'>>(
  observed: Seen,
): observed is Seen & { readonly units: ObservedUnits } {
  const { units } = observed;
  return units !== null && unitKindRow(units.kind).isParallel;
}

/** Deletes the Jobs that have not ended. */
export function deletionsOf(jobs: readonly (JobSnapshot | null)[]): Action[] {
  return jobs.flatMap((job) =>
    job === null || job.metadata.deletionTimestamp !== undefined || endOfJob(job) !== null
      ? []
      : [{ do: 'deleteJob' as const, job }],
  );
}

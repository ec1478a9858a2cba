import type { JobError } from '#domain/job-error.ts';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import type { Job } from '#domain/jobs/job.ts';
import type { JobPhase } from '#domain/jobs/status.ts';
import type { WaitingReason } from '#domain/jobs/waiting.ts';
import type { MediaJobStatus } from '#domain/kubernetes/media-job.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { NodeSnapshot } from '../cache/nodes.ts';
import type { FilmSnapshot } from '../film.ts';
import type { PartKind } from '../manifests/names.ts';
import type { JobSnapshot, PodSnapshot } from '../snapshots.ts';
import type { PodProblem } from './pod-problem.ts';

/** The observed state of one MediaJob. */
export interface Observed {
  readonly mediaJob: MediaJob;
  /** Its job in Postgres; null while there is none. */
  readonly row: Job | null;
  /** Of a job type whose work may have parts; null for any other. `job` and `pod` are those of the newest part then. */
  readonly film: ObservedFilm | null;
  /** The Job of the row's attempt. */
  readonly job: JobSnapshot | null;
  /** The Job was requested a moment ago, and the cache does not show it yet. */
  readonly isJobBeingCreated: boolean;
  /** The Job of the row's attempt certainly never existed. */
  readonly isJobNeverCreated: boolean;
  /** How long the attempt has been observed to run, in milliseconds; 0: not at all, or this is the first time. */
  readonly runningMs: number;
  /** Jobs of other attempts whose pods may run. A Job that has ended stays until its TTL, with its log. */
  readonly otherJobs: readonly JobSnapshot[];
  readonly pod: PodSnapshot | null;
  /** The pod's node if it is not ready. */
  readonly unreadyNode: NodeSnapshot | null;
  readonly pool: { readonly name: string; readonly spec: RunnerPoolSpec | null };
  /** Whether the pool's concurrency allows one more Job. */
  readonly hasCapacity: boolean;
  /** The Job was created from other settings of its pool or of the runner. */
  readonly isOutdated: boolean;
  /** Why the Job controller could not create the pod, as its event says; null without such an event. */
  readonly podCreationFailure: string | null;
  /** The object storage does not answer. */
  readonly isStorageAway: boolean;
  /** The time since this process last wrote the status, in milliseconds. */
  readonly sinceWrittenMs: number;
  /** Whether the rate of progress writes allows one more. */
  readonly mayReportProgress: boolean;
}

/** The film of a job, as far as it is known. */
export interface ObservedFilm {
  /** The part whose Job is `job`; `split` without a Job. */
  readonly part: PartKind;
  /** What the Job of the chunks, or the one that follows it, says. */
  readonly snapshot: FilmSnapshot | null;
  /** The pods of the chunks' Job, and how many of them the pool has slots for. */
  readonly pods: readonly PodSnapshot[];
  readonly parallelism: number;
  /** The part that follows a Job that has succeeded, or begins an attempt; null: none. */
  readonly next: NextPart | null;
}

/** A part of which the Job is to be created. */
export interface NextPart {
  readonly kind: PartKind;
  /** Null for `split`. */
  readonly film: FilmSnapshot | null;
}

export type Action =
  | { readonly do: 'adopt' }
  /** Creates the Job of the attempt, or of the next part of its film. */
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

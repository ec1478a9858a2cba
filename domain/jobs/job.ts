import type { JobOptions, JobResults, JobType } from '../job-types/index.ts';
import type { Description } from '../media/description.ts';
import type { NamedProfile } from '../media/profiles.ts';
import type { JobError } from '../job-error.ts';
import type { QueueName } from './routing.ts';
import type { CallbackStatus, JobPhase, JobStatus } from './status.ts';
import type { WaitingReason } from './waiting.ts';

/** W3C Trace Context of the request that made a job (C25.16). */
export interface TraceContext {
  readonly traceparent: string;
  readonly tracestate?: string;
}

/** A job as its row in Postgres says; its title and metadata are those that it was submitted with. */
export interface Job extends Description {
  /** UUID. */
  readonly id: string;
  readonly type: JobType;
  readonly hash: string;
  /** Object key in the source bucket. */
  readonly source: string;
  readonly options: JobOptions;
  readonly status: JobStatus;
  /** Null before admission and once the job is final. */
  readonly phase: JobPhase | null;
  /** Why it waits, where only the controller knows: other reasons follow from the rows of its pool. */
  readonly waitingReason: WaitingReason | null;
  /** Percent; never falls within an attempt. */
  readonly progress: number;
  /** When its encoding will have ended at its speed so far; null in every other phase, and until its first percent. */
  readonly eta: Date | null;
  /** The attempt that runs or will run next, from 1. */
  readonly attempt: number;
  /** Attempts that failed by themselves. */
  readonly failures: number;
  /** Attempts that ended by a disruption, such as a drained node or a stopped worker. */
  readonly disruptions: number;
  readonly queue: QueueName;
  /** The RunnerPool that runs it; null: the one of its queue. */
  readonly pool: string | null;
  /** -1000 to 1000; within a queue, jobs of higher priority begin first. */
  readonly priority: number;
  /** Measured at preflight; null for job types without one. */
  readonly sourceSizeBytes: number | null;
  readonly sourceEtag: string | null;
  /** How its stream is encoded; null: by the built-in profile `default`, or the type makes no stream. */
  readonly profile: NamedProfile | null;
  readonly callbackUrl: string | null;
  readonly callbackStatus: CallbackStatus | null;
  /** The failed job that this one retries. */
  readonly retryOfJobId: string | null;
  /** The job that this one makes again, in a revision of its own; retention may have deleted it. */
  readonly rerunOfJobId: string | null;
  /** Why it is made again, in the words of who asked for it; null where nothing was said. */
  readonly rerunReason: string | null;
  /** The API key that asked for it; null where none did. */
  readonly keyId: string | null;
  readonly error: JobError | null;
  readonly results: JobResults | null;
  /** Whether retention removed objects that the results name. */
  readonly resultsExpired: boolean;
  readonly trace: TraceContext | null;
  readonly createdAt: Date;
  /** When its first attempt was claimed. */
  readonly startedAt: Date | null;
  readonly finishedAt: Date | null;
  readonly updatedAt: Date;
}

/** A job as callers see it: of its profile, which may hold an image, the name alone. */
export type ShownJob = Omit<Job, 'profile'> & { readonly profile: Pick<NamedProfile, 'name'> | null };

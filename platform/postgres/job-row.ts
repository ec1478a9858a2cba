import type { Job } from '#domain/jobs/job.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import type { KeyQuotas } from '#domain/keys/quotas.ts';
import { wellFormedJson } from '#domain/well-formed-json.ts';

type GivenField = 'id' | 'type' | 'hash' | 'source' | 'options' | 'queue' | 'sourceSizeBytes' | 'sourceEtag';
type CallerField = 'callbackUrl' | 'retryOfJobId' | 'trace';
type ChosenField = 'pool' | 'priority' | 'profile' | 'rerunOfJobId' | 'rerunReason' | 'title' | 'metadata' | 'keyId';

/** A job to insert. `options` has its defaults; what may be left out is the queue's, 0, `default` or null. */
export interface NewJob extends Pick<Job, GivenField | CallerField>, Partial<Pick<Job, ChosenField>> {
  readonly idempotencyKey: string;
  /** The job whose stream alone this one's may replace; by default whatever is played and not newer. */
  readonly replaces?: string;
  /** The quotas of its API key, within which the row is inserted. */
  readonly quotas?: KeyQuotas | null;
}

/** The attempt of a job that a call is about. Once the row has a later attempt, the call changes nothing. */
export interface CurrentAttempt {
  readonly jobId: string;
  readonly attempt: number;
}

type SnakeCase<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${SnakeCase<Rest>}`
  : Name;

/** A row of the table `jobs` as the driver gives it: the fields of `Job` in snake_case; `int8` comes as text. */
export type JobRow = {
  readonly [Field in keyof Job as SnakeCase<Field>]: Field extends 'sourceSizeBytes' ? string | null : Job[Field];
};

/** The columns of a `JobRow`. */
export const jobColumns = [
  'id, type, hash, source, options, status, phase, waiting_reason, progress, eta, attempt, failures, disruptions',
  'queue, pool, priority, source_size_bytes, source_etag, profile, callback_url, callback_status, retry_of_job_id',
  'rerun_of_job_id, rerun_reason, key_id',
  'error, results, results_expired, trace, title, metadata',
  'created_at, started_at, finished_at, updated_at',
].join(', ');

/** The columns of a `ShownJob`. */
export const shownColumns = jobColumns.replace(
  ' profile,',
  ` case when profile is not null then json_build_object('name', profile ->> 'name') end as profile,`,
);

/** The same without `results`, which may be large. */
export const shownWithoutResults = shownColumns.replace(' results,', '');

/** The job of a row. */
export function jobOfRow(row: JobRow): Job {
  return {
    id: row.id,
    type: row.type,
    hash: row.hash,
    source: row.source,
    options: row.options,
    status: row.status,
    phase: row.phase,
    waitingReason: row.waiting_reason,
    progress: row.progress,
    // Of the current attempt's encoding alone: the next attempt and the end of the job change the phase.
    eta: row.phase === 'encoding' ? row.eta : null,
    attempt: row.attempt,
    failures: row.failures,
    disruptions: row.disruptions,
    queue: row.queue,
    pool: row.pool,
    priority: row.priority,
    sourceSizeBytes: row.source_size_bytes === null ? null : Number(row.source_size_bytes),
    sourceEtag: row.source_etag,
    profile: row.profile,
    callbackUrl: row.callback_url,
    callbackStatus: row.callback_status,
    retryOfJobId: row.retry_of_job_id,
    rerunOfJobId: row.rerun_of_job_id,
    rerunReason: row.rerun_reason,
    keyId: row.key_id,
    error: row.error,
    results: row.results,
    resultsExpired: row.results_expired,
    trace: row.trace,
    title: row.title,
    metadata: row.metadata,
    createdAt: row.created_at,
    startedAt: row.started_at,
    finishedAt: row.finished_at,
    updatedAt: row.updated_at,
  };
}

/** The job of a row that was inserted with these values at `createdAt`, by the defaults of the table. */
export function jobOfNew(newJob: NewJob, createdAt: Date): Job {
  const { idempotencyKey: _idempotencyKey, pool = null, priority = 0, profile = null, ...others } = newJob;
  const { rerunOfJobId = null, rerunReason = null, title = null, metadata = null, keyId = null, ...rest } = others;
  const { replaces: _replaces, quotas: _quotas, ...given } = rest;
  return {
    ...given,
    pool,
    priority,
    profile,
    rerunOfJobId,
    rerunReason,
    title,
    metadata,
    keyId,
    status: 'queued',
    phase: null,
    waitingReason: null,
    progress: 0,
    eta: null,
    attempt: 1,
    failures: 0,
    disruptions: 0,
    callbackStatus: null,
    error: null,
    results: null,
    resultsExpired: false,
    createdAt,
    startedAt: null,
    finishedAt: null,
    updatedAt: createdAt,
  };
}

/** The columns of a `TicketRow`. */
export const ticketColumns = 'jobs.id, attempt, queue, pool, priority, key_id, trace';

/** The columns that a ticket is made of. */
export type TicketRow = Pick<JobRow, 'id' | 'attempt' | 'queue' | 'pool' | 'priority' | 'key_id' | 'trace'>;

/** The ticket of a row's current attempt. */
export function ticketOfRow(row: TicketRow): Ticket {
  return {
    jobId: row.id,
    attempt: row.attempt,
    queue: row.queue,
    ...(row.pool === null ? {} : { pool: row.pool }),
    ...(row.priority === 0 ? {} : { priority: row.priority }),
    ...(row.key_id === null ? {} : { keyId: row.key_id }),
    ...(row.trace === null ? {} : { trace: row.trace }),
  };
}

/** The columns that `insertedValues` fills, in its order. */
export const insertedColumns = [
  'id, type, hash, source, options, idempotency_key, queue, source_size_bytes, source_etag',
  'callback_url, retry_of_job_id, trace, pool, priority, profile, rerun_of_job_id, rerun_reason, replaces',
  'key_id',
].join(', ');

/** The further columns of a job that has a title or metadata, which `describedValues` fills. */
export const describedColumns = 'title, metadata';

export function describedValues({ title, metadata }: NewJob): readonly unknown[] {
  return [title ?? null, toJson(metadata)];
}

/** Whether a job has a title or metadata; most have not, and are inserted without these columns. */
export function isDescribed({ title, metadata }: NewJob): boolean {
  return (title ?? metadata ?? null) !== null;
}

/** The parameters of a new row; json is written here, since the driver would write an array as one of PostgreSQL's. */
export function insertedValues(job: NewJob): readonly unknown[] {
  return [
    job.id,
    job.type,
    job.hash,
    job.source,
    toJson(job.options),
    job.idempotencyKey,
    job.queue,
    job.sourceSizeBytes,
    job.sourceEtag,
    job.callbackUrl,
    job.retryOfJobId,
    toJson(job.trace),
    job.pool ?? null,
    job.priority ?? 0,
    toJson(job.profile),
    job.rerunOfJobId ?? null,
    job.rerunReason ?? null,
    job.replaces ?? null,
    job.keyId ?? null,
  ];
}

/** The text of a json column, which every query can read; null stays SQL's null. */
export function toJson(value: unknown): string | null {
  return value === null || value === undefined ? null : wellFormedJson(value);
}

import type { DueKind } from '#domain/work/due.ts';
import { activeStatuses as activeJobStatuses, statusesBefore as jobStatusesBefore } from '#domain/jobs/status.ts';
import { statusesBefore as uploadStatusesBefore } from '#domain/uploads/upload.ts';
import { openImportStatuses } from '#domain/imports/import.ts';
import { activeStatuses as activeRolloutStatuses } from '#domain/rollouts/rollout.ts';

/** The rows of one kind of due work. The texts are SQL over the columns of the table. */
export interface DueRows {
  readonly table: string;
  /** The primary key; `id` by default. */
  readonly key?: string;
  /** Rows of which work is left: the condition of the index of the kind. */
  readonly where: string;
  /** From when on a row is due, but for the delay of the kind: the column or expression of that index. */
  readonly dueAt: string;
  /** The column that a claim moves by an interval, so that no other claim gets the row; absent: see the claim. */
  readonly hold?: { readonly column: string; readonly for: string };
  /** Also until this column's time a row is not claimed. */
  readonly heldUntil?: string;
}

const listOf = (values: readonly string[]) => `(${values.map((value) => `'${value}'`).join(', ')})`;
const hold = (interval: string, column = 'due_at') => ({ column, for: `interval '${interval}'` });
/** Rows of ended uploads or imports that have nothing left to remove. */
const endedRows = { where: `(status = 'completed' or cleaned_up_at is not null)`, dueAt: 'ended_at' };

/**
 * Where the rows of each kind of due work are. The due time is a column of the row that it is about, and is written
 * with it: there is no list beside the rows that a crash could leave without an entry.
 */
export const dueRowsOf: Readonly<Record<DueKind, DueRows>> = {
  upload_expiry: {
    table: 'uploads',
    where: `status in ${listOf(uploadStatusesBefore('expired'))}`,
    dueAt: 'expires_at',
  },
  upload_removal: {
    table: 'uploads',
    where: `status in ('aborted', 'expired') and cleaned_up_at is null`,
    dueAt: 'due_at',
    hold: hold('10 minutes'),
  },
  upload_retention: { table: 'uploads', ...endedRows },
  import: {
    table: 'imports',
    where: `status in ${listOf(openImportStatuses)}`,
    dueAt: 'due_at',
    hold: { column: 'due_at', for: `$6 * interval '1 millisecond'` },
  },
  import_removal: {
    table: 'imports',
    where: `status in ('failed', 'cancelled') and cleaned_up_at is null`,
    dueAt: 'due_at',
    hold: hold('10 minutes'),
  },
  import_retention: { table: 'imports', ...endedRows },
  bucket_event_retention: { table: 'bucket_events', where: 'true', dueAt: 'seen_at' },
  // 10, 20, 40, … minutes, a day at most, so that failed cleanups follow others.
  cleanup: {
    table: 'jobs',
    where: 'swept_at is null and finished_at is not null',
    dueAt: 'coalesce(cleanup_after, finished_at)',
    hold: {
      column: 'cleanup_after',
      for: `least(interval '1 day', interval '10 minutes' * 2 ^ least(cleanup_attempts, 10))`,
    },
  },
  revision_retention: {
    table: 'jobs',
    where: 'replaced_at is not null and revision_deleted_at is null',
    dueAt: 'coalesce(retention_after, replaced_at)',
    hold: hold('1 hour', 'retention_after'),
  },
  job_retention: {
    table: 'jobs',
    where: 'swept_at is not null',
    dueAt: 'coalesce(retention_after, finished_at)',
    hold: hold('1 hour', 'retention_after'),
  },
  // A purge belongs to no job, with which it would be deleted.
  purge_event_retention: {
    table: 'webhook_events',
    where: 'job_id is null and next_attempt_at is null',
    dueAt: 'created_at',
  },
  // Its work is one guarded transaction, which may be repeated.
  media_expiry: {
    table: 'media',
    key: 'hash',
    where: `expires_at is not null and not legal_hold
      and not exists (select from media_deletions where media_deletions.hash = media.hash and lifted_at is null)`,
    dueAt: 'expires_at',
  },
  media_deletion: { table: 'media_deletions', where: 'finished_at is null', dueAt: 'due_at', hold: hold('10 minutes') },
  rollout: {
    table: 'rollouts',
    where: `status in ${listOf(activeRolloutStatuses)}`,
    dueAt: 'due_at',
    hold: hold('10 seconds'),
  },
  webhook: {
    table: 'webhook_events',
    where: 'next_attempt_at is not null',
    dueAt: 'next_attempt_at',
    heldUntil: 'held_until',
    hold: { column: 'held_until', for: `$6 * interval '1 millisecond'` },
  },
  // The attempt that follows has no lease.
  lapsed_lease: {
    table: 'jobs',
    where: `lease_owner is not null and status in ${listOf(jobStatusesBefore('completed'))}`,
    dueAt: 'lease_expires_at',
  },
  // Repeated calls visit all of them.
  missing_ticket: {
    table: 'jobs',
    where: `lease_owner is null and status in ${listOf(activeJobStatuses)}`,
    dueAt: 'ticketed_at',
    hold: { column: 'ticketed_at', for: `$2 * interval '1 millisecond'` },
  },
};

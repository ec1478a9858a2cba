import { dueKinds } from '#domain/work/due.ts';
import type { Config } from '#platform/config/config.ts';
import type { DueDelays } from '#platform/postgres/due-work.ts';
import { keptRows } from './old-rows.ts';

/** Far longer than a worker that lost a job can still be writing for it. */
export const cleanupGraceMs = 60 * 60_000;

type Settings = Pick<Config, 'jobRetentionMs' | 'revisionRetentionMs' | 'ticketAgeMs' | 'imports' | 'uploads'>;

/** How long after its time a row of each kind is due; null: the settings say that nothing of it is done. */
export function dueDelays({ jobRetentionMs, revisionRetentionMs, ticketAgeMs, ...bucket }: Settings): DueDelays {
  const ofUploads = bucket.uploads === null ? null : 0;
  return {
    ...(Object.fromEntries(dueKinds.map((kind) => [kind, 0])) as Record<keyof DueDelays, 0>),
    ...keptRows,
    cleanup: cleanupGraceMs,
    revision_retention: revisionRetentionMs,
    job_retention: jobRetentionMs,
    upload_expiry: ofUploads,
    upload_removal: ofUploads,
    import_removal: ofUploads,
    import: bucket.imports === null ? null : ofUploads,
    missing_ticket: ticketAgeMs,
  };
}

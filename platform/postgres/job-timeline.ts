import type { JobErrorCode } from '#domain/errors.ts';
import type { EndResult } from '#domain/jobs/attempts.ts';
import { poolOfQueue } from '#domain/jobs/routing.ts';
import type { AttemptWork } from '#domain/work/unit-run.ts';
import type { Database } from './database.ts';
import type { JobRow } from './job-row.ts';
import { readList } from './list-database.ts';
import { isUuid } from './uuid.ts';

/** An attempt of a job; one that has not ended has neither an end nor a result. */
export interface TimelineAttempt extends AttemptWork {
  readonly attempt: number;
  /** The owner of its lease. */
  readonly worker: string | null;
  readonly claimedAt: Date;
  readonly endedAt: Date | null;
  readonly result: EndResult | null;
  readonly code: JobErrorCode | null;
}

/** The history of a job, as far as it is known. */
export interface JobTimeline {
  readonly id: string;
  readonly pool: string;
  /** Null: no API key asked for it. */
  readonly keyId: string | null;
  readonly acceptedAt: Date;
  readonly finishedAt: Date | null;
  /** Those that were claimed, in their order; of many the newest. */
  readonly attempts: readonly TimelineAttempt[];
  readonly sourceBytes: number | null;
  /** The bytes of the objects that the results name. */
  readonly resultBytes: number | null;
}

/** As `endAssignments` writes it; work that is not known is left out. */
type EndedAttempt = Partial<AttemptWork> &
  Pick<TimelineAttempt, 'attempt' | 'worker' | 'result' | 'code'> & {
    readonly claimed_at: string;
    readonly ended_at: string;
  };

type TimelineRow = Pick<JobRow, 'id' | 'queue' | 'pool' | 'attempt' | 'key_id' | 'created_at' | 'finished_at'> & {
  readonly source_size_bytes: string | null;
  readonly result_bytes: string | null;
  readonly lease_owner: string | null;
  readonly claimed_at: Date | null;
  readonly ended_attempts: readonly EndedAttempt[] | null;
};

const select = `
  select id, queue, pool, attempt, key_id, created_at, finished_at, source_size_bytes, result_bytes, lease_owner, claimed_at,
    ended_attempts
  from jobs where id = $1`;

/**
 * The timeline of a job; null when there is none, also for an id that is no UUID.
 *
 * @param database of `openListDatabase`
 * @throws KnownProblem `busy` when too many lists are read
 */
export async function jobTimeline(database: Database, id: string): Promise<JobTimeline | null> {
  if (!isUuid(id)) return null;
  const [row] = await readList<TimelineRow>(database, select, [id]);
  return row === undefined ? null : timelineOf(row);
}

const unknownWork: AttemptWork = { processor_ms: null, units: [], units_left_out: 0 };

function timelineOf(row: TimelineRow): JobTimeline {
  const { attempt, lease_owner: worker, claimed_at: claimedAt } = row;
  const ended = (row.ended_attempts ?? []).map(({ claimed_at, ended_at, ...each }) => ({
    ...unknownWork,
    ...each,
    claimedAt: new Date(claimed_at),
    endedAt: new Date(ended_at),
  }));
  const current = { ...unknownWork, attempt, worker, endedAt: null, result: null, code: null };
  return {
    id: row.id,
    pool: row.pool ?? poolOfQueue[row.queue],
    keyId: row.key_id,
    acceptedAt: row.created_at,
    finishedAt: row.finished_at,
    attempts: [...ended, ...(claimedAt === null || worker === null ? [] : [{ ...current, claimedAt }])],
    sourceBytes: row.source_size_bytes === null ? null : Number(row.source_size_bytes),
    resultBytes: row.result_bytes === null ? null : Number(row.result_bytes),
  };
}

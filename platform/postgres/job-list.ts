import { KnownProblem } from '#domain/errors.ts';
import type { JobType } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import { type JobStatus, jobStatuses } from '#domain/jobs/status.ts';
import { type Database, openDatabase } from './database.ts';
import { jobColumns, type JobRow, jobOfRow } from './job-row.ts';

/** Where a page of the list begins: after this job, which is the last of the page before. */
export interface JobCursor {
  readonly createdAt: Date;
  /** UUID. */
  readonly id: string;
}

/** Which jobs are listed; what is absent excludes none. */
export interface JobFilter {
  readonly type?: JobType | undefined;
  readonly status?: JobStatus | undefined;
  readonly hash?: string | undefined;
}

const isAfter = '($1::timestamptz is null or (created_at, id) < ($1, $2::uuid))';
const newest = 'order by created_at desc, id desc limit $3';

// One form for each index, newest first; the planner takes no index for a condition such as "$1 is null or type = $1".
const sql = {
  all: `select ${jobColumns} from jobs where ${isAfter} ${newest}`,
  ofHash: `
    select ${jobColumns} from jobs
    where hash = $4 and ($5::text is null or type = $5) and ($6::text is null or status = $6) and ${isAfter} ${newest}`,
  ofStatus: `select ${jobColumns} from jobs where status = $4 and ${isAfter} ${newest}`,
  // One short scan of the index for each status.
  ofType: `
    select ${jobColumns} from unnest($5::text[]) as wanted (wanted_status) cross join lateral (
      select * from jobs where type = $4 and status = wanted_status and ${isAfter} ${newest}
    ) as jobs ${newest}`,
} as const;

/** Few connections and short statements: lists may be as heavy as callers like, and nothing else waits for them. */
const limits = { maxConnections: 2, statementTimeoutMs: 3_000, connectionTimeoutMs: 2_000 };

/** The pool that lists of jobs have for themselves. */
export function openListDatabase(url: string): Database {
  return openDatabase(url, limits);
}

/**
 * At most `limit` jobs, the newest first. Jobs that are made while a caller pages through are on no page.
 *
 * @param database of `openListDatabase`
 * @throws KnownProblem `busy` when so many lists are read that this one had no turn, or its statement took too long
 */
export async function listJobs(
  database: Pick<Database, 'pool'>,
  { type, status, hash }: JobFilter,
  { after, limit }: { readonly after: JobCursor | null; readonly limit: number },
): Promise<Job[]> {
  const page = [after?.createdAt ?? null, after?.id ?? null, limit];
  const [text, filter] =
    hash !== undefined
      ? [sql.ofHash, [hash, type ?? null, status ?? null]]
      : type !== undefined
        ? [sql.ofType, [type, status === undefined ? jobStatuses : [status]]]
        : status !== undefined
          ? [sql.ofStatus, [status]]
          : [sql.all, []];
  try {
    const { rows } = await database.pool.query<JobRow>(text, [...page, ...filter]);
    return rows.map(jobOfRow);
  } catch (error) {
    if (!isOverload(error)) throw error;
    throw new KnownProblem('busy', 'Too many lists are read at once; send the same request again.', { cause: error });
  }
}

/** SQLSTATE 57014 is a statement timeout; the other is the pool's message for a call that got no connection. */
function isOverload(error: unknown): boolean {
  const { code, message } = error as { readonly code?: string; readonly message: string };
  return code === '57014' || message === 'timeout exceeded when trying to connect';
}

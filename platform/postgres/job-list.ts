import { type JobResults, type JobType, jobTypeNames } from '#domain/job-types/index.ts';
import type { ShownJob } from '#domain/jobs/job.ts';
import { type JobStatus, jobStatuses } from '#domain/jobs/status.ts';
import type { Database } from './database.ts';
import { type JobRow, jobOfRow, shownColumns, shownWithoutResults } from './job-row.ts';
import { hashRange } from './hash-range.ts';
import { readList } from './list-database.ts';

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
  /** Only jobs whose hash begins with it. */
  readonly hashPrefix?: string | null;
}

/** A job as lists show it: with its results only where they are asked for. */
export interface ListedJob extends Omit<ShownJob, 'results'> {
  readonly results?: JobResults | null;
}

interface Page {
  readonly after: JobCursor | null;
  readonly limit: number;
  /** Whether each job has its results, which may be large. */
  readonly hasResults?: boolean;
}

const isAfter = '($1::timestamptz is null or (created_at, id) < ($1, $2::uuid))';
const newest = 'order by created_at desc, id desc limit $3';

/** Newest first, by the index of all jobs. */
const newestOfAll = `order by created_at at time zone 'UTC' desc, id desc limit $3`;
const isAfterOfAll = `
  ($1::timestamptz is null or (created_at at time zone 'UTC', id) < ($1::timestamptz at time zone 'UTC', $2::uuid))`;
/** One short scan of an index for each type and status that is wanted. */
const ofEach = (condition: string) => `
  select jobs.* from unnest($4::text[]) as wanted (wanted_type) cross join unnest($5::text[]) as also (wanted_status)
  cross join lateral (
    select * from jobs where ${condition} and type = wanted_type and status = wanted_status and ${isAfter} ${newest}
  ) as jobs ${newest}`;

const sql = {
  all: `select * from jobs where ${isAfterOfAll} ${newestOfAll}`,
  ofEach: ofEach('true'),
  ofHash: ofEach('hash = $6'),
  /** By the index of hashes for a small share of all jobs, and by age for a large one, as the planner estimates. */
  ofPrefix: `
    select * from jobs where type = any($4) and status = any($5) and hash collate "C" >= $6 and hash collate "C" < $7
      and ${isAfterOfAll} ${newestOfAll}`,
};

/**
 * At most `limit` jobs, the newest first. Jobs that are made while a caller pages are on no page.
 *
 * @param database of `openListDatabase`
 * @throws KnownProblem `busy` when too many lists are read, or the statement took too long
 */
export async function listJobs(
  database: Pick<Database, 'pool'>,
  { type, status, hash, hashPrefix = null }: JobFilter,
  { after, limit, hasResults = false }: Page,
): Promise<ListedJob[]> {
  const page = [after?.createdAt ?? null, after?.id ?? null, limit];
  const wanted = [type === undefined ? jobTypeNames : [type], status === undefined ? jobStatuses : [status]];
  const isFiltered = type !== undefined || status !== undefined;
  if (hash !== undefined && hashPrefix !== null && !hash.startsWith(hashPrefix)) return [];
  const [text, filter] =
    hash !== undefined
      ? [sql.ofHash, [...wanted, hash]]
      : hashPrefix !== null
        ? [sql.ofPrefix, [...wanted, ...hashRange(hashPrefix)]]
        : isFiltered
          ? [sql.ofEach, wanted]
          : [sql.all, []];
  const columns = hasResults ? shownColumns : shownWithoutResults;
  const list = `select ${columns} from (${text}) as page ${newest}`;
  return (await readList<JobRow>(database, list, [...page, ...filter])).map(jobOfRow);
}

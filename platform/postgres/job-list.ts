import type { JobErrorCode } from '#domain/errors.ts';
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
  /** The first characters of the hash. */
  readonly prefix?: string | undefined;
  /** The code of the error of jobs that failed or were cancelled. */
  readonly code?: JobErrorCode | undefined;
  readonly createdAfter?: Date | undefined;
  readonly createdBefore?: Date | undefined;
  /** Only jobs whose hash begins with it, as an API key has it. */
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

// $1 to $4 of each statement: the page begins after this time and id, has so many jobs, all younger than the last.
const isWithin = `
  ($1::timestamptz is null or (created_at, id) < ($1, $2::uuid)) and ($4::timestamptz is null or created_at > $4)`;
const newest = 'order by created_at desc, id desc limit $3';

/** Newest first, by the index of all jobs. */
const newestOfAll = `order by created_at at time zone 'UTC' desc, id desc limit $3`;
const isWithinAll = `
  ($1::timestamptz is null or (created_at at time zone 'UTC', id) < ($1::timestamptz at time zone 'UTC', $2::uuid))
  and ($4::timestamptz is null or created_at at time zone 'UTC' > $4::timestamptz at time zone 'UTC')`;
/** One short scan of an index for each type and status that is wanted. */
const ofEach = (condition: string) => `
  select jobs.* from unnest($5::text[]) as wanted (wanted_type) cross join unnest($6::text[]) as also (wanted_status)
  cross join lateral (
    select * from jobs where ${condition} and type = wanted_type and status = wanted_status and ${isWithin} ${newest}
  ) as jobs ${newest}`;
/** One short scan of the index of error codes for each type that is wanted. */
const ofCode = (condition: string) => `
  select jobs.* from unnest($5::text[]) as wanted (wanted_type) cross join lateral (
    select * from jobs where error is not null and error ->> 'code' = $7 and ${condition} and type = wanted_type
      and status = any($6) and ${isWithin} ${newest}
  ) as jobs ${newest}`;
const isInRange = (from: string, before: string) => `hash collate "C" >= ${from} and hash collate "C" < ${before}`;

const sql = {
  all: `select * from jobs where ${isWithinAll} ${newestOfAll}`,
  ofEach: ofEach('true'),
  ofHash: ofEach('hash = $7'),
  /** By the index of hashes for a small share of all jobs, and by age for a large one, as the planner estimates. */
  ofPrefix: `
    select * from jobs where type = any($5) and status = any($6) and ${isInRange('$7', '$8')}
      and ${isWithinAll} ${newestOfAll}`,
  ofCode: ofCode('true'),
  ofCodeAndHash: ofCode('hash = $8'),
  ofCodeAndPrefix: ofCode(isInRange('$8', '$9')),
};

/** Before the id of every job. */
const firstId = '00000000-0000-0000-0000-000000000000';

/**
 * At most `limit` jobs, the newest first. Jobs that are made while a caller pages are on no page.
 *
 * @param database of `openListDatabase`
 * @throws KnownProblem `busy` when too many lists are read, or the statement took too long
 */
export async function listJobs(
  database: Pick<Database, 'pool'>,
  filter: JobFilter,
  { after, limit, hasResults = false }: Page,
): Promise<ListedJob[]> {
  const chosen = statementOf(filter);
  if (chosen === null) return [];
  const { createdBefore: before, createdAfter = null } = filter;
  const isFirst = after === null || (before !== undefined && before < after.createdAt);
  const from = isFirst ? [before ?? null, before === undefined ? null : firstId] : [after.createdAt, after.id];
  const columns = hasResults ? shownColumns : shownWithoutResults;
  const list = `select ${columns} from (${chosen.text}) as page ${newest}`;
  return (await readList<JobRow>(database, list, [...from, limit, createdAfter, ...chosen.values])).map(jobOfRow);
}

interface Statement {
  readonly text: string;
  /** From $5 on. */
  readonly values: readonly unknown[];
}

/** Null for a filter that no job can match. */
function statementOf({ type, status, hash, code, prefix, hashPrefix = null }: JobFilter): Statement | null {
  const prefixes = [prefix ?? '', hashPrefix ?? ''].toSorted((one, other) => one.length - other.length);
  const [shorter = '', longer = ''] = prefixes;
  if (!longer.startsWith(shorter) || (hash !== undefined && !hash.startsWith(longer))) return null;
  const wanted = [type === undefined ? jobTypeNames : [type], status === undefined ? jobStatuses : [status]];
  const isFiltered = type !== undefined || status !== undefined;
  if (code !== undefined) {
    if (status !== undefined && status !== (code === 'cancelled' ? 'cancelled' : 'failed')) return null;
    const values = [...wanted, code];
    if (hash !== undefined) return { text: sql.ofCodeAndHash, values: [...values, hash] };
    if (longer !== '') return { text: sql.ofCodeAndPrefix, values: [...values, ...hashRange(longer)] };
    return { text: sql.ofCode, values };
  }
  if (hash !== undefined) return { text: sql.ofHash, values: [...wanted, hash] };
  if (longer !== '') return { text: sql.ofPrefix, values: [...wanted, ...hashRange(longer)] };
  return isFiltered ? { text: sql.ofEach, values: wanted } : { text: sql.all, values: [] };
}

import { type JobErrorCode, jobErrorCodes } from '#domain/errors.ts';
import { jobTypeNames, jobTypes } from '#domain/job-types/index.ts';
import { type JobStatus, jobStatuses } from '#domain/jobs/status.ts';
import type { Database } from './database.ts';
import { readList } from './list-database.ts';

/** The work of the last day, and what the service has. Counts stop at their maximum. */
export interface Overview {
  /** Jobs that were submitted in the last day, by their status now. */
  readonly jobs: Readonly<Record<JobStatus, number>>;
  /** Failed jobs among them by the code of their error, the most first; codes without one are left out. */
  readonly failures: readonly { readonly code: JobErrorCode; readonly jobs: number }[];
  /** Seconds of the streams that jobs among them made. */
  readonly madeSec: number;
  readonly media: number;
  /** The bytes of the largest of these media. */
  readonly mediaBytes: number;
}

/** Where counting stops: jobs of one status or code, streams whose length is added up, and media. */
export const countedMax = { jobs: 10_000, streams: 500, media: 100_000 } as const;

const since = `now() - interval '1 day'`;
/** Rows of `values`, each with the number of its recent jobs, by one scan of an index for each type. */
const counted = (condition: string) => `
  select wanted as name, count(*)::int as jobs from unnest($1::text[]) as wanted cross join lateral (
    select from unnest($2::text[]) as wanted_type cross join lateral (
      select from jobs where ${condition} and type = wanted_type and created_at > ${since} limit $3
    ) as of_type limit $3
  ) as of_all group by wanted order by count(*) desc, wanted`;
const byStatus = counted('status = wanted');
const byCode = counted(`error is not null and error ->> 'code' = wanted`);
// The results of a job may be large: few are read, and of each the length alone.
const made = `
  select coalesce(sum((results #>> '{source,duration_sec}')::float8), 0) as seconds
  from unnest($1::text[]) as wanted_type cross join lateral (
    select results from jobs
    where type = wanted_type and status = 'completed' and created_at > ${since} and stream_rev is not null
    order by created_at desc limit $2
  ) as of_type`;
const media = `
  select count(*)::int as media, coalesce(sum(bytes), 0)::float8 as bytes
  from (select bytes from media order by bytes desc limit $1) as largest`;

const streamTypes = jobTypeNames.filter((type) => jobTypes[type].makesStream);

/**
 * The overview: every number by an index, and bounded however many rows there are.
 *
 * @param database of `openListDatabase`
 * @throws KnownProblem `busy` when too many lists are read
 */
export async function readOverview(database: Pick<Database, 'pool'>): Promise<Overview> {
  const count = <Name extends string>(text: string, names: readonly Name[]) =>
    readList<{ name: Name; jobs: number }>(database, text, [names, jobTypeNames, countedMax.jobs]);
  const statuses = await count(byStatus, jobStatuses);
  const codes = await count(
    byCode,
    jobErrorCodes.filter((code) => code !== 'cancelled'),
  );
  const [streams] = await readList<{ seconds: number }>(database, made, [streamTypes, countedMax.streams]);
  const [stored] = await readList<{ media: number; bytes: number }>(database, media, [countedMax.media]);
  const jobsOf = (status: JobStatus) => statuses.find(({ name }) => name === status)?.jobs ?? 0;
  return {
    jobs: Object.fromEntries(jobStatuses.map((status) => [status, jobsOf(status)])) as Record<JobStatus, number>,
    failures: codes.map(({ name, jobs }) => ({ code: name, jobs })),
    madeSec: streams?.seconds ?? 0,
    media: stored?.media ?? 0,
    mediaBytes: stored?.bytes ?? 0,
  };
}

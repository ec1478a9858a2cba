import { type JobType, jobTypeNames, jobTypes } from '#domain/job-types/index.ts';
import { wholeMonths } from '#domain/usage/whole-months.ts';
import type { Database } from './database.ts';
import { readList } from './list-database.ts';

/** The dimensions by which usage is told apart. */
export const usageDimensions = ['day', 'key', 'type', 'profile', 'codec'] as const;
export type UsageDimension = (typeof usageDimensions)[number];

/** Times of attempts in milliseconds: processor time of each step, and of pods, with the part that was for nothing. */
export interface UsedTimes {
  readonly fetchMs: number;
  readonly processMs: number;
  readonly publishMs: number;
  readonly podMs: number;
  readonly wastedMs: number;
}

/** The sums of work; times in milliseconds. */
interface UsageSums extends UsedTimes {
  /** Jobs that ended, however. */
  readonly jobs: number;
  readonly sourceBytes: number;
  readonly sourceMs: number;
  readonly outputBytes: number;
  readonly outputMs: number;
  readonly storedBytes: number;
  /** Of streams, sent by delivery. */
  readonly deliveredBytes: number;
}

/** Usage, with the dimensions that were asked for. */
export interface UsageRow extends UsageSums {
  /** UTC, `2026-11-27`. */
  readonly day?: string;
  /** Null: no API key asked for it. */
  readonly keyId?: string | null;
  /** Null: it is no named key, or was revoked. */
  readonly keyName?: string | null;
  readonly type?: JobType;
  /** Null: it made no stream. */
  readonly profile?: string | null;
  /** The codecs of a profile with several are joined by `+`. Null: it made no stream. */
  readonly codec?: string | null;
}

interface UsageQuestion {
  /** The first day and the last one. */
  readonly from: string;
  readonly to: string;
  readonly by: readonly UsageDimension[];
  /** The only API key whose usage is read; null: all. */
  readonly keyId: string | null;
  readonly limit: number;
}

// A job whose row names no profile made its stream by the built-in `default`.
const ofStreams = jobTypeNames.filter((type) => jobTypes[type].makesStream).map((type) => `'${type}'`);
const makesStream = `type in (${ofStreams.join()})`;
const unnamed = (column: string, built: string) =>
  `coalesce(nullif(${column}, ''), case when ${makesStream} then '${built}' end)`;
const columnsOf: Readonly<Record<UsageDimension, string>> = {
  day: 'day::text',
  key: `nullif(key_id, '') as "keyId", named.name as "keyName"`,
  type: 'type',
  profile: `${unnamed('profile', 'default')} as profile`,
  codec: `${unnamed('codec', 'h264')} as codec`,
};
const groupOf: Readonly<Record<UsageDimension, string>> = {
  day: 'day',
  key: 'key_id, named.name',
  type: 'type',
  profile: unnamed('profile', 'default'),
  codec: unnamed('codec', 'h264'),
};
// Exact up to 2^53, and less work than a sum of bigint, which is a numeric.
const sum = (column: string, name: string) => `sum(${column}::float8) as "${name}"`;
const sums = [
  sum('jobs', 'jobs'),
  sum('source_bytes', 'sourceBytes'),
  sum('source_ms', 'sourceMs'),
  sum('output_bytes', 'outputBytes'),
  sum('output_ms', 'outputMs'),
  sum('fetch_ms', 'fetchMs'),
  sum('process_ms', 'processMs'),
  sum('publish_ms', 'publishMs'),
  sum('pod_ms', 'podMs'),
  sum('wasted_ms', 'wastedMs'),
  sum('stored_bytes', 'storedBytes'),
  sum('delivered_bytes', 'deliveredBytes'),
].join(', ');

const ofToday = `
  select type, ${sums} from usage_summed
  where span = 'day' and day = (now() at time zone 'UTC')::date group by type`;

/** The usage of this day so far, by type. */
export async function usageOfToday({ pool }: Pick<Database, 'pool'>): Promise<UsageRow[]> {
  return (await pool.query<UsageRow>(ofToday)).rows;
}

/**
 * The usage of days, by the dimensions that are asked for and in their order; at most `limit` rows.
 *
 * @param database of `openListDatabase`
 * @throws KnownProblem `busy` when too many lists are read
 */
export function usageOf(
  database: Pick<Database, 'pool'>,
  { from, to, by, keyId, limit }: UsageQuestion,
): Promise<UsageRow[]> {
  const columns = [...by.map((dimension) => columnsOf[dimension]), sums].join(', ');
  const groups = by.map((dimension) => groupOf[dimension]).join(', ');
  const { rows, values } = leastRows({ from, to, by, keyId });
  const names = by.includes('key') ? 'left join (select id, name from api_keys) as named on named.id = key_id' : '';
  const text = `select ${columns} from (${rows}) as given ${names} group by ${groups} order by ${groups} limit $1`;
  return readList<UsageRow>(database, text, [limit, ...values]);
}

const ofKey = '($4::text is null or key_id = $4)';
// The months that are whole, and the days before and after them.
const months = `
  select * from usage_summed where span = 'month' and day >= $5 and day < $6 and ${ofKey}
  union all
  select 'day', * from usage_daily where day >= $2 and day < least($5, $3::date + 1) and ${ofKey}
  union all
  select 'day', * from usage_daily where day >= greatest($5, $6::date) and day <= $3 and ${ofKey}`;

/** The fewest rows that tell apart what is asked for (docs/decisions/0403), as SQL with parameters from `$2`. */
function leastRows({ from, to, by, keyId }: Omit<UsageQuestion, 'limit'>) {
  if (keyId === null && !by.includes('key'))
    return { rows: `select * from usage_summed where span = 'day' and day between $2 and $3`, values: [from, to] };
  if (by.includes('day'))
    return { rows: `select * from usage_daily where day between $2 and $3 and ${ofKey}`, values: [from, to, keyId] };
  const { first, end } = wholeMonths({ from, to });
  return { rows: months, values: [from, to, keyId, first, end] };
}

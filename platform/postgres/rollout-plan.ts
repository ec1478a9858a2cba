import { DatabaseError, type PoolClient, type QueryResultRow } from 'pg';
import { chooseMedia, type FoundMedia, isOfCanary } from '#domain/rollouts/choose.ts';
import type { PlanPage } from '#domain/rollouts/plan.ts';
import { isBeginning } from '#domain/rollouts/rollout.ts';
import type { Database } from './database.ts';
import { toJson } from './job-row.ts';
import { readList } from './list-database.ts';
import { inRollout, type LockedRollout } from './rollout-row.ts';

/** After every hash, which is ASCII. */
const afterEveryHash = '\u{10ffff}';
const media = `
  select hash, legal_hold from media
  where hash collate "C" > $1 and hash collate "C" >= $2 and hash collate "C" < $3
  order by hash collate "C" limit $4`;
const page = `
  select media.hash, legal_hold as "legalHold", exists (
      select from media_deletions where media_deletions.hash = media.hash and lifted_at is null
    ) as "isDeleted",
    case when stream.id is not null then json_build_object('jobId', stream.id, 'rev', stream_rev,
      'profile', stream.profile, 'madeAt', stream.made_at, 'isByTarget', stream.is_by_target,
      'toolVersion', stream.tool_version, 'bytes', stream.result_bytes, 'sourceMs', stream.source_ms,
      'processorMs', stream.processor_ms) end as stream
  from (${media}) as media left join lateral (
    select id, stream_rev, coalesce(profile ->> 'name', 'default') as profile, finished_at as made_at, tool_version,
      result_bytes, source_ms, used_fetch_ms + used_process_ms + used_publish_ms as processor_ms,
      coalesce(profile::text, '') = $5 as is_by_target
    from jobs
    where jobs.hash = media.hash and stream_rev is not null and replaced_at is null and not results_expired limit 1
  ) as stream on true
  order by media.hash collate "C"`;
const insert = `
  insert into rollout_items (rollout_id, hash, is_canary, status, earlier_job_id, earlier_rev)
  select $1, hash, is_canary, 'planned', job_id, rev
  from unnest($2::text[], $3::boolean[], $4::uuid[], $5::text[]) as chosen (hash, is_canary, job_id, rev)
  on conflict do nothing returning is_canary`;
const count = 'update rollout_counts set planned = planned + $3 where rollout_id = $1 and is_canary = $2';
const isEmpty = 'select not exists (select from rollout_items where rollout_id = $1) as is_so';
const advance = `
  update rollouts set planned_after = $2, is_planned = $3, skipped = $4, updated_at = now() where id = $1`;

interface Page extends PlanPage {
  /** Where the next page begins; null: this is the last. */
  readonly next: string | null;
}

/** The choice of media, and the hash after which the page begins. */
type Choice = Pick<LockedRollout, 'spec' | 'profile' | 'plannedAfter'>;
/** The rows of a statement. */
type Read = <Row extends QueryResultRow>(text: string, parameters: unknown[]) => Promise<Row[]>;
type ReadPage = (read: Read, choice: Choice) => Promise<Page>;

type MediaRow = Omit<FoundMedia, 'stream'> & {
  readonly stream: (Omit<NonNullable<FoundMedia['stream']>, 'madeAt'> & { readonly madeAt: string }) | null;
};

/**
 * Chooses items among the next `limit` media, in the order of their hashes: one pass, a page a transaction.
 *
 * @returns whether there are more pages
 */
export function planPage(database: Database, rolloutId: string, limit: number): Promise<boolean> {
  return shrinking(limit, (readPage) => planBy(database, rolloutId, readPage));
}

/**
 * Reads the next `limit` media as a rollout would choose among them, and writes nothing.
 *
 * @param database of `openListDatabase`
 * @throws KnownProblem `busy` when too many lists are read
 */
export function readPlanPage(database: Pick<Database, 'pool'>, choice: Choice, limit: number): Promise<Page> {
  const read: Read = (text, parameters) => readList(database, text, parameters);
  return shrinking(limit, (readPage) => readPage(read, choice));
}

/**
 * Does `work` with a page of `limit` media. A row that cannot be read fails its statement, not the plan: smaller pages
 * find it, and it is counted as skipped.
 */
async function shrinking<T>(limit: number, work: (readPage: ReadPage) => Promise<T>): Promise<T> {
  try {
    return await work((read, choice) => readMedia(read, choice, limit));
  } catch (error) {
    if (!(error instanceof DatabaseError) || error.code?.startsWith('22') !== true) throw error;
    return limit > 1 ? shrinking(Math.floor(limit / 8) || 1, work) : work(skipOne);
  }
}

async function planBy(database: Database, rolloutId: string, readPage: ReadPage): Promise<boolean> {
  const hasMore = await inRollout(database, rolloutId, async (client, rollout) => {
    if (!isBeginning(rollout) || rollout.isPlanned) return false;
    const read: Read = async (text, parameters) => (await client.query(text, parameters)).rows;
    const { media: found, next, skipped } = await readPage(read, rollout);
    const counts: Record<string, number> = { ...rollout.skipped };
    for (const reason of skipped) counts[reason] = (counts[reason] ?? 0) + 1;
    await insertItems(client, rollout, found);
    await client.query(advance, [rolloutId, next ?? rollout.plannedAfter, next === null, toJson(counts)]);
    return next !== null;
  });
  return hasMore === true;
}

const boundsOf = ({ spec, plannedAfter }: Choice) => {
  const prefix = spec.which.hash_prefix ?? '';
  return [plannedAfter, prefix, `${prefix}${afterEveryHash}`];
};

async function readMedia(read: Read, choice: Choice, limit: number): Promise<Page> {
  const rows = await read<MediaRow>(page, [...boundsOf(choice), limit, toJson(choice.profile) ?? '']);
  const chosen = rows.map((row) => {
    const stream = row.stream === null ? null : { ...row.stream, madeAt: new Date(row.stream.madeAt) };
    const found = { ...row, stream };
    return { found, as: chooseMedia(found, choice.spec) };
  });
  return {
    media: chosen.flatMap(({ found, as }) => (as === 'item' ? [found] : [])),
    skipped: chosen.flatMap(({ as }) => (as === null || as === 'item' ? [] : [as])),
    lookedAt: rows.length,
    next: rows.length < limit ? null : (rows.at(-1)?.hash ?? null),
  };
}

/** Passes the next media over. */
async function skipOne(read: Read, choice: Choice): Promise<Page> {
  const [first] = await read<{ hash: string }>(media, [...boundsOf(choice), 1]);
  const isThere = first !== undefined;
  return { media: [], next: first?.hash ?? null, skipped: isThere ? ['unreadable'] : [], lookedAt: isThere ? 1 : 0 };
}

async function insertItems(
  client: PoolClient,
  { id, spec }: LockedRollout,
  items: readonly FoundMedia[],
): Promise<void> {
  if (items.length === 0) return;
  const { rows: first } = await client.query<{ is_so: boolean }>(isEmpty, [id]);
  const share = spec.canary?.share ?? 0;
  // The first one is of the canary in any case, or a small library might have none.
  const isCanary = items.map(
    ({ hash }, index) => share > 0 && ((index === 0 && first[0]?.is_so === true) || isOfCanary(id, hash, share)),
  );
  const { rows } = await client.query<{ is_canary: boolean }>(insert, [
    id,
    items.map(({ hash }) => hash),
    isCanary,
    items.map(({ stream }) => stream?.jobId),
    items.map(({ stream }) => stream?.rev),
  ]);
  for (const group of [true, false]) {
    const added = rows.filter((row) => row.is_canary === group).length;
    if (added > 0) await client.query(count, [id, group, added]);
  }
}

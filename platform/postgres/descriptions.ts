import type { PoolClient } from 'pg';
import { liveStatuses } from '#domain/jobs/status.ts';
import { type Description, type DescriptionChange, searchWords } from '#domain/media/description.ts';
import type { Database } from './database.ts';
import { toJson } from './job-row.ts';

// What was said last of the title of a media holds, and of its metadata: by the number of the intent that said it
// (docs/decisions/0182), so that of a submission and a change at once the later one holds, whichever is written first.
const merge = `
  on conflict (hash) do update set
    title = case when excluded.title_intent > old.title_intent then excluded.title else old.title end,
    words = case when excluded.title_intent > old.title_intent then excluded.words else old.words end,
    metadata = case when excluded.metadata_intent > old.metadata_intent then excluded.metadata else old.metadata end,
    title_intent = greatest(excluded.title_intent, old.title_intent),
    metadata_intent = greatest(excluded.metadata_intent, old.metadata_intent),
    said_at = case when excluded.title_intent > old.title_intent then excluded.said_at else old.said_at end,
    metadata_said_at = case when excluded.metadata_intent > old.metadata_intent then excluded.metadata_said_at
      else coalesce(old.metadata_said_at, old.said_at) end`;
/** The intents and the times of a title, if there is one, and of metadata. */
const saidAt = (time: string) => `
  case when $2 then number else 0 end, case when $4 then number else 0 end,
  case when $2 then ${time} else '-infinity' end, case when $4 then ${time} else '-infinity' end`;
const columns = 'hash, title, words, metadata, title_intent, metadata_intent, said_at, metadata_said_at';
// A deletion of the media changes the rows of its jobs first, so it waits for this row or this sees its end. A job that
// an equal submission got is older than what that one says, so a new number is taken. What is said by default counts less
// than whatever anyone says, and more than nothing.
const sayByJob = `
  insert into descriptions as old (${columns})
  select hash, $3, $5::text::tsvector, $6, ${saidAt('created_at')}
  from (
    select hash, created_at, case when $9 then 1
      when $7 and rerun_of_job_id is null then intent_of(intent, created_at) else nextval('intents') end as number
    from jobs where id = $1 and status = any($8) and not results_expired for share
  ) as job ${merge}`;
const say = `
  insert into descriptions as old (${columns})
  select $1, $3, $5::text::tsvector, $6, ${saidAt('clock_timestamp()')}
  from (select nextval('intents') as number) as intent ${merge}`;
const find = 'select title, metadata from descriptions where hash = $1';
// What a job says that was accepted after the deletion is of the next media.
const isOld = { title: 'said_at <= requested_at', metadata: 'coalesce(metadata_said_at, said_at) <= requested_at' };
const ofDeletion = 'media_deletions.id = $2 and descriptions.hash = $1';
const forget = `
  delete from descriptions using media_deletions where ${ofDeletion} and ${isOld.title} and ${isOld.metadata}`;
const forgetOld = `
  update descriptions set title = case when ${isOld.title} then null else title end,
    words = case when ${isOld.title} then null else words end,
    title_intent = case when ${isOld.title} then 0 else title_intent end,
    metadata = case when ${isOld.metadata} then null else metadata end,
    metadata_intent = case when ${isOld.metadata} then 0 else metadata_intent end
  from media_deletions where ${ofDeletion} and (${isOld.title} or ${isOld.metadata})`;

/** The description that a submission gives the media of a job, which it made or which is equal to it. */
export interface SaidByJob {
  readonly jobId: string;
  readonly isNew: boolean;
  readonly change: DescriptionChange;
  /** Whether it holds only where nobody has said anything. */
  readonly isDefault?: boolean;
}

/** See `JobStore.describeMedia`. */
export async function describeByJob(
  { pool }: Pick<Database, 'pool'>,
  { jobId, isNew, change, isDefault = false }: SaidByJob,
): Promise<void> {
  await pool.query(sayByJob, [jobId, ...valuesOf(change), isNew, liveStatuses, isDefault]);
}

/** Describes a media, in the transaction of `client` under the lock of the hash. */
export async function describeMedia(client: PoolClient, hash: string, change: DescriptionChange): Promise<void> {
  await client.query(say, [hash, ...valuesOf(change)]);
}

/** The description of a media. */
export async function descriptionOf({ pool }: Pick<Database, 'pool'>, hash: string): Promise<Description> {
  const { rows } = await pool.query<Description>(find, [hash]);
  return rows[0] ?? { title: null, metadata: null };
}

/** Forgets what was said before a deletion, in the transaction of its request or its end. */
export async function forgetDescription(client: PoolClient, hash: string, deletionId: string): Promise<void> {
  for (const text of [forget, forgetOld]) await client.query(text, [hash, deletionId]);
}

/** Whether there is a title, it, whether there is metadata, the words of the title, and the metadata. */
function valuesOf({ title, metadata }: DescriptionChange): readonly unknown[] {
  const words =
    title === undefined || title === null
      ? null
      : searchWords(title)
          .map((word) => `'${word}'`)
          .join(' ');
  const strings = metadata === undefined || metadata === null || Object.keys(metadata).length === 0 ? null : metadata;
  return [title !== undefined, title ?? null, metadata !== undefined, words, toJson(strings)];
}

import type { PoolClient } from 'pg';
import type { JobError } from '#domain/job-error.ts';
import { jobTypeNames, jobTypeRow, type JobResults } from '#domain/job-types/index.ts';
import type { JobStatus } from '#domain/jobs/status.ts';
import { isBeginning, type ItemStatus } from '#domain/rollouts/rollout.ts';
import type { StreamScore } from '#domain/rollouts/score.ts';
import type { Database } from './database.ts';
import { planPage } from './rollout-plan.ts';
import { inRollout, pauseAfter, slotsOf } from './rollout-row.ts';

/** An item whose rerun was named. */
export interface BegunItem {
  readonly hash: string;
  readonly earlierJobId: string;
  readonly earlierRev: string;
  readonly jobId: string;
}

/** An item whose rerun has ended; the job is null when its row is deleted. */
export interface EndedItem extends BegunItem {
  /** Whether its job was cancelled to give way to a submission. */
  readonly gaveWay: boolean;
  readonly job: {
    readonly status: JobStatus;
    readonly error: JobError | null;
    readonly results: JobResults | null;
    readonly bytes: number | null;
    /** Whether its stream is the one that is played. */
    readonly isPlayed: boolean;
    /** From its first claim to its end. */
    readonly seconds: number;
  } | null;
}

/** How an item goes on. */
export interface ItemMove {
  readonly from: ItemStatus;
  readonly to: ItemStatus;
  readonly reason?: string;
  /** The bytes of the new stream. */
  readonly bytes?: number | null;
  readonly score?: StreamScore | null;
  /** The time that its job took. */
  readonly seconds?: number;
}

/** The state of a media when its rerun is about to be made, or undone. */
export interface MediaNow {
  readonly legalHold: boolean;
  readonly isDeleted: boolean;
  /** The job of the stream that is played; null without one. */
  readonly streamJobId: string | null;
  readonly streamRev: string | null;
  /** Whether a job that makes a stream was submitted and has not ended; a rerun was not. */
  readonly isSubmitted: boolean;
}

const streamTypes = jobTypeNames.filter((type) => jobTypeRow(type).makesStream);

const itemColumns = `
  rollout_items.hash, earlier_job_id as "earlierJobId", earlier_rev as "earlierRev", job_id as "jobId"`;
const runningOf = 'select sum(running)::int as running from rollout_counts where rollout_id = $1';
// Of more items in taken slots, nothing begins for now.
const lookedAtMax = 100;
const next = (isCanary: boolean) => `
  (select rollout_id, hash from (
     select rollout_id, hash, earlier_job_id, due_at from rollout_items
     where rollout_id = $1 and status = 'planned' and is_canary = ${isCanary} and due_at <= now()
     order by due_at limit ${lookedAtMax}
   ) as first
   where not exists (select from jobs where jobs.id = earlier_job_id and ${slotsOf} = any($3::text[]))
   order by due_at limit 1)`;
const begin = (candidates: string) => `
  update rollout_items set status = 'running', job_id = $2, is_submitted = false, reason = null, due_at = now()
  from (${candidates}) as next
  where rollout_items.rollout_id = next.rollout_id and rollout_items.hash = next.hash
  returning ${itemColumns}, is_canary`;
const beginCanary = begin(next(true));
const beginAny = begin(`${next(true)} union all ${next(false)} limit 1`);
const countBegun = `
  update rollout_counts set planned = planned - 1, running = running + 1 where rollout_id = $1 and is_canary = $2`;
// Statuses come first in the index, each with both groups.
const ofStatus = (status: ItemStatus) => `
  rollout_items.rollout_id = $1 and rollout_items.status = '${status}' and is_canary in (true, false)`;
const unsubmitted = `
  select ${itemColumns} from rollout_items where ${ofStatus('running')} and not is_submitted and due_at <= now()
  limit $2`;
const submitted = `
  update rollout_items set is_submitted = true, bytes_before = $4, measure = $5, score_before = $6
  where rollout_id = $1 and hash = $2 and job_id = $3 and status = 'running'`;
const delay = `
  update rollout_items set due_at = now() + $3 * interval '1 millisecond' where rollout_id = $1 and hash = $2`;
// Each item's job by its id: a plain join may read all jobs instead, as the planner guesses.
const jobOfItem = (condition: string) => `
  lateral (select * from jobs where jobs.id = job_id limit 1) as jobs on ${condition}`;
const ended = `
  select ${itemColumns}, coalesce(rollout_items.reason = 'gave_way', false) as "gaveWay",
    case when jobs.id is not null then jsonb_build_object('status', jobs.status,
      'bytes', result_bytes,
      'isPlayed', stream_rev is not null and replaced_at is null,
      'seconds', coalesce(extract(epoch from finished_at - started_at), 0)) end as job,
    jobs.results, jobs.error
  from rollout_items left join ${jobOfItem('true')}
  where ${ofStatus('running')} and is_submitted
    and (jobs.id is null or jobs.finished_at is not null)
  limit $2`;
const moveItem = `
  update rollout_items set status = $4, reason = $5, bytes_after = coalesce($6, bytes_after),
    score_after = coalesce($7, score_after), measure = coalesce($8, measure),
    score_before = case when $8 <> measure then null else score_before end,
    due_at = now() + case when $5 = 'gave_way' then ${pauseAfter('gave_way')} else interval '0' end
  where rollout_id = $1 and hash = $2 and status = $3
  returning is_canary, bytes_before::float8, bytes_after::float8, score_before, score_after`;
const countMoved = (from: ItemStatus, to: ItemStatus) => `
  update rollout_counts set ${from} = ${from} - 1, ${to} = ${to} + 1 where rollout_id = $1 and is_canary = $2`;
const countMade = `
  update rollout_counts set bytes_before = bytes_before + $3, bytes_after = bytes_after + $4,
    scored = scored + $5, score_sum = score_sum + $6, compared = compared + $7,
    compared_before_sum = compared_before_sum + $8, compared_after_sum = compared_after_sum + $9
  where rollout_id = $1 and is_canary = $2`;
const spend = `
  update rollouts set spent_day = (now() at time zone 'utc')::date,
    spent_core_s = $2 + case when spent_day = (now() at time zone 'utc')::date then spent_core_s else 0 end
  where id = $1`;
const elapsed = `
  select coalesce(sum(extract(epoch from now() - started_at)), 0)::float8 as seconds
  from rollout_items join ${jobOfItem('jobs.finished_at is null')}
  where ${ofStatus('running')}`;
const mediaNow = `
  select coalesce((select legal_hold from media where hash = $1), false) as "legalHold",
    exists (select from media_deletions where hash = $1 and lifted_at is null) as "isDeleted",
    stream.id as "streamJobId", stream_rev as "streamRev", exists (
      select from jobs where hash = $1 and swept_at is null and finished_at is null and rerun_of_job_id is null
        and type = any($2)
    ) as "isSubmitted"
  from (select) as one left join jobs as stream
    on stream.hash = $1 and stream.stream_rev is not null and stream.replaced_at is null
  limit 1`;
const sizeOf = 'select result_bytes::float8 as bytes, results from jobs where id = $1';
const done = `
  select ${itemColumns} from rollout_items where ${ofStatus('done')} and due_at <= now() limit $2`;
const failedOnes = `
  select hash, job_id as "jobId", reason from rollout_items where ${ofStatus('failed')}
  order by due_at desc limit $2`;
const running = `select ${itemColumns} from rollout_items where ${ofStatus('running')} and is_submitted limit $2`;
/** The items of rollouts. Each change of one is counted in the same transaction, under the lock of its rollout. */
export class RolloutItemStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** See `planPage`. */
  planPage(rolloutId: string, limit: number): Promise<boolean> {
    return planPage(this.#database, rolloutId, limit);
  }

  /**
   * Names the rerun of the next item, the canary first: `jobId`, by which alone it is made. Null when the
   * rollout begins nothing now, has `budget.jobs` running, or nothing planned outside of `takenSlots`: pools, or queues
   * without one, that submissions wait for.
   */
  begin(rolloutId: string, jobId: string, takenSlots: readonly string[] = []): Promise<BegunItem | null> {
    return inRollout(this.#database, rolloutId, async (client, { status, isPaused, spec }) => {
      if (isPaused || !isBeginning({ status })) return null;
      const { rows: counted } = await client.query<{ running: number }>(runningOf, [rolloutId]);
      if ((counted[0]?.running ?? 0) >= spec.budget.jobs) return null;
      const statement = status === 'canary' ? beginCanary : beginAny;
      const { rows } = await client.query<BegunItem & { is_canary: boolean }>(statement, [
        rolloutId,
        jobId,
        takenSlots,
      ]);
      if (rows[0] === undefined) return null;
      const { is_canary: isCanary, ...item } = rows[0];
      await client.query(countBegun, [rolloutId, isCanary]);
      return item;
    });
  }

  /** Items whose rerun is named and may not be there. */
  unsubmitted(rolloutId: string, limit: number): Promise<BegunItem[]> {
    return this.#items(unsubmitted, rolloutId, limit);
  }

  /** Notes that the rerun is there, and what the earlier stream came to. False for an item that is not running. */
  async noteSubmitted(
    rolloutId: string,
    { hash, jobId }: BegunItem,
    before: { readonly bytes: number | null; readonly score: StreamScore | null },
  ): Promise<boolean> {
    const { bytes, score } = before;
    const parameters = [rolloutId, hash, jobId, bytes, score?.measure ?? null, score?.score ?? null];
    return (await this.#database.pool.query(submitted, parameters)).rowCount === 1;
  }

  /** Leaves an item for `delayMs`. */
  async delay(rolloutId: string, hash: string, delayMs: number): Promise<void> {
    await this.#database.pool.query(delay, [rolloutId, hash, delayMs]);
  }

  /** Running items whose job has ended. */
  async ended(rolloutId: string, limit: number): Promise<EndedItem[]> {
    const { rows } = await this.#database.pool.query<
      EndedItem & { results: JobResults | null; error: JobError | null }
    >(ended, [rolloutId, limit]);
    return rows.map(({ results, error, job, ...item }) => ({
      ...item,
      job: job === null ? null : { ...job, results, error },
    }));
  }

  /** Moves an item on and counts it; changes nothing when its status is another one. */
  async move(rolloutId: string, hash: string, move: ItemMove): Promise<void> {
    const { from, to, reason = null, bytes = null, score = null, seconds = 0 } = move;
    await inRollout(this.#database, rolloutId, async (client) => {
      const parameters = [rolloutId, hash, from, to, reason, bytes, score?.score ?? null, score?.measure ?? null];
      const { rows } = await client.query<MovedRow>(moveItem, parameters);
      const [moved] = rows;
      if (moved === undefined) return;
      await client.query(countMoved(from, to), [rolloutId, moved.is_canary]);
      if (to === 'done') await countStream(client, rolloutId, moved);
      if (seconds > 0) await client.query(spend, [rolloutId, seconds]);
    });
  }

  /** How long the running jobs of a rollout have run together, in seconds. */
  async runningSeconds(rolloutId: string): Promise<number> {
    const { rows } = await this.#database.pool.query<{ seconds: number }>(elapsed, [rolloutId]);
    return rows[0]?.seconds ?? 0;
  }

  /** Reads the present state of a media. */
  async mediaNow(hash: string): Promise<MediaNow> {
    const { rows } = await this.#database.pool.query<MediaNow>(mediaNow, [hash, streamTypes]);
    return rows[0] as MediaNow;
  }

  /** Reads the output of a job: its bytes where they are known, and its results. */
  async made(jobId: string): Promise<{ readonly bytes: number | null; readonly results: JobResults | null } | null> {
    const { rows } = await this.#database.pool.query<{ bytes: number | null; results: JobResults | null }>(sizeOf, [
      jobId,
    ]);
    return rows[0] ?? null;
  }

  /** Items that were made and not rolled back. */
  done(rolloutId: string, limit: number): Promise<BegunItem[]> {
    return this.#items(done, rolloutId, limit);
  }

  /** Items whose job is there and may run. */
  running(rolloutId: string, limit: number): Promise<BegunItem[]> {
    return this.#items(running, rolloutId, limit);
  }

  /** The last items that failed. */
  async failures(
    rolloutId: string,
    limit: number,
  ): Promise<{ readonly hash: string; readonly jobId: string | null; readonly reason: string | null }[]> {
    const { rows } = await this.#database.pool.query<{ hash: string; jobId: string | null; reason: string | null }>(
      failedOnes,
      [rolloutId, limit],
    );
    return rows;
  }

  async #items(statement: string, rolloutId: string, limit: number): Promise<BegunItem[]> {
    const { rows } = await this.#database.pool.query<BegunItem>(statement, [rolloutId, limit]);
    return rows;
  }
}

interface MovedRow {
  readonly is_canary: boolean;
  readonly bytes_before: number | null;
  readonly bytes_after: number | null;
  readonly score_before: number | null;
  readonly score_after: number | null;
}

/** Adds what a new stream came to. */
async function countStream(client: PoolClient, rolloutId: string, moved: MovedRow): Promise<void> {
  const { bytes_before: before, bytes_after: after, score_before: earlier, score_after: score } = moved;
  const hasSizes = before !== null && after !== null;
  const isCompared = earlier !== null && score !== null;
  await client.query(countMade, [
    rolloutId,
    moved.is_canary,
    hasSizes ? before : 0,
    hasSizes ? after : 0,
    score === null ? 0 : 1,
    score ?? 0,
    isCompared ? 1 : 0,
    isCompared ? earlier : 0,
    isCompared ? score : 0,
  ]);
}

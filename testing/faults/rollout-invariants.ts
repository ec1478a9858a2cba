import { revisionOfMaster } from '#domain/media/master-playlist.ts';
import { masterKey } from '#domain/media/object-keys.ts';
import { itemStatuses, rerunReasonOf } from '#domain/rollouts/rollout.ts';
import type { Database } from '#platform/postgres/database.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { textAt } from './object-invariants.ts';

// What holds of rollouts (docs/reference/invariants.md).

interface RolledBack {
  readonly hash: string;
  readonly earlier_rev: string;
  /** Whether no job was submitted after the rerun and has a stream. */
  readonly is_newest: boolean;
}

const rolledBack = `
  select items.hash, earlier_rev, not exists (
      select from jobs where jobs.hash = items.hash and stream_rev is not null and jobs.created_at > rerun.created_at
    ) as is_newest
  from rollout_items as items join jobs as rerun on rerun.id = items.job_id where items.status = 'rolled_back'`;

/** The hashes whose earlier stream a rollout published again. */
export async function rolledBackHashes({ pool }: Database): Promise<ReadonlySet<string>> {
  return new Set((await pool.query<RolledBack>(rolledBack)).rows.map(({ hash }) => hash));
}

/** Everything that holds of the rollouts so far. */
export async function rolloutsOf(database: Database, media: ObjectStore): Promise<string[]> {
  const { rows } = await database.pool.query<{ id: string; jobs: number }>(
    `select id, (spec -> 'budget' ->> 'jobs')::int as jobs from rollouts`,
  );
  const violations: string[] = [];
  for (const { id, jobs } of rows) {
    violations.push(...(await madeTwice(database, id)), ...(await miscounted(database, id)));
    const most = await mostAtOnce(database, id);
    if (most > jobs) violations.push(`I33: ${most} reruns of the rollout ${id} were active, its budget is ${jobs}`);
  }
  for (const { hash, earlier_rev: rev, is_newest: isNewest } of (await database.pool.query<RolledBack>(rolledBack))
    .rows) {
    const master = await textAt(media, masterKey(hash));
    const named = master === null ? null : revisionOfMaster(master);
    if (isNewest && named !== rev) violations.push(`I34: ${hash} was rolled back to ${rev}, and plays ${named}`);
  }
  return violations;
}

async function madeTwice({ pool }: Database, id: string): Promise<string[]> {
  const { rows } = await pool.query<{ hash: string }>(
    `select hash from jobs where rerun_reason = $1 and status = 'completed' group by hash having count(*) > 1`,
    [rerunReasonOf(id)],
  );
  return rows.map(({ hash }) => `I33: the rollout ${id} made ${hash} twice`);
}

/** Counts are kept beside the items. */
async function miscounted({ pool }: Database, id: string): Promise<string[]> {
  const counts = itemStatuses.map((status) => `'${status}', sum(${status})::int`).join(', ');
  const { rows } = await pool.query<{ kept: Record<string, number>; found: Record<string, number> | null }>(
    `select (select json_build_object(${counts}) from rollout_counts where rollout_id = $1) as kept,
       (select json_object_agg(status, items) from (
          select status, count(*)::int as items from rollout_items where rollout_id = $1 group by status
        ) as counted) as found`,
    [id],
  );
  const { kept = {}, found = {} } = rows[0] ?? {};
  const wrong = itemStatuses.filter((status) => (kept[status] ?? 0) !== (found?.[status] ?? 0));
  return wrong.map((status) => `I33: the rollout ${id} counts ${kept[status]} ${status}, not ${found?.[status] ?? 0}`);
}

const isActive = (status: string | null) => status === 'queued' || status === 'processing';

/** The most of its jobs that were active at once, by the history of their rows. */
async function mostAtOnce({ pool }: Database, id: string): Promise<number> {
  const { rows } = await pool.query<{ old_status: string | null; new_status: string | null }>(
    `select old_status, new_status from recorded_changes join jobs on jobs.id = job_id
     where rerun_reason = $1 and old_status is distinct from new_status order by seq`,
    [rerunReasonOf(id)],
  );
  let now = 0;
  let most = 0;
  for (const { old_status: before, new_status: after } of rows) {
    now += Number(isActive(after)) - Number(isActive(before));
    most = Math.max(most, now);
  }
  return most;
}

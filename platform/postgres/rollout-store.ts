import {
  activeStatuses,
  beginningStatuses,
  type GateVerdict,
  type Rollout,
  type RolloutSpec,
  type RolloutStatus,
  statusesBefore,
} from '#domain/rollouts/rollout.ts';
import type { NamedProfile } from '#domain/media/profiles.ts';
import type { Database } from './database.ts';
import { claimDue, claimText, deferText } from './due-work.ts';
import { toJson } from './job-row.ts';
import { RolloutItemStore } from './rollout-item-store.ts';
import { RolloutSlotStore } from './rollout-slot-store.ts';
import { rolloutColumns, type RolloutRow } from './rollout-row.ts';
import { isUuid } from './uuid.ts';

/** A rollout to insert. */
export interface NewRollout {
  readonly id: string;
  readonly spec: RolloutSpec;
  readonly profile: NamedProfile | null;
  /** The namespace and name of the MediaRollout whose uid is its id. */
  readonly resource?: string;
  /** The API key of the request. */
  readonly keyId?: string;
}

/** The last rollout of the page before. */
export interface RolloutCursor {
  readonly createdAt: Date;
  readonly id: string;
}

const literals = (statuses: readonly string[]) => statuses.map((status) => `'${status}'`).join(', ');

const insert = `
  insert into rollouts (id, spec, profile, status, resource, key_id) values ($1, $2, $3, $4, $5, $6)
  on conflict (id) do nothing`;
const insertCounts = `
  insert into rollout_counts (rollout_id, is_canary)
  select id, is_canary from rollouts cross join (values (true), (false)) as groups (is_canary)
  where id = $1 on conflict do nothing`;
const find = `select ${rolloutColumns} from rollouts where id = $1`;
const list = `
  select ${rolloutColumns} from rollouts where (created_at, id) < ($2::timestamptz, $3::uuid)
  order by created_at desc, id desc limit $1`;
const setPaused = `
  update rollouts set paused = $2, updated_at = now(), due_at = now()
  where id = $1 and status in (${literals(beginningStatuses)})`;
const move = `
  update rollouts set status = $2, paused = false, updated_at = now(), due_at = now(),
    reason = coalesce($4, reason), verdict = coalesce($5::json, verdict),
    finished_at = case when $6 then now() end
  where id = $1 and status = any($3)`;
const claim = claimText('rollout', { returning: 'id' });
const later = deferText('rollout');
const countByStatus = 'select status, count(*)::int as count from rollouts group by status';
const ofResources = `
  select id, created_at as "createdAt" from rollouts where resource is not null and status in (${literals(activeStatuses)})`;
/** Rollouts that ended; the rows of their items go with them, so a few at a time. */
const oldItems = `
  with old as (
    select rollout_id, hash from rollout_items
    where rollout_id = (
      select id from rollouts where finished_at < now() - $1 * interval '1 millisecond'
        and exists (select from rollout_items where rollout_id = rollouts.id)
      order by created_at limit 1
    )
    limit $2
  )
  delete from rollout_items as items using old where items.rollout_id = old.rollout_id and items.hash = old.hash`;

/** Rollouts and their items. */
export class RolloutStore {
  readonly items: RolloutItemStore;
  readonly slots: RolloutSlotStore;
  readonly #database: Database;

  constructor(database: Database) {
    this.items = new RolloutItemStore(database);
    this.slots = new RolloutSlotStore(database);
    this.#database = database;
  }

  /** Inserting an id again changes nothing. */
  async insert({ id, spec, profile, resource, keyId }: NewRollout): Promise<{ rollout: Rollout; isNew: boolean }> {
    const status: RolloutStatus = spec.canary === undefined ? 'running' : 'canary';
    const isNew = await this.#database.transaction(async (client) => {
      const values = [id, toJson(spec), toJson(profile), status, resource ?? null, keyId ?? null];
      const { rowCount } = await client.query(insert, values);
      await client.query(insertCounts, [id]);
      return rowCount === 1;
    });
    return { rollout: (await this.find(id)) as Rollout, isNew };
  }

  /** Null also for text that is no UUID. */
  async find(id: string): Promise<Rollout | null> {
    if (!isUuid(id)) return null;
    const { rows } = await this.#database.pool.query<RolloutRow>(find, [id]);
    return rows[0] ?? null;
  }

  /** The newest first. */
  async list({ after, limit }: { readonly after: RolloutCursor | null; readonly limit: number }): Promise<Rollout[]> {
    const { rows } = await this.#database.pool.query<RolloutRow>(list, [
      limit,
      after?.createdAt ?? 'infinity',
      after?.id ?? 'ffffffff-ffff-ffff-ffff-ffffffffffff',
    ]);
    return rows;
  }

  /** Whether the rollout begins reruns, and so was paused or resumed. */
  async setPaused(id: string, isPaused: boolean): Promise<boolean> {
    return (await this.#database.pool.query(setPaused, [id, isPaused])).rowCount === 1;
  }

  /** Whether the rollout's status allowed the next one, and has it now. */
  async move(
    id: string,
    to: RolloutStatus,
    why: { readonly reason?: string; readonly verdict?: GateVerdict } = {},
  ): Promise<boolean> {
    const isEnd = !(activeStatuses as readonly RolloutStatus[]).includes(to);
    const parameters = [id, to, statusesBefore(to), why.reason ?? null, toJson(why.verdict), isEnd];
    return (await this.#database.pool.query(move, parameters)).rowCount === 1;
  }

  /** How many rollouts have each status; one that none has is left out. */
  async countByStatus(): Promise<ReadonlyMap<RolloutStatus, number>> {
    const { rows } = await this.#database.pool.query<{ status: RolloutStatus; count: number }>(countByStatus);
    return new Map(rows.map(({ status, count }) => [status, count]));
  }

  /** The active rollouts that MediaRollouts made. */
  async ofResources(): Promise<Pick<Rollout, 'id' | 'createdAt'>[]> {
    return (await this.#database.pool.query<Pick<Rollout, 'id' | 'createdAt'>>(ofResources)).rows;
  }

  /** Takes rollouts that no other call gets for ten seconds. */
  claim(limit: number): Promise<Pick<Rollout, 'id'>[]> {
    return claimDue<Pick<Rollout, 'id'>>(this.#database, claim, { limit });
  }

  /** Leaves a claimed rollout for `delayMs`. */
  async defer(id: string, delayMs: number): Promise<void> {
    await this.#database.pool.query(later, [id, delayMs]);
  }

  /** Deletes at most `limit` items of a rollout that ended longer ago; returns their number. */
  async forgetItems(keptMs: number, limit: number): Promise<number> {
    return (await this.#database.pool.query(oldItems, [keptMs, limit])).rowCount ?? 0;
  }
}

import type { PoolClient } from 'pg';
import type { Job } from '#domain/jobs/job.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import type { WaitingReason } from '#domain/jobs/waiting.ts';
import { type KeyQuotas, quotaRoom } from '#domain/keys/quotas.ts';
import type { Database } from './database.ts';
import { jobColumns, type JobRow, jobOfRow, ticketColumns, ticketOfRow, type TicketRow, toJson } from './job-row.ts';
import { lockKey, quotaUse } from './quota-use.ts';
import { lockedInOrder } from './row-locks.ts';

// Jobs that wait for a quota of their key (C37.22): not before `infinity`, so that nothing claims them and no sweeper
// misses their tickets. They are inserted and released under the lock of the key, so that a quota is exceeded by
// neither, whichever server does it.

const hold = `
  update jobs set not_before = 'infinity', ticketed_at = 'infinity', waiting_reason = $2
  where id = $1 returning ${jobColumns}`;
// The index is entered once for each key.
const heldKeys = `
  with recursive held as (
    (select key_id as key from jobs where not_before = 'infinity' order by key_id limit 1)
    union all
    select (select key_id from jobs where not_before = 'infinity' and key_id > held.key order by key_id limit 1)
    from held where held.key is not null
  )
  select key from held where key is not null`;
const quotasNow = 'select quotas from api_keys where id = $1';
const isNext = `id in (
  select id from jobs where not_before = 'infinity' and key_id = $1 order by priority desc, created_at limit $2)`;
const release = `
  update jobs set not_before = null, ticketed_at = now(), waiting_reason = null
  where ${lockedInOrder('jobs', `not_before = 'infinity' and ${isNext}`)}
  returning ${ticketColumns}`;

/** As many of a key are released at once. */
const releasedAtOnce = 500;

/** Makes a job wait that the transaction has inserted. */
export async function holdJob(client: PoolClient, { id }: Pick<Job, 'id'>, reason: WaitingReason): Promise<Job> {
  const { rows } = await client.query<JobRow>(hold, [id, toJson(reason)]);
  return jobOfRow(rows[0] as JobRow);
}

/** Releases waiting jobs as far as the quotas of their keys allow now; all of a key without quotas, or revoked. */
export async function releaseHeld(database: Database): Promise<Ticket[]> {
  const { rows } = await database.pool.query<{ key: string }>(heldKeys);
  const tickets: Ticket[] = [];
  for (const { key } of rows) tickets.push(...(await releaseHeldOf(database, key)));
  return tickets;
}

/** Releases waiting jobs of one key as far as its quotas allow now; without quotas all. */
export async function releaseHeldOf(database: Pick<Database, 'transaction'>, key: string): Promise<Ticket[]> {
  return await database.transaction(async (client) => {
    await lockKey(client, key);
    // Under the lock, for which it may have waited: the quotas may be others since.
    const quotas = (await client.query<{ quotas: KeyQuotas | null }>(quotasNow, [key])).rows[0]?.quotas ?? null;
    const room = quotas === null ? releasedAtOnce : quotaRoom(quotas, await quotaUse(client, key));
    if (room <= 0) return [];
    const { rows } = await client.query<TicketRow>(release, [key, Math.min(room, releasedAtOnce)]);
    return rows.map(ticketOfRow);
  });
}

import type { PoolClient } from 'pg';
import { purgeBody } from '#domain/library/deletion.ts';

/** `PURGE_HOOK_URL`, and the UUID of the event. */
export interface Purge {
  readonly url: string;
  readonly eventId: string;
}

// By then every server knows what has changed, so no cache gets from one what it had to forget.
const insertPurge = `
  insert into webhook_events (id, url, body, next_attempt_at) values ($1, $2, $3, clock_timestamp() + interval '8 seconds')`;

/** Records, in the transaction of `client`, that a CDN must purge a media; nothing without a hook. */
export async function insertPurgeEvent(
  client: PoolClient,
  purge: Purge | null,
  { hash, occurredAt }: { readonly hash: string; readonly occurredAt: Date },
): Promise<void> {
  if (purge === null) return;
  await client.query(insertPurge, [purge.eventId, purge.url, purgeBody({ eventId: purge.eventId, hash, occurredAt })]);
}

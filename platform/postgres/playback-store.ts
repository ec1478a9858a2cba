import { KnownProblem } from '#domain/errors.ts';
import { openPlayback, type Playback, type PlaybackMode } from '#domain/media/playback.ts';
import type { PoolClient } from 'pg';
import type { Database } from './database.ts';
import { lockHash } from './deletion-fence.ts';
import { insertPurgeEvent, type Purge } from './purge-events.ts';

interface PlaybackRow {
  readonly hash: string;
  readonly is_signed: boolean;
  readonly generation: string;
}

/** A media that somebody has decided about. */
export interface DecidedPlayback {
  readonly hash: string;
  readonly playback: Playback;
}

const columns = 'hash, coalesce(is_signed, false) as is_signed, generation';
const find = `select ${columns} from playbacks where hash = $1`;
const all = `
  (select ${columns} from playbacks where is_signed order by hash limit $1)
  union all (select ${columns} from playbacks where is_signed is not true order by changed_at desc limit $1)
  limit $1`;
// As for deletions (deleted-media-store.ts), a transaction may show its row so much later.
const changed = `
  select ${columns} from playbacks where changed_at > now() - interval '75 seconds' limit $1`;
const decide = `
  insert into playbacks (hash, is_signed) values ($1, $2)
  on conflict (hash) do update set is_signed = excluded.is_signed, changed_at = clock_timestamp()
  where playbacks.is_signed is distinct from excluded.is_signed
  returning changed_at`;
const raise = `
  insert into playbacks (hash, generation) values ($1, 1)
  on conflict (hash) do update set generation = playbacks.generation + 1, changed_at = clock_timestamp()
  returning changed_at`;
// What was signed stays so; that it was open is of the old media.
const raiseDeleted = `
  insert into playbacks (hash, generation) values ($1, 1)
  on conflict (hash) do update set generation = playbacks.generation + 1, changed_at = clock_timestamp(),
    is_signed = nullif(playbacks.is_signed, false)`;
const isDeleted = 'select from media_deletions where hash = $1 and lifted_at is null';
const isKnown = 'select from jobs where hash = $1 order by type, status, created_at desc limit 1';

/** How media play. */
export class PlaybackStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** How the media plays now. */
  async find(hash: string): Promise<Playback> {
    const { rows } = await this.#database.pool.query<PlaybackRow>(find, [hash]);
    return rows[0] === undefined ? openPlayback : decidedOf(rows[0]).playback;
  }

  /** Media that somebody has decided about, signed ones first; `max` of them where there are more. */
  async all(max: number): Promise<DecidedPlayback[]> {
    const { rows } = await this.#database.pool.query<PlaybackRow>(all, [max]);
    return rows.map(decidedOf);
  }

  /** Those of the last 75 seconds; `max` of them where there are more. */
  async changed(max: number): Promise<DecidedPlayback[]> {
    const { rows } = await this.#database.pool.query<PlaybackRow>(changed, [max]);
    return rows.map(decidedOf);
  }

  /**
   * Withdraws every ticket of a media so far. False for a hash without a job.
   *
   * @throws KnownProblem `conflict` when it is deleted
   */
  withdraw(hash: string, purge: Purge | null): Promise<boolean> {
    return this.#database.transaction(async (client) => {
      await client.query(lockHash, [hash]);
      if ((await client.query(isDeleted, [hash])).rowCount !== 0)
        throw new KnownProblem('conflict', 'The media is deleted, and its tickets with it.');
      if ((await client.query(isKnown, [hash])).rowCount === 0) return false;
      const { rows } = await client.query<{ changed_at: Date }>(raise, [hash]);
      await insertPurgeEvent(client, purge, { hash, occurredAt: rows[0]?.changed_at as Date });
      return true;
    });
  }
}

/** Decides how a media plays, in the transaction of `client` under the lock of the hash. */
export async function decidePlayback(
  client: PoolClient,
  hash: string,
  { mode, purge }: { readonly mode: PlaybackMode; readonly purge: Purge | null },
): Promise<void> {
  const { rows } = await client.query<{ changed_at: Date }>(decide, [hash, mode === 'signed']);
  // What is open is in no cache as a refusal, which are not stored.
  if (rows[0] !== undefined && mode === 'signed')
    await insertPurgeEvent(client, purge, { hash, occurredAt: rows[0].changed_at });
}

/** Withdraws the tickets of a media that is deleted, in the transaction of its deletion. */
export async function withdrawDeleted(client: PoolClient, hash: string): Promise<void> {
  await client.query(raiseDeleted, [hash]);
}

function decidedOf({ hash, is_signed: isSigned, generation }: PlaybackRow): DecidedPlayback {
  return { hash, playback: { mode: isSigned ? 'signed' : 'open', generation: Number(generation) } };
}

import { estimateSessions } from '#domain/playback/session-sketch.ts';
import { medianThroughputKbps } from '#domain/playback/throughput-counts.ts';
import type { Database } from './database.ts';

/** The counts of one server for a media since it wrote last. */
export interface AddedPlayback {
  readonly hash: string;
  readonly requests: number;
  readonly starved: number;
  /** The bits of a sketch of its sessions (domain/playback/session-sketch.ts). */
  readonly sessionBits: string;
  /** By range (domain/playback/throughput-counts.ts). */
  readonly throughputs: readonly number[];
}

/** The figures that players gave of a media on one day. */
export interface PlaybackDay {
  /** UTC, `2026-11-27`. */
  readonly day: string;
  /** Answered requests of players that say how they are. */
  readonly requests: number;
  /** How many of these came after the buffer ran empty. */
  readonly starved: number;
  /** An estimate. */
  readonly sessions: number;
  /** Null where no player said it. */
  readonly throughputKbps: number | null;
}

interface PlaybackRow {
  readonly day: string;
  readonly requests: string;
  readonly starved: string;
  readonly sessions: string;
  readonly throughputs: readonly string[];
}

// In one order, so that two servers do not wait for each other. The row of the media says that it is there; its lock, by
// the foreign key, makes a deletion wait, which then takes the day with it.
const add = `
  insert into playback_days (hash, day, requests, starved, sessions, throughputs)
  select given.hash, (now() at time zone 'UTC')::date, given.requests, given.starved, given.sessions::bit(3072),
    given.throughputs::bigint[]
  from unnest($1::text[], $2::bigint[], $3::bigint[], $4::text[], $5::text[])
    as given (hash, requests, starved, sessions, throughputs)
  join media on media.hash = given.hash
  order by given.hash
  on conflict (hash, day) do update set
    requests = playback_days.requests + excluded.requests,
    starved = playback_days.starved + excluded.starved,
    sessions = playback_days.sessions | excluded.sessions,
    throughputs = (
      select array_agg(before + more order by range)
      from unnest(playback_days.throughputs, excluded.throughputs) with ordinality as both_of (before, more, range)
    )`;
const find = `
  select day::text, requests, starved, sessions::text, throughputs from playback_days
  where hash = $1 and day > (now() at time zone 'UTC')::date - $2::int order by day desc`;

/** The digests of playback: what players said, by media and day. */
export class PlaybackDayStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Adds to the digests of today, by the database's clock. Media without a row are left out: they are deleted. */
  async add(added: readonly AddedPlayback[]): Promise<void> {
    const column = <T>(of: (row: AddedPlayback) => T) => added.map(of);
    const parameters = [
      column(({ hash }) => hash),
      column(({ requests }) => requests),
      column(({ starved }) => starved),
      column(({ sessionBits }) => sessionBits),
      column(({ throughputs }) => `{${throughputs.join()}}`),
    ];
    await this.#database.pool.query(add, parameters);
  }

  /** The digests of a media for the last `days` days, the newest first; days without any are left out. */
  async find(hash: string, days: number): Promise<readonly PlaybackDay[]> {
    const { rows } = await this.#database.pool.query<PlaybackRow>(find, [hash, days]);
    return rows.map(({ day, requests, starved, sessions, throughputs }) => ({
      day,
      requests: Number(requests),
      starved: Number(starved),
      sessions: estimateSessions(sessions),
      throughputKbps: medianThroughputKbps(throughputs.map(Number)),
    }));
  }
}

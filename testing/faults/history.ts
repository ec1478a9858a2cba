import { appendFileSync, existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { ExternalWrite } from '#platform/external-writes/external-write.ts';
import type { Database } from '#platform/postgres/database.ts';

// What happened: the database writes down every change of a job and of a content key, whoever makes it, and each
// process every write to the outside.

/** One change of a row of `jobs`, in the order in which they were made. */
export interface RowChange {
  readonly job_id: string;
  readonly at: Date;
  /** `ROLE:PID` of the process that made it. */
  readonly writer: string;
  /** Who held the attempt, and whether its lease had time left. */
  readonly owner: string | null;
  readonly is_held: boolean;
  readonly old_status: string | null;
  readonly new_status: string | null;
  readonly old_attempt: number | null;
  readonly new_attempt: number | null;
  readonly old_progress: number | null;
  readonly new_progress: number | null;
  readonly old_failures: number | null;
  readonly new_failures: number | null;
  /** The error of the last attempt that has ended. */
  readonly last_code: string | null;
  /** Digests of the results; null where there are none. */
  readonly old_results: string | null;
  readonly new_results: string | null;
}

/** A change of a content key's row. */
export interface KeyChange {
  readonly hash: string;
  readonly kid: string;
  readonly at: Date;
}

/** A write to the outside, when it had an answer or failed. */
export interface RecordedWrite extends ExternalWrite {
  readonly at: number;
  readonly role: string;
  readonly pid: number;
  readonly isSent: boolean;
}

const record = `
  create table recorded_changes (
    seq bigserial primary key, job_id uuid not null, at timestamptz not null default clock_timestamp(), writer text,
    owner text, is_held boolean not null,
    old_status text, new_status text, old_attempt int, new_attempt int, old_progress int, new_progress int,
    old_failures int, new_failures int, last_code text, old_results text, new_results text
  );
  create table recorded_keys (
    seq bigserial primary key, hash text not null, kid text not null, at timestamptz not null default clock_timestamp()
  );
  create function record_change() returns trigger language plpgsql as $$
  begin
    insert into recorded_changes (job_id, writer, owner, is_held, old_status, new_status, old_attempt, new_attempt,
      old_progress, new_progress, old_failures, new_failures, last_code, old_results, new_results)
    values (coalesce(new.id, old.id), current_setting('application_name'), old.lease_owner,
      coalesce(old.lease_expires_at > clock_timestamp(), false), old.status, new.status, old.attempt, new.attempt,
      old.progress, new.progress, old.failures, new.failures, new.ended_attempts -> -1 ->> 'code',
      md5(old.results::text), md5(new.results::text));
    return null;
  end $$;
  create function record_key() returns trigger language plpgsql as $$
  begin
    insert into recorded_keys (hash, kid) values (new.hash, new.kid);
    return null;
  end $$;
  create table recorded_tables (at timestamptz not null default clock_timestamp(), name text not null);
  create function record_table() returns trigger language plpgsql as $$
  begin
    insert into recorded_tables (name) values (tg_table_name);
    return null;
  end $$;
  do $$
  declare
    of record;
  begin
    for of in select relname from pg_stat_user_tables where relname !~ '^recorded_' and schemaname = 'public' loop
      execute format('create trigger record_table after insert or update or delete on %I for each row
        execute function record_table()', of.relname);
    end loop;
  end $$;
  create trigger record_change after insert or update or delete on jobs for each row execute function record_change();
  create trigger record_key after insert or update on content_keys for each row execute function record_key()`;

export async function recordRows(database: Database): Promise<void> {
  await database.pool.query(record);
}

export async function rowChanges(database: Database, jobIds: readonly string[]): Promise<RowChange[]> {
  const text = 'select * from recorded_changes where job_id = any($1) order by seq';
  const { rows } = await database.pool.query<RowChange>(text, [jobIds]);
  return rows;
}

export async function keyChanges(database: Database, hash: string): Promise<KeyChange[]> {
  const text = 'select * from recorded_keys where hash = $1 order by seq';
  return (await database.pool.query<KeyChange>(text, [hash])).rows;
}

/** Tables of which a row has changed since a moment. */
export async function changedTables(database: Database, since: Date): Promise<string[]> {
  const text = 'select distinct name from recorded_tables where at > $1';
  return (await database.pool.query<{ name: string }>(text, [since])).rows.map(({ name }) => name);
}

const fileOf = (folder: string) => join(folder, 'history.jsonl');

export function recordWrite(folder: string, write: RecordedWrite): void {
  appendFileSync(fileOf(folder), `${JSON.stringify(write)}\n`);
}

/** Every write so far, of all processes. A process that was killed may have cut its last line. */
export function recordedWrites(folder: string): RecordedWrite[] {
  if (!existsSync(fileOf(folder))) return [];
  const lines = readFileSync(fileOf(folder), 'utf8').split('\n');
  return lines.flatMap((line) => {
    try {
      return [JSON.parse(line) as RecordedWrite];
    } catch {
      return [];
    }
  });
}

/** The keys of a write to a bucket; none for another one. */
export function keysOf({ kind, name }: ExternalWrite, verb: 'put' | 'delete'): string[] {
  if (kind !== 'object' || !name.startsWith(verb)) return [];
  return name.replace(/^(put new|put|delete) /, '').split('\n');
}

import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, inject, it } from 'vitest';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { migrate } from '#platform/postgres/migrate.ts';
import { emptyDatabase, type TestDatabase } from '../../testing/databases.ts';

// A database that a version without stream_rev, results_expired and webhook hosts has filled.

const migrations = new URL('../../platform/postgres/migrations/', import.meta.url).pathname;
const firstNew = '0060';
const rev = (n: number) => String(n).padStart(16, '0');
const idOf = (n: number) => `00000000-0000-4000-8000-${String(n).padStart(12, '0')}`;
const at = (n: number) => new Date(Date.UTC(2026, 0, n));
const stream = (n: number, title = 'a title') =>
  JSON.stringify({
    streaming: { protocol: 'hls' },
    video_tracks: [{ init: `videos/ab/h/${rev(n)}/video/r64/init.mp4` }],
    title,
  });

describe.skipIf(!inject('postgres'))('rows of an earlier version', () => {
  let created: TestDatabase;
  let database: Database;
  let dir: string;
  beforeEach(async () => {
    created = await emptyDatabase();
    database = openDatabase(created.url);
    dir = await mkdtemp(join(tmpdir(), 'reelwright-migrations-'));
    for (const name of await readdir(migrations))
      if (name < firstNew) await cp(join(migrations, name), join(dir, name));
    await migrate(database, { dir });
  });
  afterEach(async () => {
    await database.close();
    await created.drop();
    await rm(dir, { recursive: true });
  });

  const query = (sql: string, parameters: readonly unknown[] = []) => database.pool.query(sql, [...parameters]);
  const insert = (n: number, results: string | null) =>
    query(
      `insert into jobs
         (id, type, hash, source, options, idempotency_key, queue, status, results, created_at, finished_at)
       values ($1::uuid, 'video:transcode', 'h', 's', '{}', $1::uuid::text, 'default', 'completed', $2, $3, $3)`,
      [idOf(n), results, at(n)],
    );

  it('json that no query can read becomes readable, and all else stays as it is', async () => {
    const kept = String.raw`a \\ud83d and \n \u00e9`;
    await insert(1, stream(1, 'cut \ud83d'));
    await insert(2, `{"text":"${kept}"}`);
    await insert(3, '{"nul":"a\\u0000"}');
    await expect(query(`select results -> 'title' from jobs`)).rejects.toThrow('invalid input syntax for type json');
    await migrate(database);
    const { rows } = await query(`select results ->> 'title' as title, results ->> 'nul' as nul from jobs order by id`);
    expect(rows.map(({ title, nul }) => (title ?? nul) as unknown)).toEqual(['cut \ufffd', null, 'a\ufffd']);
    const second = await query('select results::text from jobs where id = $1', [idOf(2)]);
    expect(second.rows[0]).toEqual({ results: `{"text":"${kept}"}` });
  });

  it('streams of before have their revisions, and know which later stream replaced them', async () => {
    for (const n of [1, 2, 4]) await insert(n, stream(n));
    await insert(3, '{"key":"images/ab/h/x/cover.jpg"}');
    await migrate(database);
    const { rows } = await query('select stream_rev, replaced_at from jobs order by id');
    expect(rows.map((row) => row.stream_rev as unknown)).toEqual([rev(1), rev(2), null, rev(4)]);
    expect(rows.map((row) => row.replaced_at as unknown)).toEqual([at(2), at(4), null, null]);
  });

  it('a job that ends meanwhile, and marks several streams of its hash, is in no deadlock with the migration', async () => {
    for (const name of await readdir(migrations)) if (name < '0061') await cp(join(migrations, name), join(dir, name));
    await migrate(database, { dir });
    for (const n of [1, 2]) await insert(n, stream(n));
    await query('update jobs set stream_rev = $1', [rev(1)]);
    const ending = await database.pool.connect();
    await ending.query('begin');
    await ending.query('update jobs set replaced_at = now() where id = $1', [idOf(2)]);
    const migrated = migrate(database);
    const waits = `
      select from pg_stat_activity
      where datname = current_database() and (wait_event_type = 'Lock' or wait_event = 'PgSleep')`;
    while ((await query(waits)).rowCount === 0);
    await ending.query('update jobs set replaced_at = now() where id = $1', [idOf(1)]);
    await ending.query('commit');
    ending.release();
    await migrated;
    expect((await query('select from jobs where replaced_at is null')).rowCount).toBe(0);
  });

  it('a job that a worker of the version before ends replaces earlier streams', async () => {
    await insert(1, stream(1));
    await insert(2, null);
    await migrate(database);
    await query(`update jobs set results = $2 where id = $1`, [idOf(2), stream(2)]);
    const { rows } = await query('select stream_rev, replaced_at is null as is_current from jobs order by id');
    expect(rows).toEqual([
      { stream_rev: rev(1), is_current: false },
      { stream_rev: rev(2), is_current: true },
    ]);
  });

  it('webhook events of before that are to be sent have a host, and one that is delivered again gets it', async () => {
    for (const n of [1, 2]) {
      await insert(n, null);
      await query(
        `insert into webhook_events (id, job_id, url, body, next_attempt_at) values ($1::uuid, $1::uuid, $2, $3, $4)`,
        [
          idOf(n),
          'https://Hooks.example:8443/a?b',
          n === 1 ? '{"title":"\\ud83d"}' : '{}',
          n === 1 ? new Date() : null,
        ],
      );
    }
    await migrate(database);
    const hosts = async () =>
      (await query('select host from webhook_events order by id')).rows.map(({ host }) => host as unknown);
    expect(await hosts()).toEqual(['hooks.example:8443', null]);
    expect((await query('select body from webhook_events order by id')).rows[0]).toEqual({
      body: '{"title":"\\ufffd"}',
    });
    await query('update webhook_events set next_attempt_at = now()');
    expect(await hosts()).toEqual(['hooks.example:8443', 'hooks.example:8443']);
  });

  it('a job is stored as text that every query can read, whatever its results hold', async () => {
    await migrate(database);
    await insert(1, null);
    await query(`update jobs set status = 'processing', finished_at = null`);
    const results = { title: 'cut \ud83d', nul: 'a\0' };
    const eventId = idOf(9);
    await new JobStore(database).finish({
      jobId: idOf(1),
      attempt: 1,
      status: 'completed',
      results: results as never,
      error: null,
      eventId,
    });
    const { rows } = await query(`select results ->> 'title' as title, results ->> 'nul' as nul from jobs`);
    expect(rows).toEqual([{ title: 'cut \ufffd', nul: 'a\ufffd' }]);
  });
});

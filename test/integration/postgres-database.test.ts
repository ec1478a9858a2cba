import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { beforeEach, describe, expect, inject, test } from 'vitest';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { migrate, migrationState } from '#platform/postgres/migrate.ts';
import type { TestDatabase } from '../../testing/databases.ts';
import { type Line, openLines } from './queue-outage.ts';

describe.skipIf(!inject('postgres'))('the database', () => {
  let testDatabase: TestDatabase;
  let line: Line;
  let database: Database;

  beforeEach(async (context) => {
    ({ testDatabase, line, database } = await openLines(context));
  });

  const killConnections = async () => {
    const killer = openDatabase(testDatabase.url, { maxConnections: 1 });
    await killer.pool.query(
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = current_database() and pid <> pg_backend_pid()',
    );
    await killer.close();
  };

  test('migrations that start at once in many processes are applied once', async () => {
    const others = Array.from({ length: 5 }, () => openDatabase(testDatabase.url));
    await Promise.all([database, ...others].map((each) => migrate(each)));
    await migrate(database);
    const { rows } = await database.pool.query<{ name: string }>('select name from schema_migrations order by name');
    expect(rows.map(({ name }) => name)[0]).toBe('0170-baseline.sql');
    await Promise.all(others.map((other) => other.close()));
  });

  test('while an index is built, rows are written and other processes wait', async () => {
    const dir = await mkdtemp(join(tmpdir(), 'reelwright-migrations-'));
    await writeFile(join(dir, '0001-t.sql'), 'create table t (n int)');
    await migrate(database, { dir });
    await writeFile(join(dir, '0002-t-by-n.concurrent.sql'), 'create index concurrently if not exists t_by_n on t (n)');
    const waiting: string[] = [];
    const log = { info: (_fields: object, phrase?: string) => void waiting.push(phrase ?? '') };
    // The index waits for this transaction, which has written to the table.
    const writer = await database.pool.connect();
    await writer.query('begin; insert into t values (1)');
    const all = Promise.all([migrate(database, { dir, log }), migrate(database, { dir, log })]);
    await expect.poll(() => waiting).toEqual(['another process migrates the database, waiting']);
    await database.pool.query(`set statement_timeout = '2s'; insert into t values (2)`);
    await writer.query('commit');
    writer.release();
    await all;
    await rm(dir, { recursive: true });
  });

  test('an index that a crash left invalid is built again', async (context) => {
    const dir = await mkdtemp(join(tmpdir(), 'reelwright-migrations-'));
    context.onTestFinished(() => rm(dir, { recursive: true }));
    await writeFile(join(dir, '0001-t.sql'), 'create table t (n int)');
    await writeFile(join(dir, '0002-t-by-n.concurrent.sql'), 'create index concurrently if not exists t_by_n on t (n)');
    await migrate(database, { dir });
    const find = `select relname from pg_index join pg_class on oid = indexrelid where not indisvalid`;
    await database.pool.query(`delete from schema_migrations where name like '%.concurrent.sql'`);
    await database.pool.query(`update pg_index set indisvalid = false where indexrelid = 't_by_n'::regclass`);
    expect((await database.pool.query(find)).rowCount).toBe(1);
    await migrate(database, { dir });
    expect((await database.pool.query(find)).rowCount).toBe(0);
    expect((await database.pool.query(`select 't_by_n'::regclass`)).rowCount).toBe(1);
  });

  test('a database with every migration before the baseline takes it as applied, and an older one is refused', async () => {
    await migrate(database);
    const tables = 'select count(*)::int as count from pg_class';
    const counted = (await database.pool.query(tables)).rows;
    const names = async () => (await database.pool.query('select name from schema_migrations order by name')).rows;
    const whole = await names();
    await database.pool.query(
      `update schema_migrations set name = '0164-gave-way.sql' where name = '0170-baseline.sql'`,
    );
    await expect(migrate(database)).rejects.toThrow('the database is older than this program can migrate');
    await database.pool.query(`insert into schema_migrations values ('0165-media-deletions-by-end.concurrent.sql')`);
    await migrate(database);
    expect((await names()).slice(2)).toEqual(whole);
    expect((await database.pool.query(tables)).rows).toEqual(counted);
    expect(await migrationState(database)).toEqual({ missing: [], unknown: [] });
  });

  test('a process that freezes in a transaction loses its locks after a minute', async () => {
    const { rows } = await database.pool.query('show idle_in_transaction_session_timeout');
    expect(rows).toEqual([{ idle_in_transaction_session_timeout: '1min' }]);
  });

  test('migrations leave migrations of a newer version alone', async () => {
    await migrate(database);
    await database.pool.query(`insert into schema_migrations (name) values ('9999-later.sql')`);
    await migrate(database);
  });

  test('a transaction is committed whole or not at all', async () => {
    await database.pool.query('create table t (n int)');
    const add = (n: number, fails: boolean) =>
      database.transaction(async (client) => {
        await client.query('insert into t values ($1)', [n]);
        if (fails) throw new Error('on purpose');
        return n;
      });
    expect(await add(1, false)).toBe(1);
    await expect(add(2, true)).rejects.toThrow('on purpose');
    expect((await database.pool.query('select n from t')).rows).toEqual([{ n: 1 }]);
    expect([database.pool.idleCount, database.pool.waitingCount]).toEqual([database.pool.totalCount, 0]);
  });

  test('a connection that breaks between two queries of a transaction fails that transaction alone', async () => {
    const broken = database.transaction(async (client) => {
      await client.query('select 1');
      const ended = new Promise((resolve) => client.once('end', resolve));
      await killConnections();
      await ended;
      await client.query('select 1');
    });
    await expect(broken).rejects.toThrow(Error);
    await database.ping();
  });

  test('a server that is away is reported at once, and used again when it is back', async () => {
    await database.ping();
    await line.cut();
    await expect(database.ping()).rejects.toThrow(Error);
    await line.mend();
    await database.ping();
  });

  test('C22.27: a database that takes no writes answers a ping, and is not ready for jobs', async () => {
    await database.ping(undefined, 'write');
    await database.pool.query('set default_transaction_read_only = on');
    await database.ping();
    await expect(database.ping(undefined, 'write')).rejects.toThrow('the database is read-only');
    await database.pool.query('set default_transaction_read_only = off');
    await database.ping(undefined, 'write');
  });

  test('a ping is given up when its signal aborts, and holds no connection after it', async () => {
    await database.ping();
    line.freeze();
    for (let i = 0; i < 5; i++) {
      const startedAt = performance.now();
      await expect(database.ping(AbortSignal.timeout(200))).rejects.toThrow('timeout');
      expect(performance.now() - startedAt).toBeLessThan(600);
    }
    await line.mend();
    await expect.poll(() => database.ping(AbortSignal.timeout(500)).then(() => 'up'), { timeout: 10_000 }).toBe('up');
    expect(database.pool.waitingCount).toBe(0);
    await expect(database.ping(AbortSignal.abort(new Error('cancelled')))).rejects.toThrow('cancelled');
  });
});

import { randomUUID } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, test } from 'vitest';
import { JobStore } from '#platform/postgres/job-store.ts';
import { migrate } from '#platform/postgres/migrate.ts';
import { newJob } from './postgres-fixtures.ts';
import { openLines } from './queue-outage.ts';

describe.skipIf(!inject('postgres')).concurrent('the database over many seconds', () => {
  test('a migration that takes longer than any statement may is applied', async (context) => {
    const { database } = await openLines(context);
    const dir = await mkdtemp(join(tmpdir(), 'reelwright-migrations-'));
    // Longer than the timeouts of a pool, 10 s in the server and 12 s in the client.
    await writeFile(join(dir, '0001-slow.sql'), 'select pg_sleep(13); create table slow ();');
    // And of the database itself.
    const { rows } = await database.pool.query<{ name: string }>('select current_database() as name');
    await database.pool.query(`alter database "${rows[0]?.name}" set statement_timeout = '1s'`);
    await migrate(database, { dir });
    expect((await database.pool.query('select from slow')).rowCount).toBe(0);
    await rm(dir, { recursive: true });
  });

  test('connections that fall silent are replaced within half a minute', async (context) => {
    const { database, line } = await openLines(context);
    await migrate(database);
    const jobs = new JobStore(database);
    await jobs.find(randomUUID());
    line.stall();
    await expect(jobs.find(randomUUID())).rejects.toThrow(Error);
    expect((await jobs.insertOrFind(newJob())).isNew).toBe(true);
  });
});

import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, inject, onTestFinished, test } from 'vitest';
import { openDatabase } from '#platform/postgres/database.ts';
import { migrate } from '#platform/postgres/migrate.ts';
import { migratedDatabase } from '../../testing/databases.ts';
import { queryEveryTable, readEveryTable, tablesOf } from './migration-rig.ts';

test.skipIf(!inject('postgres'))('a migration beside a dump stops no query of any table', async () => {
  const created = await migratedDatabase();
  const database = openDatabase(created.url, { maxConnections: 40 });
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-migrations-'));
  onTestFinished(async () => {
    await database.close();
    await created.drop();
    await rm(dir, { recursive: true });
  });
  const changes = (await tablesOf(database)).map((table) => `alter table ${table} add column later int;`);
  await writeFile(join(dir, '0001-later.sql'), changes.join('\n'));

  const endDump = await readEveryTable(database);
  const endQueries = await queryEveryTable(database);
  const { promise: firstTry, resolve } = Promise.withResolvers<unknown[]>();
  const migrating = migrate(database, { dir, log: { info: (...line: unknown[]) => resolve(line) } });
  const seen = await Promise.race([firstTry, sleep(3000)]);
  await endDump();
  await migrating;
  const waits = await endQueries();
  expect(seen).toEqual([
    { migration: '0001-later.sql', retry_in_ms: expect.any(Number) as number },
    'a migration waits for a table in use',
  ]);
  expect([...waits].filter(([, ms]) => ms >= 3000)).toEqual([]);
  expect((await database.pool.query('select later from jobs')).rows).toEqual([]);
});

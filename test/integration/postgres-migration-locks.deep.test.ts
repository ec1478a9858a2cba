import { cp, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, inject, onTestFinished, test } from 'vitest';
import { openDatabase } from '#platform/postgres/database.ts';
import { migrate } from '#platform/postgres/migrate.ts';
import { emptyDatabase } from '../../testing/databases.ts';
import { queryEveryTable, readEveryTable } from './migration-rig.ts';

const migrations = new URL('../../platform/postgres/migrations/', import.meta.url).pathname;

test.skipIf(!inject('postgres'))('each migration, while a dump reads all tables, stops no query', async () => {
  const created = await emptyDatabase();
  const database = openDatabase(created.url, { maxConnections: 40 });
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-migrations-'));
  onTestFinished(async () => {
    await database.close();
    await created.drop();
    await rm(dir, { recursive: true });
  });
  const tooLong: unknown[] = [];
  let refused = 0;
  for (const name of (await readdir(migrations)).filter((each) => each.endsWith('.sql')).toSorted()) {
    await cp(join(migrations, name), join(dir, name));
    const endDump = await readEveryTable(database);
    const endQueries = await queryEveryTable(database);
    const { promise: firstTry, resolve } = Promise.withResolvers<void>();
    const count = () => {
      refused += 1;
      resolve();
    };
    const migrating = migrate(database, { dir, log: { info: count } });
    // An index waits for the end of the dump and blocks no query meanwhile.
    await Promise.race([migrating, firstTry, sleep(1500)]);
    await endDump();
    await migrating;
    for (const [table, ms] of await endQueries()) if (ms >= 3000) tooLong.push({ name, table, ms });
  }
  expect(tooLong).toEqual([]);
  expect(refused).toBeGreaterThan(10);
});

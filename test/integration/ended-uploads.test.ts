import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pino } from 'pino';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { DueWorkStore } from '#platform/postgres/due-work.ts';
import { ImportStore } from '#platform/postgres/import-store.ts';
import { UploadStore } from '#platform/postgres/upload-store.ts';
import { openUploadBucket, type UploadBucket } from '#platform/storage/upload-bucket.ts';
import { importCleanupTask } from '../../controller/imports/import-cleanup.ts';
import { oldRowsTasks } from '../../controller/upkeep/old-rows.ts';
import { uploadExpiryTask } from '../../controller/upkeep/upload-expiry.ts';
import { migratedDatabase } from '../../testing/databases.ts';

// What ended uploads and imports stored is removed, also while some of it cannot be.

const log = pino({ enabled: false });
let dir: string;
let testDatabase: Awaited<ReturnType<typeof migratedDatabase>>;
let database: Database;
let bucket: UploadBucket;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelwright-ended-uploads-'));
  await mkdir(join(dir, 'source'));
  testDatabase = await migratedDatabase();
  database = openDatabase(testDatabase.url);
  const store = { bucket: 'source', dir: join(dir, 'source') };
  const settings = { publicEndpoint: undefined, prefix: 'uploads/', expiryMs: 3_600_000, openMax: 5 };
  bucket = openUploadBucket({ store, ...settings });
});
afterAll(async () => {
  await bucket.close();
  await database.close();
  await testDatabase.drop();
  await rm(dir, { recursive: true, force: true });
});

/** The bucket, but for keys of which nothing can ever be removed. */
const withStuckKeys = (): UploadBucket => ({
  ...bucket,
  parts: new Proxy(bucket.parts, {
    get(target, name: keyof UploadBucket['parts']) {
      if (name !== 'abort') return target[name];
      return async (key: string) => {
        if (key.includes('/stuck-')) throw new Error(`${key} cannot be removed`);
        await target.abort(key);
      };
    },
  }),
});

const signal = new AbortController().signal;
const tables = {
  uploads: {
    columns: 'id, key_id, name, source, size_bytes, part_size_bytes, status, expires_at',
    values: `gen_random_uuid(), 'key', 'a.mp4', source, 10, 10, 'aborted', now()`,
    round: () => uploadExpiryTask({ rows: new UploadStore(database), bucket: withStuckKeys(), log }).work(signal),
  },
  imports: {
    columns: 'id, key_id, url, name, source, part_size_bytes, status, multipart_id, deadline_at',
    values: `gen_random_uuid(), 'key', 'https://a', 'a.mp4', source, 10, 'cancelled', 'parts', now()`,
    round: () => importCleanupTask({ rows: new ImportStore(database), bucket: withStuckKeys(), log }).work(signal),
  },
} as const;

describe.each(Object.entries(tables))('ended %s', (table, { columns, values, round }) => {
  const insert = (sources: readonly string[], endedAgo: string) =>
    database.pool.query(
      `insert into ${table} (${columns}, ended_at, created_at, due_at)
       select ${values}, at, at, at
       from unnest($1::text[]) as s (source) cross join (select now() - $2::interval as at) as ended`,
      [sources, endedAgo],
    );

  it('a row whose object cannot be removed stays however old it is', async () => {
    await insert(['uploads/stuck-old/a.mp4', 'uploads/old/a.mp4'], '40 days');
    await round();
    for (const task of oldRowsTasks({ dueWork: new DueWorkStore(database) })) await task.work(signal);
    const { rows } = await database.pool.query(`select source from ${table} where source like '%old%'`);
    expect(rows).toEqual([{ source: 'uploads/stuck-old/a.mp4' }]);
  });
});

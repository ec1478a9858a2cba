import { afterAll, afterEach, beforeAll, describe, expect, inject, it, onTestFinished, vi } from 'vitest';
import { dueKinds, type DueKind, lateAfterMs } from '#domain/work/due.ts';
import { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { dueRowsOf } from '#platform/postgres/due-kinds.ts';
import { claimDue, type DueDelays, DueWorkStore, keysText } from '#platform/postgres/due-work.ts';
import { ImportStore } from '#platform/postgres/import-store.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { MediaDeletionStore } from '#platform/postgres/media-deletion-store.ts';
import { RetentionStore } from '#platform/postgres/retention-store.ts';
import { RolloutStore } from '#platform/postgres/rollout-store.ts';
import { UploadStore } from '#platform/postgres/upload-store.ts';
import { WebhookEventStore } from '#platform/postgres/webhook-event-store.ts';
import { emptyTables, migratedDatabase, type TestDatabase } from '../../testing/databases.ts';

// What every kind of due work promises, whoever dies meanwhile. A kind is a row of this table.

const [secondMs, minuteMs, dayMs] = [1_000, 60_000, 86_400_000];

interface Fixture {
  /** Columns and values of the `n`th row, which is due from `at` on. */
  readonly row: Readonly<Record<string, string>>;
  /** The number of rows that it claims. */
  readonly claim: (d: Database, limit: number) => Promise<number>;
  /** For so long nobody else gets a claimed row; absent: the claim is all of the work. */
  readonly holdMs?: number;
  readonly delayMs?: number;
  /** A claim takes all that are due. */
  readonly takesAll?: true;
}

const id = { id: 'gen_random_uuid()' };
const named = { ...id, key_id: `'key'`, name: `'a'`, source: `'uploads/a'`, part_size_bytes: '1' };
const upload = { ...named, size_bytes: '1', expires_at: 'at' };
const imported = { ...named, url: `'https://a.example'`, deadline_at: 'now()' };
const request = { type: `'image:thumbnail'`, hash: `'h' || n`, source: `'a'`, options: `'{}'`, queue: `'default'` };
const job = { ...id, ...request, idempotency_key: `'key ' || n` };
const finished = { ...job, status: `'completed'`, finished_at: 'at' };
const event = { ...id, url: `'https://a.example'`, host: `'a.example'`, body: `'{}'` };
const lengthOf = async (rows: Promise<readonly unknown[]>) => (await rows).length;
const deleted = (kind: DueKind, delayMs: number) => ({
  delayMs,
  claim: (d: Database, limit: number) => new DueWorkStore(d).delete(kind, { delayMs, limit }),
});

const fixtures: Readonly<Record<Exclude<DueKind, 'media_expiry'>, Fixture>> = {
  upload_expiry: { row: { ...upload, status: `'open'` }, claim: (d, limit) => new UploadStore(d).expire(limit) },
  upload_removal: {
    row: { ...upload, status: `'aborted'`, due_at: 'at' },
    claim: (d, limit) => lengthOf(new UploadStore(d).claimToCleanUp(limit)),
    holdMs: 10 * minuteMs,
  },
  upload_retention: {
    row: { ...upload, status: `'completed'`, ended_at: 'at' },
    ...deleted('upload_retention', 30 * dayMs),
  },
  import: {
    row: { ...imported, due_at: 'at' },
    claim: (d, limit) => lengthOf(new ImportStore(d).claim(new Map([['key', limit]]), 30 * secondMs)),
    holdMs: 30 * secondMs,
  },
  import_removal: {
    row: { ...imported, status: `'failed'`, due_at: 'at' },
    claim: (d, limit) => lengthOf(new ImportStore(d).claimToCleanUp(limit)),
    holdMs: 10 * minuteMs,
  },
  import_retention: {
    row: { ...imported, status: `'completed'`, ended_at: 'at' },
    ...deleted('import_retention', 30 * dayMs),
  },
  bucket_event_retention: {
    row: { id: 'sha256(n::text::bytea)', job_id: 'gen_random_uuid()', seen_at: 'at' },
    ...deleted('bucket_event_retention', 90 * dayMs),
  },
  purge_event_retention: {
    row: { ...event, created_at: 'at' },
    ...deleted('purge_event_retention', 30 * dayMs),
  },
  cleanup: {
    row: finished,
    delayMs: 60 * minuteMs,
    claim: (d, limit) => lengthOf(new CleanupStore(d).claim({ graceMs: 60 * minuteMs, limit })),
    holdMs: 10 * minuteMs,
  },
  revision_retention: {
    row: { ...finished, replaced_at: 'at' },
    delayMs: dayMs,
    claim: (d, limit) => lengthOf(new RetentionStore(d).claimReplaced({ retentionMs: dayMs, limit })),
    holdMs: 60 * minuteMs,
  },
  job_retention: {
    row: { ...finished, swept_at: 'at' },
    delayMs: dayMs,
    claim: (d, limit) => lengthOf(new RetentionStore(d).claimOld({ retentionMs: dayMs, limit })),
    holdMs: 60 * minuteMs,
  },
  media_deletion: {
    row: { ...id, hash: `'h' || n`, reason: `'request'`, due_at: 'at' },
    claim: (d, limit) => lengthOf(new MediaDeletionStore(d).claim(limit)),
    holdMs: 10 * minuteMs,
  },
  rollout: {
    row: { ...id, spec: `'{}'`, status: `'running'`, due_at: 'at' },
    claim: (d, limit) => lengthOf(new RolloutStore(d).claim(limit)),
    holdMs: 10 * secondMs,
  },
  webhook: {
    row: { ...event, next_attempt_at: 'at' },
    claim: (d, limit) => lengthOf(new WebhookEventStore(d).take({ requests: new Map([['a.example', limit]]) })),
    holdMs: minuteMs,
  },
  lapsed_lease: {
    row: { ...job, status: `'processing'`, lease_owner: `'dead'`, lease_expires_at: 'at' },
    claim: (d) => lengthOf(new JobStore(d).releaseLapsed()),
    takesAll: true,
  },
  missing_ticket: {
    row: { ...job, ticketed_at: 'at' },
    delayMs: minuteMs,
    claim: (d, limit) => lengthOf(new JobStore(d).withoutTicket({ olderThanMs: minuteMs, limit })),
    holdMs: minuteMs,
  },
};

describe.skipIf(!inject('postgres'))('due work', () => {
  let created: TestDatabase;
  let database: Database;
  beforeAll(async () => {
    created = await migratedDatabase();
    database = openDatabase(created.url);
  });
  afterAll(async () => {
    await database.close();
    await created.drop();
  });
  const ofWork = [
    'jobs',
    'webhook_events',
    'uploads',
    'imports',
    'rollouts',
    'media',
    'media_deletions',
    'bucket_events',
  ];
  afterEach(() => emptyTables(database.pool, ofWork));

  it('every kind of due work is tried below, but for the one without a claim', () => {
    expect([...Object.keys(fixtures), 'media_expiry'].toSorted()).toEqual(dueKinds.toSorted());
  });

  it('a job whose cleanup fails is due again after 10, 20, 40 … minutes, a day at most', async () => {
    const { row } = fixtures.cleanup;
    await database.pool.query(
      `insert into jobs (${Object.keys(row).join(', ')}, cleanup_attempts) select ${Object.values(row).join(', ')}, n
       from unnest('{0,1,2,50}'::int[]) as n, (select now() - interval '1 day' as at) as since`,
    );
    await new CleanupStore(database).claim({ graceMs: 0, limit: 10 });
    const { rows } = await database.pool.query<{ minutes: number }>(
      `select round(extract(epoch from cleanup_after - now()) / 60)::int as minutes from jobs order by cleanup_after`,
    );
    expect(rows.map(({ minutes }) => minutes)).toEqual([10, 20, 40, 1440]);
  });

  describe.each(Object.entries(fixtures))('%s', (name, { row, claim, holdMs, delayMs = 0, takesAll }) => {
    const kind = name as DueKind;
    const { table, dueAt, hold } = dueRowsOf[kind];
    /** The later ones have been due for a second less, the last for `dueMs`; negative: it is not due yet. */
    const insert = (count: number, dueMs: number) =>
      database.pool.query(
        `insert into ${table} (${Object.keys(row).join(', ')}) select ${Object.values(row).join(', ')}
         from generate_series((select count(*) from ${table}), (select count(*) from ${table}) + $1 - 1) as n
         cross join lateral (select now() - ($2 + ($1 - n) * 1000) * interval '1 ms' as at) as since`,
        [count, dueMs + delayMs],
      );
    const dueKeys = async () => {
      const rows = await claimDue<{ due_key: unknown }>(database, keysText(kind), { limit: 1_000, delayMs });
      return rows.map(({ due_key: key }) => key);
    };

    it('claims at once take each row once, pass by one that is locked, and leave what is not due yet', async () => {
      await insert(20, minuteMs);
      await insert(3, -60 * minuteMs);
      const [oldest] = await dueKeys();
      const locker = await database.pool.connect();
      try {
        await locker.query('begin');
        await locker.query(`select from ${table} where id = $1 for update`, [oldest]);
        const taken = await Promise.all(Array.from({ length: 5 }, () => claim(database, 8)));
        taken.push(await claim(database, 8));
        expect(taken.reduce((sum, count) => sum + count, 0)).toBe(19);
      } finally {
        await locker.query('rollback');
        locker.release();
      }
      expect(await dueKeys()).toEqual([oldest]);
      expect([await claim(database, 8), await claim(database, 8)]).toEqual([1, 0]);
    });

    it.each([-5, 5])(
      'a process whose clock is %i minutes off claims what is due, and nothing else',
      async (minutes) => {
        await insert(2, secondMs);
        await insert(2, -minuteMs);
        vi.useFakeTimers({ toFake: ['Date'], now: Date.now() + minutes * minuteMs });
        onTestFinished(() => void vi.useRealTimers());
        expect([await claim(database, 8), await claim(database, 8)]).toEqual([2, 0]);
      },
    );

    if (takesAll !== true)
      it('the longest due come first, and no more than were asked for', async () => {
        await insert(3, minuteMs);
        const { rows } = await database.pool.query<{ id: unknown }>(`select id from ${table} order by ${dueAt}`);
        expect(await claim(database, 2)).toBe(2);
        expect(await dueKeys()).toEqual(rows.slice(2).map((last) => last.id));
      });

    it('of a process that died after its claim, a row is due again after the hold, and not before', async () => {
      await insert(1, minuteMs);
      const keys = await dueKeys();
      expect(await claim(database, 1)).toBe(1);
      expect(await dueKeys()).toEqual([]);
      if (holdMs === undefined || hold === undefined) return;
      const pass = (ms: number) =>
        database.pool.query(`update ${table} set ${hold.column} = ${hold.column} - $1 * interval '1 ms'`, [ms]);
      await pass(holdMs - 5 * secondMs);
      expect(await dueKeys()).toEqual([]);
      await pass(5 * secondMs);
      expect(await dueKeys()).toEqual(keys);
    });

    it('svc_due_work counts rows that are due and those that are late', async () => {
      await insert(2, lateAfterMs[kind] + minuteMs);
      await insert(3, minuteMs);
      await insert(1, -60 * minuteMs);
      const delays = Object.fromEntries(dueKinds.map((each) => [each, each === kind ? delayMs : null])) as DueDelays;
      const { [kind]: counted, ...others } = await new DueWorkStore(database).count(delays);
      expect(counted).toEqual({ due: 5, late: 2 });
      for (const other of Object.values(others)) expect(other).toEqual({ due: 0, late: 0 });
    });
  });
});

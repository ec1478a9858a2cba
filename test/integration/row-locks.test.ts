import { randomBytes, randomUUID } from 'node:crypto';
import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import type { JobResults } from '#domain/job-types/index.ts';
import { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { releaseHeldOf } from '#platform/postgres/held-jobs.ts';
import { JobStore, type NewJob } from '#platform/postgres/job-store.ts';
import { MediaDeletionStore } from '#platform/postgres/media-deletion-store.ts';
import { RetentionStore } from '#platform/postgres/retention-store.ts';
import { SessionStore } from '#platform/postgres/session-store.ts';
import { WebhookEventStore } from '#platform/postgres/webhook-event-store.ts';
import { migratedDatabase, OwnConnections } from '../../testing/databases.ts';
import { count, failure, newJob } from './postgres-fixtures.ts';

// Statements that change several rows lock them in one order (docs/decisions/0405): while another transaction has the
// first of them, a statement that waits for it holds none of the others.

interface Rows {
  readonly table: string;
  readonly key: string;
  readonly keys: readonly string[];
}

const made = { results: { key: 'images/x', outputs: [] } as unknown as JobResults, error: null };
const madeOf = { ...made, status: 'completed' as const, made: { objects: 1, bytes: 7 } };
const isBlocked = `
  select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
const lock = (client: Client, { table, key }: Rows, value: string | undefined) =>
  client.query(`select from ${table} where ${key} = $1 for update nowait`, [value]);

describe.skipIf(!inject('postgres'))('rows that several statements change', () => {
  let url: string;
  let database: Database;
  let jobs: JobStore;
  let deletions: MediaDeletionStore;
  let retention: RetentionStore;
  let drop: () => Promise<void>;
  const connections = new OwnConnections();
  beforeAll(async () => {
    ({ url, drop } = await migratedDatabase());
    database = openDatabase(url, { maxConnections: 20 });
    jobs = new JobStore(database);
    deletions = new MediaDeletionStore(database);
    retention = new RetentionStore(database);
  });
  afterEach(() => connections.close());
  afterAll(async () => {
    await database.close();
    await drop();
  });

  const connect = () => connections.open(url);
  /** While another transaction has the first of the rows: which of the others `act` has locked by then. */
  const lockedBefore = async (rows: Rows, act: () => Promise<unknown>): Promise<number> => {
    const [holding, looking] = await Promise.all([connect(), connect()]);
    const [first, ...others] = rows.keys.toSorted();
    await holding.query('begin');
    await lock(holding, rows, first);
    const acting = act();
    await expect.poll(async () => (await looking.query(isBlocked)).rowCount, { timeout: 10_000 }).toBe(1);
    let locked = 0;
    for (const key of others) await lock(looking, rows, key).catch(() => (locked += 1));
    await holding.query('commit');
    await acting;
    return locked;
  };
  /** The last by its id is inserted first. */
  const insert = async (over: (place: number) => Partial<NewJob> = () => ({})): Promise<string[]> => {
    const ids = Array.from({ length: 3 }, () => randomUUID())
      .toSorted()
      .toReversed();
    for (const [place, id] of ids.entries()) {
      const job = newJob({ id, ...over(place) });
      await jobs.insertOrFind({ ...job, idempotencyKey: id });
    }
    return ids;
  };
  const insertEnded = async (over?: (place: number) => Partial<NewJob>, end: object = {}): Promise<string[]> => {
    const ids = await insert(over);
    for (const id of ids) {
      await jobs.claim({ jobId: id, attempt: 1, owner: 'worker', leaseMs: 60_000 });
      await jobs.finish(failure(id, 1, end));
    }
    return ids;
  };
  const madeAgo = (id: string, days: number) =>
    database.pool.query(
      `update jobs set swept_at = now(), created_at = now() - $2 * interval '1 day',
        finished_at = now() - $2 * interval '1 day' - interval '1 s' where id = $1`,
      [id, days],
    );
  const beginDeletion = async (hash: string) =>
    (await deletions.begin({ id: randomUUID(), hash, reason: 'request', purge: null }))?.deletion as { id: string };
  const endDeletion = async ({ id }: { readonly id: string }, hash: string) => {
    await deletions.recordObjects(id, { objects: 0, bytes: 0, sha256: '' });
    await deletions.finish({ id, hash }, () => ({}) as never);
  };

  it.each<[what: string, make: () => Promise<string[]>, act: (ids: string[]) => Promise<unknown>]>([
    ['that were cleaned up', insertEnded, (ids) => new CleanupStore(database).markSwept(ids)],
    ['whose streams were removed', insertEnded, (ids) => retention.markRevisionsDeleted(ids)],
    ['that are old', insertEnded, (ids) => retention.deleteJobs(ids)],
    [
      'that wait for one pod',
      insert,
      (jobIds) => jobs.recordWaitingOf({ jobIds, attempt: 1 }, { code: 'no_slot', message: 'x' } as never),
    ],
    [
      'whose chunked encodes a deletion noted',
      insertEnded,
      (ids) => deletions.noteChunked(ids.map((id) => ({ id, revs: ['0'] }))),
    ],
    [
      'whose results a deletion forgets',
      async () => {
        const ids = await insertEnded(() => ({ hash: 'forgotten' }), madeOf);
        for (const [place, id] of ids.entries()) await madeAgo(id, place);
        return ids;
      },
      async () => endDeletion(await beginDeletion('forgotten'), 'forgotten'),
    ],
    [
      'that wait for the end of a deletion',
      async () => {
        await insertEnded(() => ({ hash: 'waited' }));
        await beginDeletion('waited');
        return insert(() => ({ hash: 'waited' }));
      },
      async () => endDeletion((await deletions.find('waited')) as { id: string }, 'waited'),
    ],
    [
      'that wait for a quota',
      async () => {
        const ids = await insert(() => ({ keyId: 'held' }));
        await database.pool.query(`update jobs set not_before = 'infinity' where id = any($1)`, [ids]);
        return ids;
      },
      () => releaseHeldOf(database, 'held'),
    ],
    [
      'whose webhooks are given up',
      async () => {
        const ids = await insertEnded(() => ({ callbackUrl: 'http://away.example/' }));
        await database.pool.query(`update webhook_events set next_attempt_at = now() - interval '2 days'`);
        return ids;
      },
      () => new WebhookEventStore(database).giveUp('away.example'),
    ],
  ])('jobs %s are locked in the order of their ids', async (_, make, act) => {
    const keys = await make();
    expect(await lockedBefore({ table: 'jobs', key: 'id', keys }, () => act(keys))).toBe(0);
  });

  it('media whose jobs expire are locked in the order of their hashes', async () => {
    // These come in another order from the hash join of the claim.
    const keys = ['o', 'm', 'n'];
    const ids = await insertEnded((place) => ({ hash: keys[place] as string }), madeOf);
    for (const [place, id] of ids.toReversed().entries()) await madeAgo(id, ids.length - place);
    const media = { table: 'media', key: 'hash', keys };
    expect(await lockedBefore(media, () => retention.claimOld({ retentionMs: 1, limit: 10 }))).toBe(0);
  });

  it('media whose last jobs are deleted are locked in the order of their hashes', async () => {
    const keys = ['f', 'e', 'd'];
    const ids = await insertEnded((place) => ({ hash: keys[place] as string }), madeOf);
    expect(await lockedBefore({ table: 'media', key: 'hash', keys }, () => retention.deleteJobs(ids))).toBe(0);
  });

  it('a job that is deleted while its webhook is sent again is not locked before the event', async () => {
    const [id = ''] = await insertEnded(() => ({ callbackUrl: 'http://again.example/' }));
    await database.pool.query(`update jobs set callback_status = 'callback_failed' where id = $1`, [id]);
    await database.pool.query('update webhook_events set next_attempt_at = null where job_id = $1', [id]);
    const [sending, looking] = await Promise.all([connect(), connect()]);
    await sending.query('begin');
    await sending.query('select from webhook_events where job_id = $1 for update', [id]);
    const deleting = retention.deleteJobs([id]);
    await expect.poll(async () => (await looking.query(isBlocked)).rowCount, { timeout: 10_000 }).toBe(1);
    await lock(looking, { table: 'jobs', key: 'id', keys: [] }, id);
    await sending.query('commit');
    await deleting;
    expect(await jobs.find(id)).toBeNull();
  });

  it.each<[what: string, old: string, insertion: string, act: () => Promise<unknown>]>([
    [
      'days of playback',
      `playback_days where day < '2021-01-01'`,
      `with made as (insert into media (hash) values ('day-a'), ('day-b') returning hash)
      insert into playback_days (hash, day, requests, starved, sessions, throughputs)
      select hash, '2020-01-01', 1, 0, 0::bit(3072), '{}' from made`,
      () => retention.deletePlaybackDays({ retentionMs: 1, limit: 10 }),
    ],
    [
      'sessions',
      'key_sessions where expires_at < now()',
      `insert into key_sessions (sha256, key_id, rights, expires_at, ends_at)
      select decode(text, 'hex'), 'k', '{read}', now() - interval '1 h', now() from unnest(array['aa', 'bb']) as text`,
      () => new SessionStore(database).insert({ sha256: randomBytes(32), keyId: 'k', rights: ['read'] }),
    ],
    [
      'receipts',
      `media_deletions where finished_at < '2021-01-01'`,
      `insert into media_deletions (id, hash, reason, requested_at, due_at, finished_at)
      select gen_random_uuid(), text, 'request', '2020-01-01', '2020-01-01', '2020-01-01'
      from unnest(array['receipt-a', 'receipt-b']) as text`,
      () => deletions.forgetReceipts(1),
    ],
  ])('of old %s those are deleted that no other transaction has locked', async (_, old, insertion, act) => {
    const holding = await connect();
    await database.pool.query(insertion);
    await holding.query('begin');
    await holding.query(`select from ${old} limit 1 for update`);
    await act();
    expect(await count(database, old)).toBe(1);
    await holding.query('commit');
  });
});

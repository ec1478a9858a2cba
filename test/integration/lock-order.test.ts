import type { Client } from 'pg';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { usageOf } from '#platform/postgres/usage-store.ts';
import { migratedDatabase, OwnConnections } from '../../testing/databases.ts';
import { makeKey } from '../../testing/named-keys.ts';
import { claimedJob } from './postgres-fixtures.ts';

// Two transactions that change several rows each, and meet on them in opposite orders (docs/decisions/0405).

/** Counts at once what a commit would, with a stop between. */
const begin = (client: Client) => client.query('begin; set constraints all immediate');
const endJob = (client: Client, id: string | undefined) =>
  client.query(`update jobs set status = 'failed', finished_at = now() where id = $1`, [id]);
const addDelivered = (client: Client, hash: string) => client.query('select note_delivered($1, $2)', [[hash], [5]]);
const day = new Date().toISOString().slice(0, 10);

describe.skipIf(!inject('postgres'))('transactions that change several rows', () => {
  let url: string;
  let database: Database;
  let jobs: JobStore;
  let drop: () => Promise<void>;
  const connections = new OwnConnections();
  beforeAll(async () => {
    ({ url, drop } = await migratedDatabase());
    database = openDatabase(url, { maxConnections: 20 });
    jobs = new JobStore(database);
  });
  afterEach(() => connections.close());
  afterAll(async () => {
    await database.close();
    await drop();
  });

  const connect = () => connections.open(url);
  /** Two connections whose processes have numbers with one remainder of 16. */
  const alike = async (): Promise<readonly [Client, Client]> => {
    const seen = new Map<number, Client>();
    for (;;) {
      const client = await connect();
      const { rows } = await client.query<{ pid: number }>('select pg_backend_pid() % 16 as pid');
      const { pid = 0 } = rows[0] ?? {};
      const other = seen.get(pid);
      if (other !== undefined) return [other, client];
      seen.set(pid, client);
    }
  };

  const makeOwner = (name: string) =>
    makeKey(database, { name, rights: ['read'], profiles: null, hashPrefix: `${name}-` });

  const endedOf = async (keyId: string) =>
    (await usageOf(database, { from: day, to: day, by: ['day'], keyId, limit: 10 })).map(({ jobs: ended }) => ended);

  it('C37.4: ends of jobs of two keys in opposite orders are all counted', async () => {
    const keys = ['a', 'b', 'a', 'b'];
    const ids = await Promise.all(keys.map(async (keyId) => (await claimedJob(jobs, { keyId })).id));
    const [one, other] = await alike();
    await Promise.all([begin(one), begin(other)]);
    await endJob(one, ids[0]);
    await endJob(other, ids[1]);
    await Promise.all([
      endJob(one, ids[3]).then(() => one.query('commit')),
      endJob(other, ids[2]).then(() => other.query('commit')),
    ]);
    expect([await endedOf('a'), await endedOf('b')]).toEqual([[2], [2]]);
  });

  it('C37.4: of more transactions at once than there are slots each is counted', async () => {
    const ends = Array.from({ length: 18 }, async () => {
      const [client, { id }] = await Promise.all([connect(), claimedJob(jobs, { keyId: 'many' })]);
      await begin(client);
      return { client, id };
    });
    const all = await Promise.all(ends);
    const waiting = new Set(all);
    const ending = all.map(async (end) => {
      await endJob(end.client, end.id);
      waiting.delete(end);
    });
    await expect.poll(() => waiting.size, { timeout: 20_000 }).toBe(2);
    for (const { client } of all.filter((end) => !waiting.has(end))) await client.query('commit');
    await Promise.all(ending);
    await Promise.all(all.map(({ client }) => client.query('commit')));
    expect(await endedOf('many')).toEqual([18]);
  });

  it('C37.21: bytes that two servers add for two keys in opposite orders are all counted', async () => {
    const owners = await Promise.all([makeOwner('first'), makeOwner('second')]);
    const [one, other] = [await connect(), await connect()];
    await Promise.all([one.query('begin'), other.query('begin')]);
    await addDelivered(one, 'first-1');
    const waits = addDelivered(other, 'second-1');
    const waiting = `select from pg_stat_activity where datname = current_database() and wait_event_type = 'Lock'`;
    await expect.poll(async () => (await database.pool.query(waiting)).rowCount).toBe(1);
    await addDelivered(one, 'second-2');
    await one.query('commit');
    await waits;
    await addDelivered(other, 'first-2');
    await other.query('commit');
    const question = { from: day, to: day, by: ['day'] as const, limit: 10 };
    for (const { id } of owners)
      expect(await usageOf(database, { ...question, keyId: id })).toMatchObject([{ deliveredBytes: 10 }]);
  });
});

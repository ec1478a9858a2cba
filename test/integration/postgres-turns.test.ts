import { randomUUID } from 'node:crypto';
import { expect, test } from 'vitest';
import { rolloutPriority, type Ticket } from '#domain/jobs/ticket.ts';
import { ticketOf } from '#jobs/submission/enqueue.ts';
import type { Job, ShownJob } from '#domain/jobs/job.ts';
import { waitingReasonOf } from '#platform/postgres/job-waiting.ts';
import type { NewJob } from '#platform/postgres/job-store.ts';
import { PoolTurns } from '../../controller/execution/pool-turns.ts';
import { failure, newJob } from './postgres-fixtures.ts';
import { describeStores } from './postgres-servers.ts';

/** What an attempt ran that took so much processor time. */
const units = (ms: number) => ({
  units: [
    {
      unit: 'image' as const,
      chunk: null,
      pod: null,
      steps: [
        {
          step: 'all' as const,
          started_at: new Date().toISOString(),
          duration_ms: ms,
          processor_ms: ms,
          code: null,
        },
      ],
    },
  ],
});

describeStores('the turns of keys', (c) => {
  const insert = async (over: Partial<NewJob>) => (await c.jobs.insertOrFind(newJob(over))).job;
  const claim = (jobId: string, owner: string) => c.jobs.claim({ jobId, attempt: 1, owner, leaseMs: 60_000 });
  const reasonOf = async (job: Job) =>
    (await waitingReasonOf(c.database, (await c.jobs.findShown(job.id)) as ShownJob))?.message;
  const weigh = (id: string, weight: number) =>
    c.database.pool.query(
      `insert into api_keys (id, name, sha256, rights, weight) values ($1, $1, $2, '{submit}', $3)
       on conflict (id) do update set weight = excluded.weight`,
      [id, Buffer.from(id), weight],
    );
  /** Of one process, whose looks are never old unless it says so. */
  const turnsOf = (owner: string) => {
    let nowMs = 0;
    const turns = new PoolTurns({ jobs: c.jobs, owner, now: () => nowMs });
    return {
      turns,
      /** The first jobs of the keys in their order. */
      order: async (pool = 'default') => {
        nowMs += 1_000;
        return (await turns.order(pool)).map(({ ticket }) => ticket?.jobId);
      },
    };
  };

  test('C36.5: inside a key priority and age decide', async () => {
    await insert({ keyId: 'a' });
    const early = await insert({ keyId: 'a', priority: 5 });
    await insert({ keyId: 'a', priority: 5 });
    const other = await insert({ keyId: 'b', priority: -3 });
    expect(await turnsOf('w').order()).toEqual([early.id, other.id]);
  });

  test('a key waits in a pool with what may begin there now', async () => {
    const named = await insert({ keyId: 'a', pool: 'gpu' });
    const large = await insert({ keyId: 'b', queue: 'video:large' });
    const own = await insert({ pool: 'default' });
    const later = await insert({ keyId: 'c' });
    await c.jobs.nextAttempt({ jobId: later.id, attempt: 1, countsAsFailure: true, delayMs: 60_000 });
    const deleted = await insert({ keyId: 'd' });
    await c.database.pool.query('insert into media_deletions (id, hash, reason) values ($1, $2, $3)', [
      randomUUID(),
      deleted.hash,
      'request',
    ]);
    const { order } = turnsOf('w');
    expect([await order('default'), await order('gpu'), await order('video-large')]).toEqual([
      [own.id],
      [named.id],
      [large.id],
    ]);
  });

  test('C36.4: a key with nothing but reruns of rollouts comes last', async () => {
    const rerun = await insert({ keyId: 'a', priority: rolloutPriority });
    const job = await insert({ keyId: 'b' });
    expect(await turnsOf('w').order()).toEqual([job.id, rerun.id]);
  });

  test('C36.1: claims count at once, and ended attempts with what was measured, by the weight of the key', async () => {
    await weigh('a', 1);
    await weigh('b', 10);
    const [a1, a2, b1, b2] = [
      await insert({ keyId: 'a' }),
      await insert({ keyId: 'a' }),
      await insert({ keyId: 'b' }),
      await insert({ keyId: 'b' }),
    ];
    const { turns, order } = turnsOf('w');
    expect(await order()).toEqual([a1.id, b1.id]);
    turns.claimed('default', (await claim(a1.id, 'w')) ?? a1);
    expect(await order()).toEqual([b1.id, a2.id]);
    turns.claimed('default', (await claim(b1.id, 'w')) ?? b1);
    expect(await order(), 'a second each, of which b pays a tenth').toEqual([b2.id, a2.id]);
    await c.jobs.finish(failure(a1.id, 1, units(500)));
    await c.jobs.finish(failure(b1.id, 1, units(6_000)));
    expect(await order()).toEqual([a2.id, b2.id]);
  });

  test.each([
    ['first', 'second'],
    ['second', 'first'],
  ])('two processes that see the same first job claim it once, the %s before', async (...owners) => {
    const [first, next] = [await insert({ keyId: 'b' }), await insert({ keyId: 'b' })];
    await insert({ keyId: 'c' });
    const both = owners.map((owner) => ({ owner, ...turnsOf(owner) }));
    for (const { order } of both) expect((await order())[0]).toBe(first.id);
    const claims = [];
    for (const { owner } of both) claims.push(await claim(first.id, owner));
    expect(claims.map((claimed) => claimed?.id)).toEqual([first.id, undefined]);
    // Of the one that came too late nothing was counted: the key has its turn there still.
    both[0]?.turns.claimed('default', first);
    expect((await both[1]?.order())?.[0]).toBe(next.id);
    expect((await both[0]?.order())?.[1]).toBe(next.id);
  });

  test('a process that starts knows the attempts that run under its name', async () => {
    const [a1, a2] = [await insert({ keyId: 'a' }), await insert({ keyId: 'a' })];
    const b = await insert({ keyId: 'b' });
    await claim(a1.id, 'kubernetes:batch');
    expect(await turnsOf('other').order()).toEqual([a2.id, b.id]);
    expect(await turnsOf('kubernetes').order()).toEqual([b.id, a2.id]);
  });

  test('C36.7: the reason of a job that waits beside other keys names what its key runs and its share', async () => {
    await weigh('a', 3);
    await weigh('b', 1);
    const [running, ahead, job] = [
      await insert({ keyId: 'a' }),
      await insert({ keyId: 'a' }),
      await insert({ keyId: 'a' }),
    ];
    await claim(running.id, 'w');
    for (let n = 0; n < 3; n++) await claim((await insert({ keyId: 'b' })).id, 'w');
    expect(await reasonOf(job)).toBe('1 waiting job is ahead; 4 jobs of its queue run.');
    const other = await insert({ keyId: 'b' });
    expect(await reasonOf(job)).toBe(
      '1 waiting job of its key is ahead; 1 job of its key runs, its share is 3; 2 keys wait.',
    );
    expect(await reasonOf(ahead)).toBe(
      'It is the next of its key; 1 job of its key runs, its share is 3; 2 keys wait.',
    );
    expect(await reasonOf(other)).toBe(
      'It is the next of its key; 3 jobs of its key run, its share is 1; 2 keys wait.',
    );
    const urgent = await insert({ keyId: 'a', priority: 1 });
    expect(await reasonOf(ahead)).toMatch(/^1 waiting job of its key is ahead/);
    expect(await reasonOf(urgent)).toMatch(/^It is the next of its key/);
  });

  test('within a look a key is read again only once it is its turn and its first job was used', async () => {
    const [a1, a2] = [await insert({ keyId: 'a' }), await insert({ keyId: 'a' })];
    const b1 = await insert({ keyId: 'b' });
    let looks = 0;
    const lookAtPool: typeof c.jobs.lookAtPool = (...given) => {
      looks += 1;
      return c.jobs.lookAtPool(...given);
    };
    const turns = new PoolTurns({ jobs: { lookAtPool }, owner: 'w', now: () => 0 });
    const first = async (asking?: Ticket) => [(await turns.order('default', asking))[0]?.ticket?.jobId, looks];
    const begin = async (job: Job) => {
      turns.claimed('default', (await claim(job.id, 'w')) ?? job);
      turns.forget('default', job.keyId ?? '');
    };
    expect(await first()).toEqual([a1.id, 1]);
    await begin(a1);
    expect(await first()).toEqual([b1.id, 1]);
    await begin(b1);
    expect(await first(ticketOf(a2)), 'the ticket of a has its first job').toEqual([a1.id, 1]);
    expect(await first()).toEqual([a2.id, 2]);
  });

  test('a suspended job counts no more than what it took before', async () => {
    const [a1, a2, b1, b2] = [
      await insert({ keyId: 'a' }),
      await insert({ keyId: 'a' }),
      await insert({ keyId: 'b' }),
      await insert({ keyId: 'b' }),
    ];
    for (const key of ['a', 'b']) await weigh(key, 1);
    const { turns, order } = turnsOf('w');
    turns.claimed('default', (await claim(a1.id, 'w')) ?? a1);
    await c.database.pool.query(`update jobs set phase = 'suspended' where id = $1`, [a1.id]);
    turns.claimed('default', (await claim(b1.id, 'w')) ?? b1);
    for (let look = 0; look < 5; look++) await order();
    expect(await order()).toEqual([a2.id, b2.id]);
  });

  test('a job that is gone, or claimed by another process, is counted no more', async () => {
    const [a1, a2, b] = [await insert({ keyId: 'a' }), await insert({ keyId: 'a' }), await insert({ keyId: 'b' })];
    const { turns, order } = turnsOf('w');
    turns.claimed('default', a1);
    await claim(a1.id, 'other');
    expect(await order()).toEqual([a2.id, b.id]);
    turns.claimed('default', a2);
    await c.database.pool.query('delete from jobs where id = $1', [a2.id]);
    expect(await order()).toEqual([b.id]);
  });
});

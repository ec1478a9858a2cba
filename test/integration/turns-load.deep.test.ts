import { EventEmitter, once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import type { Job } from '#domain/jobs/job.ts';
import { poolOfQueue } from '#domain/jobs/routing.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { admissionComponent } from '../../controller/execution/admission.ts';
import type { Executor } from '../../controller/execution/executor.ts';
import { PoolTurns } from '../../controller/execution/pool-turns.ts';
import { openRig, type Rig, until } from '../../testing/controller-rig.ts';
import { failure } from './postgres-fixtures.ts';

// A flood of one key and a few jobs of another, through admission, queue and database. What runs is played: a job takes
// a slot for its time.

const slots = 8;
const imageMs = 400;
// Played: what they are does not matter.
const [briefType, longType] = ['video:cover', 'video:preview'] as const;
const flood = Number(process.env['TURNS_FLOOD'] ?? 240);

interface Run {
  readonly p95Ms: number;
  readonly totalMs: number;
}

/** The least of two runs is what the way itself takes: other work on the machine only adds to it. */
const leastMs = (runs: readonly Run[]) => Math.min(...runs.map(({ totalMs }) => totalMs));

/** An executor whose jobs take `imageMs`, those of videos as long as the test. */
function playedExecutor({ jobs }: Rig, isFair: boolean): Executor {
  const freed = new EventEmitter();
  let free = slots;
  const slotsFree = () => free;
  const turns = new PoolTurns({ jobs, owner: 'played', now: () => performance.now() });
  // First come, first served: the ticket decides.
  if (!isFair)
    turns.order = async (_, ticket) =>
      ticket === undefined ? [] : [{ key: ticket.keyId ?? '', weight: 1, isBackground: false, ticket }];
  const work = async ({ id, attempt, type }: Job) => {
    if (type === longType) return;
    await sleep(imageMs);
    await jobs.finish(failure(id, attempt));
    free += 1;
    freed.emit('freed');
  };
  return {
    name: 'process',
    lease: { owner: 'played', durationMs: 600_000 },
    turns,
    start: () => Promise.resolve(),
    freeSlots: slotsFree,
    whenFree: async (_, signal) => {
      signal.throwIfAborted();
      while (slotsFree() === 0) await once(freed, 'freed', { signal });
    },
    poolOf: ({ queue }) => poolOfQueue[queue],
    admits: () => Promise.resolve(true),
    ticketsPastQueue: () => Promise.resolve([]),
    activePods: () => null,
    run: async (job) => {
      free -= 1;
      void work(job);
    },
    stop: () => Promise.resolve(),
  };
}

describe.skipIf(!inject('redis'))('a flood of a key, and twenty images of another', () => {
  let rig: Rig;
  beforeAll(async () => {
    rig = await openRig({ REDIS_URL: inject('redis')?.url ?? '' });
  });
  afterAll(() => rig.close());

  async function submit(keyId: string, images: number, videos = 0): Promise<void> {
    const kinds: (typeof briefType | typeof longType)[] = [
      ...Array.from({ length: videos }, () => longType),
      ...Array.from({ length: images }, () => briefType),
    ];
    await Promise.all(kinds.map((type) => rig.submit('ok', { keyId, type })));
  }

  const read = async <Row extends object>(text: string, parameters: unknown[]) =>
    (await rig.database.pool.query<Row>(text, parameters)).rows;
  const left = (keyId: string) =>
    read(`select from jobs where key_id = $1 and type = 'video:cover' and finished_at is null`, [keyId]);
  const allEnded = (keyId: string) =>
    until(
      () => left(keyId),
      (rows) => rows.length === 0,
      300_000,
    );
  const p95Of = async (keyId: string) => {
    const [row] = await read<{ p95: number }>(
      `select percentile_cont(0.95) within group (order by extract(epoch from started_at - created_at) * 1000) as p95
       from jobs where key_id = $1`,
      [keyId],
    );
    return Math.round(row?.p95 ?? 0);
  };

  /** What the other key waits, alone or beside the flood, and how long all images take. */
  async function run(name: string, { isFair, isAlone }: { isFair: boolean; isAlone: boolean }): Promise<Run> {
    const [many, few] = [`${name}-many`, `${name}-few`];
    const admission = admissionComponent('default', {
      jobs: rig.jobs,
      queue: rig.queue,
      executor: playedExecutor(rig, isFair),
      storageWatch: { isAway: false, whenAvailable: () => Promise.resolve() },
      metrics: new Metrics(),
      log: rig.log,
    });
    const startedAtMs = performance.now();
    if (!isAlone) await submit(many, flood, 1);
    await admission.start();
    if (!isAlone) await sleep(2_000);
    await submit(few, 20);
    await Promise.all([allEnded(many), allEnded(few)]);
    const totalMs = Math.round(performance.now() - startedAtMs);
    await admission.stop(new AbortController().signal);
    return { p95Ms: await p95Of(few), totalMs };
  }

  it(
    'C36.2: they wait at most twice as long as alone, and all take as long as first come, first served',
    { timeout: 900_000 },
    async () => {
      const alone = await run('alone', { isFair: true, isAlone: true });
      const [inOrder, inTurns]: [Run[], Run[]] = [[], []];
      for (const round of [1, 2]) {
        inOrder.push(await run(`in-order-${round}`, { isFair: false, isAlone: false }));
        inTurns.push(await run(`in-turns-${round}`, { isFair: true, isAlone: false }));
      }
      const seen = JSON.stringify({ alone, inOrder, inTurns });
      for (const { p95Ms } of inTurns) expect(p95Ms, seen).toBeLessThanOrEqual(2 * alone.p95Ms);
      for (const { p95Ms } of inOrder)
        expect(p95Ms, 'without turns they wait for the flood').toBeGreaterThan(4 * alone.p95Ms);
      expect(leastMs(inOrder) / leastMs(inTurns), seen).toBeGreaterThan(0.95);
    },
  );
});

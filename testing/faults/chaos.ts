import { readFile, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import * as callers from './callers.ts';
import { type ChaosGround, openChaosGround } from './chaos-ground.ts';
import { submitForever } from './chaos-jobs.ts';
import { type StorageFault, storageFaults } from './faulty-storage.ts';
import { changedTables, recordedWrites } from './history.ts';
import { Checker } from './invariants.ts';
import { probe } from './prober.ts';
import { send } from './processes.ts';
import { pick, type Random, randomOf } from './random.ts';
import { addSources } from './sources.ts';
import { openWorld, type World } from './world.ts';

// Jobs of all types, and a fault every few seconds. A seed decides which fault, of what, for how long, and the pause
// after it. When the faults have stopped, every job must come to its end, and then the checker looks.

interface Scene {
  readonly world: World;
  readonly chaos: ChaosGround;
  readonly random: Random;
}

/** Begins a fault; what it returns ends it. */
type Fault = (scene: Scene) => Promise<() => void | Promise<void>>;

const nothing = () => undefined;

/** A program, or a process below one. */
async function victim({ world, random }: Scene, isRunner: boolean): Promise<number> {
  const program = pick(random, isRunner ? world.workers : world.processes).current();
  return isRunner ? pick(random, [0, ...(await program.descendants())]) : program.pid;
}

const killed =
  (isRunner: boolean, signal: NodeJS.Signals): Fault =>
  async (scene) => {
    send(await victim(scene, isRunner), signal);
    return nothing;
  };

const paused =
  (isRunner: boolean): Fault =>
  async (scene) => {
    const pid = await victim(scene, isRunner);
    send(pid, 'SIGSTOP');
    return () => send(pid, 'SIGCONT');
  };

const proxied =
  (of: 'databaseProxy' | 'redisProxy'): Fault =>
  async ({ chaos, random }) => {
    await chaos[of].set(pick(random, ['cut', 'silent', 'swallow'] as const));
    return () => chaos[of].set('open');
  };

/** Notes how long PostgreSQL is away, for what servers can learn from it alone. */
function ofDatabase(fault: Fault): Fault {
  return async (scene) => {
    const { database } = scene.world.facts;
    database.faults += 1;
    const end = await fault(scene);
    return async () => {
      await end();
      database.faults -= 1;
      database.backAt = Date.now();
    };
  };
}

async function failingStorage({ world, chaos }: Scene, fault: StorageFault, share: number): ReturnType<Fault> {
  const end = chaos.storage.begin(fault, share);
  const from = Date.now();
  return () => {
    end();
    world.facts.outages.push({ from, to: Date.now(), isWhole: share === 1 });
  };
}

const faults: Readonly<Record<string, Fault>> = {
  'a program is killed': killed(false, 'SIGKILL'),
  'a program has to stop': killed(false, 'SIGTERM'),
  'a runner is killed': killed(true, 'SIGKILL'),
  'a program is frozen': paused(false),
  'a runner is frozen': paused(true),
  'Postgres is cut off': ofDatabase(proxied('databaseProxy')),
  'Redis is cut off': proxied('redisProxy'),
  'Redis is emptied': async ({ chaos }) => {
    await chaos.flushRedis();
    return nothing;
  },
  'Redis is replaced': async ({ chaos }) => {
    await chaos.replaceRedis();
    return nothing;
  },
  'Postgres crashes': ofDatabase(async ({ chaos }) => {
    await chaos.restartPostgres();
    return nothing;
  }),
  'the storage is faulty': (scene) =>
    failingStorage(scene, pick(scene.random, storageFaults), pick(scene.random, [0.2, 0.5])),
  'the storage is away': (scene) => failingStorage(scene, pick(scene.random, ['500', '503'] as const), 1),
  'the disk is full': async ({ chaos }) => chaos.fillDisk(),
  'a clock is wrong': async ({ world, random }) => {
    const process = pick(random, world.processes);
    await world.skew(process, Math.round((random() - 0.5) * 1_200_000));
    return () => world.skew(process, 0);
  },
  'webhooks are refused': async ({ world, random }) => {
    world.receiver.state.status = pick(random, [500, 503, 429, 400]);
    return () => {
      world.receiver.state.status = 204;
    };
  },
};

async function endLater(ms: number, end: Awaited<ReturnType<Fault>> | undefined): Promise<void> {
  await sleep(ms);
  await end?.();
}

/** Faults until `endAt`; all of them have ended when it resolves. @returns how many */
async function disturb(scene: Scene, endAt: number, print: (line: string) => void): Promise<number> {
  const { random } = scene;
  const lasting: Promise<void>[] = [];
  let count = 0;
  for (; Date.now() < endAt; count += 1) {
    const name = pick(random, Object.keys(faults));
    const [lastsMs, pauseMs] = [500 + random() * 7_500, 1_000 + random() * 3_000];
    print(`${name} for ${Math.round(lastsMs)} ms`);
    const end = await faults[name]?.(scene);
    lasting.push(endLater(Math.min(lastsMs, Math.max(0, endAt - Date.now())), end));
    await sleep(pauseMs);
  }
  await Promise.all(lasting);
  return count;
}

interface ChaosResult {
  readonly jobs: number;
  readonly failed: number;
  readonly faults: number;
  /** From the end of the last fault to the end of the last job. */
  readonly settledMs: number;
  readonly violations: readonly string[];
  /** How many of the other things callers began, such as `deletions`. */
  readonly others: Readonly<Record<string, number>>;
}

const countOthers = `
  select (select count(*) from media_deletions)::int as deletions, (select count(*) from uploads)::int as uploads,
    (select count(*) from imports)::int as imports,
    (select count(*) from jobs where rerun_of_job_id is not null)::int as reruns`;

/** How often an attempt may fail by itself: the default. */
const triesMax = 3;
const steadyMs = 5_000;

export async function runChaos(o: {
  seconds: number;
  seed: number;
  folder: string;
  print: (line: string) => void;
}): Promise<ChaosResult> {
  const [random, ofJobs] = [randomOf(o.seed), randomOf(o.seed + 1)];
  const chaos = await openChaosGround(randomOf(o.seed + 2));
  const world = await openWorld({ workers: 2, env: { WORKER_CONCURRENCY: '3' }, ground: chaos.ground });
  try {
    world.begin({ run: 0, fault: null, isCounted: false });
    await addSources(world, o.folder);
    const endProbe = probe(world);
    const endAt = Date.now() + o.seconds * 1_000;
    const submitting = submitForever(world, { random: ofJobs, endAt });
    const count = await disturb({ world, chaos, random }, endAt, o.print);
    const faultsEndedAt = Date.now();
    const ids = await submitting;
    // Jobs of a deleted media have no results that could be checked.
    const checked = 'select id from jobs where hash not in (select hash from media_deletions)';
    for (const { id } of (await world.database.pool.query<{ id: string }>(checked)).rows) ids.add(id);
    const violations: string[] = [];
    await world.settle().catch(async (error: unknown) => {
      violations.push(`I2: not settled: ${(error as Error).message}`);
      o.print(await processesOf(world));
    });
    const settledMs = Date.now() - faultsEndedAt;
    await endRest(world).catch((error: unknown) => violations.push(`I2: not ended: ${(error as Error).message}`));
    const checker = new Checker(world);
    violations.push(...(await endProbe()), ...(await checker.check([...ids], { triesMax, decodedMax: 5 })));
    // Cleanup comes an hour later, when no process of before writes any more.
    await Promise.all(world.workers.map((worker) => worker.restart()));
    await world.cleanUp();
    violations.push(...(await checker.check([...ids], { triesMax })), ...(await steadyWrites(world)));
    const others = (await world.database.pool.query<Record<string, number>>(countOthers)).rows[0] ?? {};
    violations.push(...(await world.stop()).map((left) => `I11: ${left} is left`));
    const evidence = violations.length > 0 ? await evidenceOf(world, violations.join(' ')) : '';
    const failed = (await world.database.pool.query(`select 1 from jobs where status = 'failed'`)).rowCount ?? 0;
    if (violations.length > 0)
      await writeFile(join(tmpdir(), `reelwright-chaos-${o.seed}.log`), evidence + world.output());
    return { jobs: ids.size, failed, faults: count, settledMs, others, violations: [...new Set(violations)] };
  } finally {
    await world.stop();
    await world.close();
  }
}

/** Ends what callers left open: deletions, imports and uploads. */
async function endRest(world: World): Promise<void> {
  for (const hash of world.facts.deletions.keys()) await callers.deletionEnded(world, hash);
  await callers.cleanUpImports(world);
  await callers.expireUploads(world);
}

/** The jobs, changes and objects of the media that violations name: a line of JSON each. */
async function evidenceOf({ database, media }: World, violations: string): Promise<string> {
  const jobs = await database.pool.query<{ readonly id: string; readonly hash: string }>(
    'select * from jobs where position(hash in $1) > 0 or position(id::text in $1) > 0 order by created_at',
    [violations],
  );
  const hashes = jobs.rows.map(({ hash }) => hash);
  const of = (table: string, column: string, values: readonly string[]) =>
    database.pool.query<object>(`select * from ${table} where ${column} = any($1)`, [values]).then(({ rows }) => rows);
  const ids = jobs.rows.map(({ id }) => id);
  const found: object[] = [
    ...jobs.rows,
    ...(await of('recorded_changes', 'job_id', ids)),
    ...(await of('media_deletions', 'hash', hashes)),
  ];
  for await (const object of media.list('')) if (hashes.some((hash) => object.key.includes(hash))) found.push(object);
  return found.map((each) => `${JSON.stringify(each)}\n`).join('');
}

/** The processes that run, and in which state: a line for each one below a worker. */
async function processesOf({ workers }: World): Promise<string> {
  const pids = (await Promise.all(workers.map(({ current }) => current().descendants()))).flat();
  const lines = pids.map(async (pid) => {
    const status = await readFile(`/proc/${pid}/status`, 'utf8').catch(() => '');
    const command = await readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '');
    return `${pid} ${/State:.*/.exec(status)?.[0]} ${command.replaceAll('\0', ' ').slice(0, 150)}`;
  });
  return (await Promise.all(lines)).join('\n  ');
}

/** Without jobs no row and no object changes, and nothing is sent. */
async function steadyWrites({ folder, database }: World): Promise<string[]> {
  await sleep(steadyMs);
  const since = new Date();
  await sleep(steadyMs);
  const sent = recordedWrites(folder).filter(({ at, kind }) => at > since.getTime() && kind !== 'sql');
  return [...sent.map(({ name }) => name), ...(await changedTables(database, since))].map(
    (what) => `I20: a service without jobs writes: ${what}`,
  );
}

import { link, mkdir, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { jobTypes } from '#domain/job-types/index.ts';
import { videoKey } from '#domain/media/object-keys.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { MediaDeletionStore } from '#platform/postgres/media-deletion-store.ts';
import { newJobOf } from '../../testing/new-job.ts';
import { startProgram } from '../../testing/programs.ts';
import { findProgram } from '../../testing/servers.ts';
import type { BenchLine, BenchSuite } from '../harness.ts';
import { type DeliveryScene, setUpDelivery } from '../support/delivery-scene.ts';
import type { PacedOutcome } from '../support/client-options.ts';
import { percentile, play } from '../support/load-processes.ts';
import { renice } from '../support/priority.ts';

// Many media are deleted by one worker while others play: objects a second, and how much longer players wait.
// BENCH_MEDIA media (1,000 by default) of 500 small objects each.

const objectsPerMedia = 500;
const rev = 'fedcba9876543210';
/** So many that a percentile is of a thousand requests of each kind. */
const perSecond = 120;
/** The worker is stopped and goes on by turns, so that what else changes with time changes both. */
const roundSeconds = 10;
const warmUp = { perSecond: 200, seconds: 10 };
const kinds = ['segments', 'keys', 'playlists'] as const;

export const deletionSuite: BenchSuite = {
  name: 'deletion',
  missing() {
    const absent = ['versitygw', 'redis-server'].filter((name) => findProgram(name) === null);
    return Promise.resolve(absent.length === 0 ? null : `there is no ${absent.join(' and no ')}`);
  },
  async run({ isQuick }) {
    const stops: (() => Promise<unknown>)[] = [];
    try {
      const scene = await setUpDelivery(stops, {});
      const database = openDatabase(scene.databaseUrl);
      stops.push(() => database.close());
      const count = Number(process.env['BENCH_MEDIA'] ?? (isQuick ? 40 : 1_000));
      const hashes = Array.from({ length: count }, (_, n) => `deleted-${n}`);
      await fill(scene.bucketDir, hashes);
      await requestDeletions(database, hashes);
      return await measure(scene, { database, objects: count * objectsPerMedia });
    } finally {
      for (const stop of stops.toReversed()) await stop();
    }
  },
};

/** The first object of each media is written; the others are links to its file, which may have 65,000 of them. */
async function fill(bucketDir: string, hashes: readonly string[]): Promise<void> {
  for (const hash of hashes) {
    const folder = join(bucketDir, dirname(videoKey(hash, rev, 'video/t/seg_0.m4s')));
    const [first = '', ...others] = Array.from({ length: objectsPerMedia }, (_, n) => join(folder, `seg_${n}.m4s`));
    await mkdir(folder, { recursive: true });
    await writeFile(first, Buffer.alloc(4096, 1));
    await Promise.all(others.map((other) => link(first, other)));
  }
}

/** Media whose jobs ended long ago, as most are that are deleted; servers know of the deletions by now. */
async function requestDeletions(database: Database, hashes: readonly string[]): Promise<void> {
  const [jobs, deletions] = [new JobStore(database), new MediaDeletionStore(database)];
  for (const hash of hashes) {
    const options = jobTypes['video:cover'].options.parse({});
    await jobs.insertOrFind(newJobOf({ type: 'video:cover', hash, source: 'a.mp4', options }));
  }
  await database.pool.query(
    `update jobs set status = 'failed', finished_at = now() - interval '1 day', swept_at = now()
     where hash like 'deleted-%'`,
  );
  for (const hash of hashes) await deletions.begin({ id: randomUUID(), hash, reason: 'request', purge: null });
  await database.pool.query(`update media_deletions set requested_at = now() - interval '1 minute'`);
}

interface Deleting {
  readonly database: Database;
  readonly objects: number;
}

async function measure(scene: DeliveryScene, deleting: Deleting): Promise<BenchLine[]> {
  const viewers = { port: scene.port, from: '127.0.0.1', requests: scene.requests };
  await play({ ...viewers, ...warmUp });
  const worker = await startProgram({
    args: ['--mode=worker'],
    env: { ...scene.env, WORK_DIR: dirname(scene.bucketDir) },
  });
  // Workers have nodes of their own: this one comes after the server that is measured, and after the storage.
  await renice(worker.pid, 10);
  const quiet = new Outcomes();
  const loaded = new Outcomes();
  const deletion = new DeletionWatch(deleting);
  while (!(await deletion.hasEnded())) {
    worker.signal('SIGSTOP');
    quiet.add(await play({ ...viewers, perSecond, seconds: roundSeconds }));
    worker.signal('SIGCONT');
    const playing = play({ ...viewers, perSecond, seconds: roundSeconds });
    await deletion.during(playing);
    loaded.add(await playing);
  }
  const rate = deletion.perSecond;
  const failed = loaded.failures.length;
  return [
    {
      id: 'deletion.objects',
      what: `objects of deleted media a second, ${deleting.objects} in all, while others play`,
      value: rate,
      unit: 'objects/s',
      ours: `${rate.toFixed(0)} a second`,
      peer: '–',
    },
    ...kinds.map((kind): BenchLine => {
      const [alone, beside] = [percentile(quiet.ms[kind], 0.99), percentile(loaded.ms[kind], 0.99)];
      return {
        id: `deletion.${kind}-p99`,
        what: `${kind} of others meanwhile, 99th percentile, to before`,
        value: beside / alone,
        unit: 'ratio',
        ours: `${beside.toFixed(1)} ms`,
        peer: `${alone.toFixed(1)} ms`,
      };
    }),
    {
      id: 'deletion.failed',
      what: `requests of others that failed ${loaded.failures[0] ?? ''}`.trim(),
      value: failed,
      unit: 'calls',
      ours: `${failed} of ${loaded.requests}`,
      peer: `${quiet.failures.length} before`,
    },
  ];
}

/** What players saw in some rounds. */
class Outcomes {
  readonly ms: Record<(typeof kinds)[number], number[]> = { segments: [], keys: [], playlists: [] };
  readonly failures: string[] = [];
  requests = 0;

  add(outcome: PacedOutcome): void {
    for (const kind of kinds) this.ms[kind].push(...(outcome.ms[kind] ?? []));
    this.failures.push(...outcome.failures);
    this.requests += perSecond * roundSeconds;
  }
}

/** The rate of the worker, from its first object on, without the time for which it is stopped. */
class DeletionWatch {
  readonly #database: Database;
  readonly #objects: number;
  #activeMs = 0;
  #notCounted = 0;

  constructor({ database, objects }: Deleting) {
    this.#database = database;
    this.#objects = objects;
  }

  get perSecond(): number {
    return ((this.#objects - this.#notCounted) * 1000) / this.#activeMs;
  }

  async hasEnded(): Promise<boolean> {
    return (await this.#state()).open === 0;
  }

  /** Until players have ended their round, or nothing is left. */
  async during(playing: Promise<unknown>): Promise<void> {
    const round = new AbortController();
    void playing.finally(() => round.abort());
    let sinceMs = performance.now();
    while (!round.signal.aborted) {
      const { deleted, open } = await this.#state();
      const nowMs = performance.now();
      if (this.#activeMs > 0 || this.#notCounted > 0) this.#activeMs += nowMs - sinceMs;
      else this.#notCounted = deleted;
      if (open === 0) return;
      sinceMs = nowMs;
      await sleep(100);
    }
  }

  async #state(): Promise<{ deleted: number; open: number }> {
    const { rows } = await this.#database.pool.query<{ deleted: number; open: number }>(
      `select sum(objects_deleted)::float8 as deleted, count(*) filter (where finished_at is null)::float8 as open
       from media_deletions`,
    );
    return rows[0] ?? { deleted: 0, open: 1 };
  }
}

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { resultManifestKey } from '#domain/media/object-keys.ts';
import { until } from '../controller-rig.ts';
import { slowFfmpeg } from '../counted-ffmpeg.ts';
import { announce, beginUpload, completeUpload, putPart } from './callers.ts';
import { Checker } from './invariants.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { send, type Supervised } from './processes.ts';
import { probe } from './prober.ts';
import { rolledOut, type Scenario, scenarios } from './scenarios.ts';
import { addSources, otherClip, smallImage, shortClip } from './sources.ts';
import { announcedPrefix, openWorld, type World } from './world.ts';

// For each planted bug what exposes it, and which invariant the checker must find broken.

interface Exposure {
  readonly invariant: string;
  readonly scenario: Scenario;
  readonly workers?: number;
  /** Whether an encode takes long enough to be caught at it. */
  readonly isSlow?: boolean;
  /** Whether no encode is split into chunks, which attempts share. */
  readonly isWhole?: boolean;
  /** How long its jobs have to end. */
  readonly withinMs?: number;
}

const encrypted = { options: { encrypt: true } };
const stream = (key: string, more: { hash?: string; options?: object } = {}): Scenario => {
  return async (world) => [await world.submit('video:transcode', key, more)];
};

/** Goes on until the image's job is what the bug makes of it, however long that takes. */
const imageUntil =
  (isSo: string): Scenario =>
  async (world) => {
    const id = await world.submit('image:thumbnail', 'image');
    await until(
      async () => (await world.database.pool.query(`select 1 from jobs where id = $1 and ${isSo}`, [id])).rowCount,
      (count) => count === 1,
      60_000,
    );
    return [id];
  };

function scenarioOf(name: string): Scenario {
  const scenario = scenarios[name];
  if (scenario === undefined) throw new Error(`no scenario is called ${name}`);
  return scenario;
}

/** The worker that holds a job, once it encodes. */
async function holderOf(world: World, id: string): Promise<Supervised> {
  const text = `select lease_owner from jobs where id = $1 and phase = 'encoding'`;
  const owner = await until(
    async () => (await world.database.pool.query<{ lease_owner: string }>(text, [id])).rows[0]?.lease_owner,
    (found) => found !== undefined,
    30_000,
  );
  const holder = world.workers.find(({ current }) => owner?.includes(`:${current().pid}:`));
  if (holder === undefined) throw new Error(`no worker is ${owner}`);
  return holder;
}

/** A worker and its runners are frozen until another one has continued its job. */
const frozenWorker =
  (hasContinued: string): Scenario =>
  async (world) => {
    const id = await world.submit('video:transcode', 'long');
    const holder = await holderOf(world, id);
    const { pid } = holder.current();
    const runners = await holder.current().descendants();
    for (const each of [pid, ...runners]) send(each, 'SIGSTOP');
    const text = `select 1 from jobs where id = $1 and ${hasContinued}`;
    try {
      await until(
        async () => (await world.database.pool.query(text, [id])).rowCount,
        (count) => count === 1,
        60_000,
      );
    } finally {
      // What they report waits for their worker, which writes it before it learns that its lease is lost.
      for (const each of runners) send(each, 'SIGCONT');
      await sleep(1_000);
      send(pid, 'SIGCONT');
    }
    // What it does next, unless it sees that its lease is lost: it ends its attempt.
    const manifest = () => world.media.head(resultManifestKey(id, 1));
    await until(manifest, (info) => info !== null, 25_000).catch(() => undefined);
    await sleep(4_000);
    return [id];
  };

export const exposures: Readonly<Record<PlantedBug, Exposure>> = {
  'a lost event row': { invariant: 'I7', scenario: imageUntil(`status = 'completed'`), withinMs: 4_000 },
  'a double publish': {
    invariant: 'I26',
    scenario: frozenWorker(`status = 'completed'`),
    workers: 2,
    isSlow: true,
    isWhole: true,
  },
  'writes of a stale owner': {
    invariant: 'I13',
    scenario: frozenWorker(`attempt = 2 and phase in ('probing', 'encoding')`),
    workers: 2,
    isSlow: true,
  },
  'a forgotten sweep': {
    invariant: 'I19',
    scenario: async (world) => {
      const ids = await stream('clip')(world);
      await world.settle();
      await world.cleanUp();
      return ids;
    },
  },
  'a key in a log': { invariant: 'I10', scenario: stream('clip', encrypted) },
  'a chunk of another plan': { invariant: 'I5', scenario: stream('long') },
  'a deletion without its fence': {
    invariant: 'I16',
    scenario: async (world) => {
      const hash = 'fenced';
      const shared = await world.submit('video:full', 'long', { hash });
      await world.settle();
      const ids = await stream('long', { hash })(world);
      await world.settle();
      ids.push(...(await stream('clip', { hash, ...encrypted })(world)));
      await world.settle();
      await world.cleanUp();
      await world.retire(`id = '${shared}'`);
      return ids;
    },
  },
  'half a surrogate in results': { invariant: 'I22', scenario: stream('clip') },
  'a lease by the local clock': {
    invariant: 'I13',
    workers: 2,
    isSlow: true,
    scenario: async (world) => {
      const id = await world.submit('video:transcode', 'long');
      const holder = await holderOf(world, id);
      for (const other of world.workers) if (other !== holder) await world.skew(other, 3_600_000);
      await sleep(4_000);
      return [id];
    },
  },
  'a status that goes back': { invariant: 'I1', scenario: imageUntil(`callback_status = 'sent'`), withinMs: 0 },
  'an outage that counts as a failure': {
    invariant: 'I23',
    isSlow: true,
    scenario: async (world) => {
      const id = await world.submit('video:transcode', 'clip');
      await holderOf(world, id);
      await world.outage(20_000);
      return [id];
    },
  },
  'a budget that is not looked at': {
    invariant: 'I33',
    scenario: (world) => rolledOut(world, { budget: { jobs: 1 } }),
  },
  'a rollback that publishes nothing': {
    invariant: 'I34',
    scenario: (world) => rolledOut(world, { budget: { jobs: 3 }, canary: { share: 1, max_bytes_ratio: 0.001 } }),
  },
  'a source that was replaced': {
    invariant: 'I24',
    scenario: async (world) => {
      for (const { current } of world.workers) current().signal('SIGSTOP');
      const ids = await stream('clip')(world);
      await world.addSource('clip', await otherClip());
      for (const { current } of world.workers) current().signal('SIGCONT');
      return ids;
    },
  },
  'a clear segment in an encrypted media': { invariant: 'I18', scenario: stream('clip', encrypted) },
  'a deletion that forgets a folder': { invariant: 'I28', scenario: scenarioOf('a deleted media') },
  'an upload that replaces another': {
    invariant: 'I29',
    scenario: async (world) => {
      for (const file of [await smallImage(), await shortClip()]) {
        const bytes = await readFile(file);
        const upload = await beginUpload(world, bytes);
        await putPart(world, upload, bytes);
        await completeUpload(world, upload);
      }
      return [];
    },
  },
  'parts that stay': { invariant: 'I30', scenario: scenarioOf('uploads that do not complete') },
  'an import of another digest': { invariant: 'I29', scenario: scenarioOf('an import') },
  'an import that leaves its object': { invariant: 'I30', scenario: scenarioOf('imports that do not complete') },
  'digests of nothing': { invariant: 'I14', scenario: scenarioOf('a cover') },
  'an event that is not remembered': {
    invariant: 'I31',
    scenario: async (world) => {
      // A job that fails: an equal event would find one that has completed.
      const key = `${announcedPrefix}broken`;
      await world.addSource(key, join(import.meta.dirname, 'planted.ts'));
      await announce(world, key, 'first');
      await world.settle();
      await announce(world, key, 'first');
      return [];
    },
  },
  'two reruns at once': { invariant: 'I32', scenario: scenarioOf('a rerun') },
  'a receiver that is forgotten': { invariant: 'I7', scenario: scenarioOf('several receivers') },
};

/** A bug may keep a job from its end; without that, a chunked encode takes half of this on a busy machine. */
const settleMs = 45_000;

/** Runs what exposes a bug, with the bug or without. @returns what the checker finds */
export async function expose(bug: PlantedBug, o: { isPlanted: boolean; folder: string }) {
  const { scenario, workers = 1, withinMs = settleMs, isSlow = false, isWhole = false } = exposures[bug];
  const env = {
    ...(isSlow ? { FFMPEG_PATH: await slowFfmpeg(o.folder) } : {}),
    ...(isWhole ? { CHUNK_LENGTH: '60s' } : {}),
  };
  const world = await openWorld({ workers, env, ...(o.isPlanted ? { planted: bug } : {}) });
  try {
    await addSources(world, o.folder);
    const endProbe = probe(world);
    const ids = await scenario(world);
    await world.settle(o.isPlanted ? withinMs : undefined).catch(() => undefined);
    return [...(await endProbe()), ...(await new Checker(world).check(ids, { decodedMax: 5 }))];
  } finally {
    await world.stop();
    await world.close();
  }
}

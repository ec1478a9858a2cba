import { until } from '../controller-rig.ts';
import { Checker } from './invariants.ts';
import type { PlantedBug } from './planted-bugs.ts';
import { probe } from './prober.ts';
import { rolledOut, type Scenario, scenarios } from './scenarios.ts';
import { addSources } from './sources.ts';
import { openWorld } from './world.ts';

// For each planted bug what exposes it, and which invariant the checker must find broken.

interface Exposure {
  readonly invariant: string;
  readonly scenario: Scenario;
  /** How long its jobs have to end. */
  readonly withinMs?: number;
}

const encrypted = { options: { encrypt: true } };
const stream =
  (key: string, more: { options?: object } = {}): Scenario =>
  async (world) => [await world.submit('video:transcode', key, more)];

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

export const exposures: Readonly<Record<PlantedBug, Exposure>> = {
  'a lost event row': { invariant: 'I7', scenario: imageUntil(`status = 'completed'`), withinMs: 4_000 },
  'a key in a log': { invariant: 'I10', scenario: stream('clip', encrypted) },
  'a chunk of another plan': { invariant: 'I5', scenario: stream('long') },
  'half a surrogate in results': { invariant: 'I22', scenario: stream('clip') },
  'a status that goes back': { invariant: 'I1', scenario: imageUntil(`callback_status = 'sent'`), withinMs: 0 },
  'a budget that is not looked at': {
    invariant: 'I33',
    scenario: (world) => rolledOut(world, { budget: { jobs: 1 } }),
  },
  'a rollback that publishes nothing': {
    invariant: 'I34',
    scenario: (world) => rolledOut(world, { budget: { jobs: 3 }, canary: { share: 1, max_bytes_ratio: 0.001 } }),
  },
  'a clear segment in an encrypted media': { invariant: 'I18', scenario: stream('clip', encrypted) },
  'a deletion that forgets a folder': { invariant: 'I28', scenario: scenarioOf('a deleted media') },
  'parts that stay': { invariant: 'I30', scenario: scenarioOf('uploads that do not complete') },
  'an import of another digest': { invariant: 'I29', scenario: scenarioOf('an import') },
  'an import that leaves its object': { invariant: 'I30', scenario: scenarioOf('imports that do not complete') },
  'digests of nothing': { invariant: 'I14', scenario: scenarioOf('a cover') },
  'two reruns at once': { invariant: 'I32', scenario: scenarioOf('a rerun') },
  'an attempt that is counted twice': { invariant: 'I39', scenario: stream('clip') },
  'a receiver that is forgotten': { invariant: 'I7', scenario: scenarioOf('several receivers') },
};

/** A bug may keep a job from its end; without that, a chunked encode takes half of this on a busy machine. */
const settleMs = 45_000;

/** Runs what exposes a bug, with the bug or without. @returns what the checker finds */
export async function expose(bug: PlantedBug, o: { isPlanted: boolean; folder: string }) {
  const { scenario, withinMs = settleMs } = exposures[bug];
  const world = await openWorld(o.isPlanted ? { planted: bug } : {});
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

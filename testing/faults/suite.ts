import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { endPrograms } from '../programs.ts';
import { Replay } from './replay.ts';
import type { Scenario } from './scenarios.ts';
import { addSources } from './sources.ts';
import type { World } from './world.ts';

interface Suite {
  readonly open: () => Promise<World>;
  readonly scenarios: Readonly<Record<string, Scenario>>;
  /** Each how many-th run is made. */
  readonly share: number;
}

/** Tests that replay each scenario with faults at its writes, and print what was run. */
export function replayScenarios({ open, scenarios, share }: Suite): void {
  let folder: string;
  let world: World;
  let replay: Replay;
  let totals = { points: 0, runs: 0, missed: 0 };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reelwright-faults-sources-'));
    world = await open();
    replay = new Replay(world);
    await addSources(world, folder);
    await replay.learnTimers();
  });
  afterAll(async () => {
    expect(await world.stop()).toEqual([]);
    await world.close();
    await endPrograms();
    await rm(folder, { recursive: true, force: true });
    process.stdout.write(`faults: ${totals.points} points, ${totals.runs} runs, ${totals.missed} missed\n`);
  });

  it.each(Object.entries(scenarios))('%s', { timeout: 3_600_000 }, async (name, scenario) => {
    const { violations, ...counts } = await replay.scenario(scenario, (index) => index % share === 0);
    process.stdout.write(`${name}: ${counts.points} points, ${counts.runs} runs, ${counts.missed} missed\n`);
    totals = {
      points: totals.points + counts.points,
      runs: totals.runs + counts.runs,
      missed: totals.missed + counts.missed,
    };
    expect(violations).toEqual([]);
  });
}

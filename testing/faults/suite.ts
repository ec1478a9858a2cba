import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { sample } from '../media.ts';
import { endPrograms } from '../programs.ts';
import { Replay } from './replay.ts';
import { brokenSource, type Scenario } from './scenarios.ts';
import type { World } from './world.ts';

interface Suite {
  readonly open: () => Promise<World>;
  readonly scenarios: Readonly<Record<string, Scenario>>;
  /** Each how many-th run is made. */
  readonly share: number;
}

function videoOf(seconds: number): string {
  const [video, audio] = [`testsrc2=s=192x108:r=10:d=${seconds}`, `sine=f=440:r=48000:d=${seconds}`];
  return `-f lavfi -i ${video} -f lavfi -i ${audio} -c:v libx264 -g 20 -pix_fmt yuv420p -c:a aac`;
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
    await world.addSource('clip', await sample('faults.mp4', videoOf(3)));
    await world.addSource('long', await sample('faults-long.mp4', videoOf(19)));
    await world.addSource('image', await sample('faults.png', '-f lavfi -i testsrc2=s=320x240 -frames:v 1'));
    await writeFile(join(folder, 'broken'), 'no video');
    await world.addSource(brokenSource, join(folder, 'broken'));
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

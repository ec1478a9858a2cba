import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { Replay } from '../../testing/faults/replay.ts';
import { brokenSource, scenarios } from '../../testing/faults/scenarios.ts';
import { openWorld, type World } from '../../testing/faults/world.ts';
import { sample } from '../../testing/media.ts';
import { endPrograms } from '../../testing/programs.ts';

// A crash, a failure, a lost answer, a delay and a conflict at the writes of each scenario. `make faults` makes every
// run; `make test` one or two of each scenario.

/** Each how many-th run is made. */
const share = Number(process.env['FAULTS_SHARE'] ?? 120);

function videoOf(seconds: number): string {
  const [video, audio] = [`testsrc2=s=192x108:r=10:d=${seconds}`, `sine=f=440:r=48000:d=${seconds}`];
  return `-f lavfi -i ${video} -f lavfi -i ${audio} -c:v libx264 -g 20 -pix_fmt yuv420p -c:a aac`;
}

describe.skipIf(!inject('postgres') || !inject('redis'))('a fault at a write', () => {
  let folder: string;
  let world: World;
  let replay: Replay;
  let totals = { points: 0, runs: 0, missed: 0 };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reelwright-faults-sources-'));
    world = await openWorld();
    replay = new Replay(world);
    await world.addSource('clip', await sample('faults.mp4', videoOf(3)));
    await world.addSource('long', await sample('faults-long.mp4', videoOf(19)));
    await world.addSource('image', await sample('faults.png', '-f lavfi -i testsrc2=s=320x240 -frames:v 1'));
    await writeFile(join(folder, 'broken'), 'no video');
    await world.addSource(brokenSource, join(folder, 'broken'));
  });
  afterAll(async () => {
    expect(await world.stop()).toEqual([]);
    await world.close();
    await endPrograms();
    await rm(folder, { recursive: true, force: true });
    process.stdout.write(`faults: ${totals.points} points, ${totals.runs} runs, ${totals.missed} missed\n`);
  });

  beforeAll(() => replay.learnTimers());

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
});

import { createHash } from 'node:crypto';
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
  /** Each how many-th run is made, and at least one of each scenario. */
  readonly share: number;
  /** Which ones, from 0 to `share` - 1. */
  readonly slice: number;
}

/** Scenarios wait for leases and processes half of their time, so two run at once, each in a world of its own. */
const lanesMax = 2;

/** Tests that replay each scenario with faults at its writes, and print what was run. */
export function replayScenarios({ open, scenarios, share, slice }: Suite): void {
  let folder: string;
  let worlds: World[] = [];
  const free: Replay[] = [];
  const waiting: ((replay: Replay) => void)[] = [];
  let totals = { points: 0, runs: 0, missed: 0 };

  const take = () => {
    const replay = free.pop();
    return replay === undefined ? new Promise<Replay>((resolve) => waiting.push(resolve)) : Promise.resolve(replay);
  };
  const giveBack = (replay: Replay) => {
    const next = waiting.shift();
    if (next === undefined) free.push(replay);
    else next(replay);
  };

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reelwright-faults-sources-'));
    worlds = await Promise.all(Array.from({ length: lanesMax }, open));
    await Promise.all(worlds.map((world) => addSources(world, folder)));
    const replays = worlds.map((world) => new Replay(world));
    await Promise.all(replays.map((replay) => replay.learnTimers()));
    free.push(...replays);
  });
  afterAll(async () => {
    const left = await Promise.all(worlds.map((world) => world.stop()));
    expect(left.flat()).toEqual([]);
    await Promise.all(worlds.map((world) => world.close()));
    await endPrograms();
    await rm(folder, { recursive: true, force: true });
    process.stdout.write(`faults: ${totals.points} points, ${totals.runs} runs, ${totals.missed} missed\n`);
  });

  it.concurrent.each(Object.entries(scenarios))('%s', { timeout: 3_600_000 }, async (name, scenario) => {
    const isChosen = (index: number, count: number) => {
      const every = Math.min(share, count);
      return index % every === (firstOf(name) + slice) % every;
    };
    const replay = await take();
    const { violations, lines, ...counts } = await replay.scenario(scenario, isChosen).finally(() => giveBack(replay));
    process.stdout.write(`${name}: ${counts.points} points, ${counts.runs} runs, ${counts.missed} missed\n`);
    process.stdout.write(lines.map((line) => `  ${line}\n`).join(''));
    totals = {
      points: totals.points + counts.points,
      runs: totals.runs + counts.runs,
      missed: totals.missed + counts.missed,
    };
    expect(violations).toEqual([]);
  });
}

/** Each scenario begins elsewhere, so that a share has other writes of each. */
const firstOf = (name: string) => Number.parseInt(createHash('sha256').update(name).digest('hex').slice(0, 8), 16);

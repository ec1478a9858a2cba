import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { plantedBugs, type PlantedBug } from '../../testing/faults/planted-bugs.ts';
import { expose, exposures } from '../../testing/faults/planted.ts';

// The checker is tested by bugs. `make planted` plants each; `make test` three that take a few seconds each.

const quick: readonly string[] = ['a lost event row', 'a key in a log', 'a status that goes back'];
const isWhole = process.env['PLANTED'] === 'all';
const bugs = (Object.keys(plantedBugs) as PlantedBug[]).filter((bug) => isWhole || quick.includes(bug));

describe.skipIf(!inject('postgres') || !inject('redis'))('the checker', () => {
  let folder: string;
  let caught = 0;

  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'reelwright-planted-'));
  });
  afterAll(async () => {
    await rm(folder, { recursive: true, force: true });
    process.stdout.write(`planted: ${caught} of ${bugs.length} caught\n`);
  });

  it.each(bugs)('finds %s, and nothing where it was not planted', { timeout: 300_000 }, async (bug) => {
    if (isWhole) expect(await expose(bug, { isPlanted: false, folder })).toEqual([]);
    const found = await expose(bug, { isPlanted: true, folder });
    const { invariant } = exposures[bug];
    process.stdout.write(`  ${bug}: ${found.find((line) => line.startsWith(`${invariant}:`)) ?? 'not found'}\n`);
    expect(found).toContainEqual(expect.stringMatching(new RegExp(`^${invariant}:`)));
    caught += 1;
  });
});

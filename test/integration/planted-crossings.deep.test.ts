import { describe, expect, inject, it } from 'vitest';
import { type PlantedCrossing, plantedCrossings } from '../../testing/faults/crossings/planted-crossings.ts';
import { crossingsIn } from '../../testing/faults/crossings/start.ts';

// The crossings are tested by bugs, each in a run of its own that ends as soon as it is found: `make planted` plants
// all of them, a run of the deep tier one that is found within seconds.

const isWhole = process.env['PLANTED'] === 'all';
const quick: readonly PlantedCrossing[] = ['a deletion that covers nothing that came later'];
const seed = Number(process.env['CROSSINGS_SEED'] ?? 1);
const withinSeconds = isWhole ? 900 : 120;

const named = process.env['PLANTED_ONLY']?.split(',') as PlantedCrossing[] | undefined;
const bugs = named ?? (isWhole ? (Object.keys(plantedCrossings) as PlantedCrossing[]) : quick);

describe.skipIf(!inject('postgres'))('actors that meet on one media', () => {
  it.each(bugs)('show %s', { timeout: 2_000_000 }, async (planted) => {
    const { invariant } = plantedCrossings[planted];
    const { violations, seconds, rounds } = await crossingsIn({ seed, seconds: withinSeconds, planted });
    const [first = 'not found'] = violations;
    process.stdout.write(`  ${planted}: after ${seconds} s, ${rounds} rounds: ${first}\n`);
    expect(violations).toContainEqual(expect.stringMatching(new RegExp(`^${invariant}:`)));
  });
});

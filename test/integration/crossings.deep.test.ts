import { describe, expect, inject, it } from 'vitest';
import { crossingsIn } from '../../testing/faults/crossings/start.ts';

// Two and more actors on the same few media at once (docs/reference/invariants.md, I35 to I38). `make crossings` takes
// longer, with another seed.

const minutes = process.env['CROSSINGS_MINUTES'];
const seconds = minutes === undefined ? 25 : Number(minutes) * 60;
const seed = Number(process.env['CROSSINGS_SEED'] ?? 1);

describe.skipIf(!inject('postgres'))('actors that meet on one media', () => {
  it(
    'play the last accepted intent, and nothing of what was deleted, held or cancelled',
    { timeout: 7_200_000, retry: 0 },
    async () => {
      const { rounds, deeds, violations, output } = await crossingsIn({ seed, seconds });
      if (violations.length > 0) process.stdout.write(output);
      const count = Object.values(deeds).reduce((sum, each) => sum + each, 0);
      process.stdout.write(
        `crossings: ${count} deeds, ${rounds} rounds, ${violations.length} violations, seed ${seed}\n`,
      );
      expect(violations).toEqual([]);
    },
  );
});

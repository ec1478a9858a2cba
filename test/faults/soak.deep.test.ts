import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { growthPercent, runSoak } from '../../testing/faults/soak.ts';

// `make soak`. In `make test` only how growth is measured, since minutes say nothing of an hour.

const at = (minute: number) => ({ atMs: minute * 60_000, value: 100 + minute / 6 + (minute % 3) });

const minutes = Number(process.env['SOAK_MINUTES'] ?? 0);

describe('soak', () => {
  it('sees a growth of a tenth in an hour through noise and one collection of garbage', () => {
    const samples = Array.from({ length: 60 }, (_, minute) => at(minute));
    samples[30] = { atMs: 30 * 60_000, value: 40 };
    expect(growthPercent(samples)).toBeGreaterThan(8);
    expect(growthPercent(samples)).toBeLessThan(11);
    expect(growthPercent(samples.map(({ atMs }, index) => ({ atMs, value: 100 + (index % 3) })))).toBe(0);
  });

  if (minutes > 0)
    it(
      'no program grows by more than 5 % an hour under a steady load',
      { timeout: (minutes + 10) * 60_000 },
      async () => {
        const folder = await mkdtemp(join(tmpdir(), 'reelwright-soak-sources-'));
        const { jobs, lines, violations } = await runSoak({ minutes, seed: 1, folder });
        await rm(folder, { recursive: true, force: true });
        process.stdout.write(`${lines.map((line) => `  ${line}\n`).join('')}soak: ${jobs} jobs, ${minutes} minutes\n`);
        expect(violations).toEqual([]);
      },
    );
});

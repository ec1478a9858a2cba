import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, inject, it } from 'vitest';
import { runChaos } from '../../testing/faults/chaos.ts';

// A random fault every few seconds while jobs of all types run. `make chaos` takes longer, with another seed.

const seconds = Number(process.env['CHAOS_MINUTES'] ?? 0) * 60 || 30;
const seed = Number(process.env['CHAOS_SEED'] ?? 1);
const isLong = process.env['CHAOS_MINUTES'] !== undefined;

const print = (line: string) => void (isLong && process.stdout.write(`  ${line}\n`));

describe.skipIf(!inject('redis') || inject('s3')?.program !== 'versitygw')('chaos', () => {
  it('breaks no invariant, and every job ends after the last fault', { timeout: 7_200_000 }, async () => {
    const folder = await mkdtemp(join(tmpdir(), 'reelwright-chaos-sources-'));
    const result = await runChaos({ seconds, seed, folder, print });
    await rm(folder, { recursive: true, force: true });
    const { jobs, failed, faults, settledMs, others, violations } = result;
    process.stdout.write(
      `chaos: ${jobs} jobs, ${faults} faults, ${violations.length} violations, seed ${seed}` +
        ` (${failed} failed, settled in ${settledMs} ms; ${JSON.stringify(others)})\n`,
    );
    expect(violations).toEqual([]);
  });
});

/** A tier of tests: CONTRIBUTING.md, "Tests". */
export interface Tier {
  /** The command that runs the tests of the tier; paths of files and flags of vitest follow it. */
  readonly command: readonly [program: string, ...args: string[]];
  /** The pattern of its files, for those that are run in slices. */
  readonly files: string;
  /** How many slices of about the same time a commit chooses from; 1 runs whole. */
  readonly slices: number;
  /** Processor seconds of the whole tier, of the tests and all that they start, on the reference machine. */
  readonly budgetSec: number;
}

/** The budgets are about half as much again as was measured on two cores; CONTRIBUTING.md has the table. */
export const tiers = {
  unit: { command: ['vitest', 'run', '--project', 'unit'], files: '', slices: 1, budgetSec: 120 },
  service: { command: ['vitest', 'run', '--project', 'service'], files: '', slices: 1, budgetSec: 1050 },
  deep: {
    command: ['vitest', 'run', '--project', 'deep'],
    files: 'test/{contract,integration,faults}/**/*.deep.test.ts',
    slices: 12,
    budgetSec: 4000,
  },
  k8s: {
    command: ['vitest', 'run', '--config', 'test/k8s/vitest.config.ts'],
    files: 'test/k8s/**/*.test.ts',
    slices: 6,
    budgetSec: 1400,
  },
  e2e: { command: ['scripts/e2e'], files: 'test/e2e/**/*.test.ts', slices: 4, budgetSec: 2000 },
} satisfies Record<string, Tier>;

export type TierName = keyof typeof tiers;

export function isTierName(name: string): name is TierName {
  return Object.hasOwn(tiers, name);
}

import { defineConfig } from 'vitest/config';

// Unit tests stand beside the code and touch nothing outside the process but a temporary folder. What runs against real
// servers lives in test/. A test file that is in neither list does not exist: `unit` takes all that is left.
const realTests = 'test/{contract,integration,faults}/**/*.test.ts';
const ownConfigurations = 'test/{k8s,e2e}/**';

export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          include: ['**/*.test.ts'],
          exclude: [realTests, ownConfigurations, 'node_modules/**', '.tools/**', '.reelwright/**'],
          maxWorkers: '100%',
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          name: 'real',
          include: [realTests],
          globalSetup: ['testing/global-setup.ts'],
          testTimeout: 120_000,
          // A second, the default, is short for a browser that shares two cores.
          expect: { poll: { timeout: 20_000 } },
          hookTimeout: 120_000,
          maxWorkers: 2,
          // After the unit tests, so that nothing else competes for the processor where time matters.
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});

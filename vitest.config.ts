import { defineConfig } from 'vitest/config';
import { LongestFirst } from './testing/longest-first.ts';

// Unit tests stand beside the code and touch nothing outside the process but a temporary folder. What runs against real
// servers lives in test/. A test file that is in neither list does not exist: `unit` takes all that is left.
const realTests = 'test/{contract,integration,faults}/**/*.test.ts';
const ownConfigurations = 'test/{k8s,e2e}/**';

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    projects: [
      {
        test: {
          name: 'unit',
          include: ['**/*.test.ts'],
          exclude: [realTests, ownConfigurations, 'node_modules/**', '.tools/**', '.reelwright/**'],
          maxWorkers: '100%',
          // Most take milliseconds; a busy machine stalls one that compiles or reads the whole tree.
          testTimeout: 60_000,
          // They leave nothing behind in a module, so files share them: half the time of a run is importing.
          isolate: false,
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
          // One more than the cores of a small machine: files wait for leases and players a third of their time.
          maxWorkers: 3,
          // As above. A test that limits what a module of its process may do starts a process of its own.
          isolate: false,
          // After the unit tests, so that nothing else competes for the processor where time matters.
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});

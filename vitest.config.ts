import { defineConfig } from 'vitest/config';
import { LongestFirst } from './testing/longest-first.ts';
import { useMemoryForTemporaryFiles } from './testing/memory-folder.ts';
import { RunReport } from './testing/tiers/run-report.ts';

// The tiers (CONTRIBUTING.md, "Tests"). A unit test stands beside the code and touches nothing outside the process but
// a temporary folder. What runs against real servers lives in test/: a file whose name says `deep` is of the deep tier,
// every other of the service tier. `unit` takes all that is left, so no file is in two tiers or in none.
const deepTests = 'test/{contract,integration,faults}/**/*.deep.test.ts';
const realTests = 'test/{contract,integration,faults}/**/*.test.ts';
const ownConfigurations = 'test/{k8s,e2e}/**';
const notOurs = ['node_modules/**', '.tools/**', '.reelwright/**'];

const againstRealServers = {
  globalSetup: ['testing/global-setup.ts'],
  // A shared machine may stall a browser or a server. The end of the run lists what passed only then.
  retry: 1,
  // Time limits are for what hangs, on a machine that does much beside.
  testTimeout: 240_000,
  expect: { poll: { timeout: 60_000 } },
  hookTimeout: 480_000,
  // More than twice the cores of a small machine: files wait for leases and players half of their time.
  maxWorkers: 5,
  // As in `unit`. A test that limits what a module of its process may do starts a process of its own.
  isolate: false,
};

useMemoryForTemporaryFiles();

export default defineConfig({
  test: {
    sequence: { sequencer: LongestFirst },
    reporters: ['default', new RunReport(import.meta.dirname)],
    projects: [
      {
        test: {
          name: 'unit',
          include: ['**/*.test.ts'],
          exclude: [realTests, ownConfigurations, ...notOurs],
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
          ...againstRealServers,
          name: 'service',
          include: [realTests],
          exclude: [deepTests],
          // After the unit tests, so that nothing else competes for the processor where time matters.
          sequence: { groupOrder: 2 },
        },
      },
      {
        test: {
          ...againstRealServers,
          name: 'deep',
          include: [deepTests],
          // Most keep both cores busy, and catch processes in the middle of their work.
          maxWorkers: 4,
          // Limits are for what hangs: the longest takes a tenth of this on a quiet machine.
          testTimeout: 600_000,
          hookTimeout: 600_000,
          sequence: { groupOrder: 3 },
        },
      },
    ],
  },
});

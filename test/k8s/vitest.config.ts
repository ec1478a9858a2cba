import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { LongestFirst } from '../../testing/longest-first.ts';
import { useMemoryForTemporaryFiles } from '../../testing/memory-folder.ts';
import { RunReport } from '../../testing/tiers/run-report.ts';

useMemoryForTemporaryFiles();
const root = fileURLToPath(new URL('../..', import.meta.url));

const shared = {
  testTimeout: 600_000,
  hookTimeout: 300_000,
  // Processes are killed and paused beside a whole control plane; a retry is shown as a retry.
  retry: 1,
  // Of tests that say they may run at once.
  maxConcurrency: 6,
};

/** They compact the etcd that all share, hold or delete objects of the whole cluster, measure the server, or encode. */
const alone = [
  'admission-policy',
  'chart',
  'chunked-encode',
  'client',
  'doctor',
  'lease',
  'many-jobs',
  'many-preferred',
  'rbac',
  'reflector',
];
const filesAlone = alone.map((name) => `test/k8s/${name}.test.ts`);

// Tests against a real kube-apiserver, in a run of their own: `make test-k8s`. Both projects share it, with a namespace
// and a database for each file.
export default defineConfig({
  root,
  test: {
    reporters: ['default', new RunReport(root)],
    sequence: { sequencer: LongestFirst },
    globalSetup: ['testing/k8s/global-setup.ts', 'testing/k8s/postgres-setup.ts'],
    projects: [
      {
        test: {
          ...shared,
          name: 'k8s',
          include: ['test/k8s/**/*.test.ts'],
          exclude: filesAlone,
          // They wait for leases, polls and deadlines most of the time.
          maxWorkers: 3,
          sequence: { groupOrder: 1 },
        },
      },
      {
        test: {
          ...shared,
          name: 'k8s-alone',
          include: filesAlone,
          maxWorkers: 1,
          fileParallelism: false,
          sequence: { groupOrder: 2 },
        },
      },
    ],
  },
});

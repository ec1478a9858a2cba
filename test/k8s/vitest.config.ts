import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// Tests against a real kube-apiserver, in a run of their own: `make test-k8s`.
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    name: 'k8s',
    include: ['test/k8s/**/*.test.ts'],
    globalSetup: ['testing/k8s/global-setup.ts', 'testing/k8s/postgres-setup.ts'],
    testTimeout: 60_000,
    hookTimeout: 60_000,
    // Processes are killed and paused beside a whole control plane; a retry is shown as a retry.
    retry: 1,
    // They share one etcd, and some compact it.
    fileParallelism: false,
    // Of tests that say they may run at once.
    maxConcurrency: 6,
  },
});

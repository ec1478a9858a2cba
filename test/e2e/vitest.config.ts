import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';

// The installed chart on a real cluster, in a run of its own: `make e2e` (scripts/e2e).
export default defineConfig({
  root: fileURLToPath(new URL('../..', import.meta.url)),
  test: {
    name: 'e2e',
    include: ['test/e2e/**/*.test.ts'],
    globalSetup: ['test/e2e/support/global-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Nodes, pods and processes are taken away while others work; what fails once and not again is told as a retry.
    retry: 1,
    // One release, whose pods several files count, drain and kill.
    fileParallelism: false,
  },
});

import { defineConfig } from 'vitest/config';

// The tests that mutants are run against (scripts/mutate.ts): unit tests of the modules whose rules are mutated.
export default defineConfig({
  test: {
    include: ['{domain,jobs,controller}/**/*.test.ts'],
    isolate: false,
    // A run shares its machine, at the lowest priority.
    testTimeout: 60_000,
    // Each mutant starts a worker of its own, and a thread starts sooner than a process.
    pool: 'threads',
  },
});

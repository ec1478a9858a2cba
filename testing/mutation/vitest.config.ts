import { defineConfig } from 'vitest/config';

// The tests that mutants are run against (scripts/mutate.ts): unit tests of the modules whose rules are mutated.
export default defineConfig({
  test: {
    // The custom resources of domain/kubernetes are compared with the files that are made of them.
    include: ['{domain,jobs,controller}/**/*.test.ts', 'scripts/generate-crds.test.ts'],
    isolate: false,
    // A run shares its machine, at the lowest priority.
    testTimeout: 60_000,
    // Each mutant starts a worker of its own, and a thread starts sooner than a process.
    pool: 'threads',
  },
});

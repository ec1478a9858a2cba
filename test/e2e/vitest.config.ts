import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';

/** The release as it was installed first: the other files drain nodes, make pools and upgrade. The rest by name. */
class InstallFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((one, other) => (place(one) < place(other) ? -1 : 1));
  }
}

function place({ moduleId }: TestSpecification): string {
  return moduleId.endsWith('/install.test.ts') ? '' : moduleId;
}

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
    sequence: { sequencer: InstallFirst },
  },
});

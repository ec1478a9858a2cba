import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitest/config';
import { BaseSequencer, type TestSpecification } from 'vitest/node';
import { RunReport } from '../../testing/tiers/run-report.ts';

const root = fileURLToPath(new URL('../..', import.meta.url));

/** Runs install.test.ts first, on the release as installed: other files drain nodes, create pools and upgrade. */
class InstallFirst extends BaseSequencer {
  override async sort(files: TestSpecification[]): Promise<TestSpecification[]> {
    return files.toSorted((one, other) => (place(one) < place(other) ? -1 : 1));
  }
}

function place({ moduleId }: TestSpecification): string {
  return moduleId.endsWith('/install.test.ts') ? '' : moduleId;
}

// Tests of the installed chart on a real cluster: `make e2e` (scripts/e2e).
export default defineConfig({
  root,
  test: {
    reporters: ['default', new RunReport(root)],
    name: 'e2e',
    include: ['test/e2e/**/*.test.ts'],
    globalSetup: ['test/e2e/support/global-setup.ts'],
    testTimeout: 300_000,
    hookTimeout: 300_000,
    // Nodes, pods and processes are removed during the run; a test that fails once and then passes is reported as a
    // retry.
    retry: 1,
    // All files share one release, and several count, drain and kill its pods.
    fileParallelism: false,
    sequence: { sequencer: InstallFirst },
  },
});

import type { TestProject } from 'vitest/node';
import { hostProcesses } from './host-processes.ts';
import { openRelease, type OpenRelease } from './open-release.ts';
import { release } from './release.ts';

// Installs the chart once for a run. The test files share the release.

export interface E2eContext extends OpenRelease {
  /** Whether the nodes' processes are processes of this machine that may be read. */
  readonly seesPods: boolean;
}

declare module 'vitest' {
  export interface ProvidedContext {
    e2e: E2eContext;
  }
}

/** Called by vitest before the first test file; vitest calls the returned function after the last. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { opened, remove } = await openRelease();
  try {
    project.provide('e2e', { ...opened, seesPods: await seesControllers() });
  } catch (error) {
    await remove();
    throw error;
  }
  return remove;
}

async function seesControllers(): Promise<boolean> {
  const found = await hostProcesses();
  return found.some(({ environment }) => environment.includes(`POD_NAMESPACE=${release.namespace}\0`));
}

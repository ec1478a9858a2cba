import { beforeEach } from 'vitest';
import { controllerLog } from './release.ts';
import { inRunners } from './service.ts';

/** Prints what the controllers logged and the objects of the runners' namespace when a test of this file fails. */
export function showClusterOnFailure(): void {
  beforeEach(({ onTestFailed }) => {
    const startedAt = new Date();
    onTestFailed(async () => {
      const objects = await inRunners('get', 'mj,jobs,pods', '-o', 'wide');
      process.stderr.write(`logs of the controllers:\n${await controllerLog(startedAt)}\n${objects}`);
    });
  });
}

import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

/**
 * Returns unused memory at once, for a process that has just read much more than it stores: the engine alone might
 * never do it. Blocks for a few hundred milliseconds.
 */
export function collectGarbage(): void {
  setFlagsFromString('--expose-gc');
  const collect = runInNewContext('gc') as () => void;
  collect();
}

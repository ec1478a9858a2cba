import { imageFolder, videoFolder } from '../media/object-keys.ts';
import type { JobResults } from './index.ts';

/**
 * The object by which it is seen whether the objects of results are there: the first that lies below a revision of
 * `hash`, such as the master of a stream's revision. Null where the results name none.
 */
export function mainObjectOf(hash: string, results: JobResults | null): string | null {
  const [, rev = ''] = firstMatch(results, /^(?:videos|images)\/[^/]+\/[^/]+\/([0-9a-f]{16})\//) ?? [];
  const folders = [videoFolder(hash, rev), imageFolder(hash, rev)];
  return firstText(results, (text) => rev !== '' && folders.some((folder) => text.startsWith(folder)));
}

function firstMatch(results: JobResults | null, pattern: RegExp): RegExpExecArray | null {
  return pattern.exec(firstText(results, (text) => pattern.test(text)) ?? '');
}

/** Depth first, in the order of the fields. */
function firstText(value: unknown, isWanted: (text: string) => boolean): string | null {
  if (typeof value === 'string') return isWanted(value) ? value : null;
  if (typeof value !== 'object' || value === null) return null;
  for (const inner of Object.values(value)) {
    const found = firstText(inner, isWanted);
    if (found !== null) return found;
  }
  return null;
}

import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { ofText, readWrittenProfiles, type WrittenProfiles } from './written-profiles.ts';

/** Texts up to this length, in UTF-16 units, take a few milliseconds however they are written. */
const briefMax = 8_000;
const readMs = 5_000;
const memoryMb = 128;
/** Of long texts; one is read at a time. */
const waitingMax = 4;

const refused = (detail: string): WrittenProfiles => ({ profiles: [], faults: [ofText(detail)] });

let waiting = 0;
let previous: Promise<unknown> = Promise.resolve();

/**
 * Reads profiles that a caller has written. Some YAML takes seconds, by the square of its length, so a long text is
 * read in a thread of its own, which ends with it or by its limits.
 */
export async function checkProfiles(text: string): Promise<WrittenProfiles> {
  if (text.length <= briefMax) return readWrittenProfiles(text);
  if (waiting >= waitingMax) return refused('Too many long texts are checked at once; try again.');
  waiting += 1;
  const reading = previous.then(() => readInThread(text));
  previous = reading;
  return reading.finally(() => {
    waiting -= 1;
  });
}

async function readInThread(text: string): Promise<WrittenProfiles> {
  const worker = new Worker(new URL('profile-check-worker.ts', import.meta.url), {
    workerData: text,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  try {
    const [read] = (await once(worker, 'message', { signal: AbortSignal.timeout(readMs) })) as [WrittenProfiles];
    return read;
  } catch {
    return refused('expected YAML that is read within five seconds');
  } finally {
    await worker.terminate();
  }
}

import { Worker } from 'node:worker_threads';
import { FewAtOnce } from '#platform/concurrency/few-at-once.ts';
import { firstMessage } from '../threads/first-message.ts';
import { ofText, readWrittenProfiles, type WrittenProfiles } from './written-profiles.ts';

/** Texts up to this length, in UTF-16 units, take a few milliseconds however they are written. */
const briefMax = 8_000;
const readMs = 5_000;
const memoryMb = 128;
/** The most long texts that wait behind the one that is read. */
const waitingMax = 3;

const refused = (detail: string): WrittenProfiles => ({ profiles: [], faults: [ofText(detail)] });

const reading = new FewAtOnce(1);

/**
 * Reads profiles that a caller has written. Some YAML takes seconds, by the square of its length, so a long text is
 * read in a thread of its own, which ends with it or by its limits.
 */
export async function checkProfiles(text: string): Promise<WrittenProfiles> {
  if (text.length <= briefMax) return readWrittenProfiles(text);
  if (reading.isFull(waitingMax)) return refused('Too many long texts are checked at once; try again.');
  return reading.run(() => readInThread(text));
}

async function readInThread(text: string): Promise<WrittenProfiles> {
  const worker = new Worker(new URL('profile-check-worker.ts', import.meta.url), {
    workerData: text,
    env: {},
    resourceLimits: { maxOldGenerationSizeMb: memoryMb },
  });
  const timeout = AbortSignal.timeout(readMs);
  try {
    return (await firstMessage(worker, timeout)) as WrittenProfiles;
  } catch (error) {
    if (!timeout.aborted && (error as NodeJS.ErrnoException).code !== 'ERR_WORKER_OUT_OF_MEMORY') throw error;
    return refused('expected YAML that is read within five seconds');
  }
}

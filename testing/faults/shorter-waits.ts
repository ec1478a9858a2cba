import { readFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { type Edit, loadEdited } from './text-edits.ts';

// What takes minutes in the product takes as long as a test wants: a periodic task runs its next round when the test
// asks for it, and what failed is tried again soon.

const soon = { from: 'baseMs: 2_000', to: 'baseMs: 200' };

export const shorterWaits: readonly Edit[] = [
  {
    file: 'platform/lifecycle/periodic-component.ts',
    from: 'await sleep(everyMs, undefined, { signal })',
    to: 'await globalThis.nextRound(everyMs, signal)',
  },
  { file: 'controller/process/run-units.ts', ...soon },
  { file: 'domain/jobs/attempts.ts', ...soon },
  { file: 'controller/webhooks/webhook-sender.ts', from: 'reservedMs = 20_000', to: 'reservedMs = 5_000' },
  { file: 'controller/controller.ts', from: 'rolloutsEveryMs = 1_000', to: 'rolloutsEveryMs = 300' },
  { file: 'controller/upkeep/rollouts.ts', from: 'nextRoundMs = 1_000', to: 'nextRoundMs = 300' },
  {
    file: 'controller/imports/import-worker.ts',
    from: '= [1_000, 10_000, 60_000',
    to: '= [200, 400, 800, 1_600, 3_000',
  },
  { file: 'controller/imports/import-worker.ts', from: 'storageBackoffMs = 30_000', to: 'storageBackoffMs = 500' },
  // Longer than steps of a cancelled job take to end.
  { file: 'controller/upkeep/media-deletion.ts', from: 'quietMsDefault = 6_000', to: 'quietMsDefault = 3_500' },
];

/** How often a process looks whether a round was asked for. */
const everyMs = 50;

/** Lets this process wait less. @param file its content is another one for each round that a test asks for */
export function shortenWaits(file: string): void {
  const wanted = new EventTarget();
  let last = fileText(file);
  setInterval(() => {
    const text = fileText(file);
    if (text !== last) wanted.dispatchEvent(new Event('round'));
    last = text;
  }, everyMs).unref();
  Object.assign(globalThis, {
    async nextRound(afterMs: number, signal: AbortSignal): Promise<void> {
      const round = new AbortController();
      const stop = () => round.abort();
      wanted.addEventListener('round', stop);
      await sleep(afterMs, undefined, { signal: AbortSignal.any([signal, round.signal]) }).finally(() =>
        wanted.removeEventListener('round', stop),
      );
    },
  });
  loadEdited(shorterWaits);
}

function fileText(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch {
    return '';
  }
}

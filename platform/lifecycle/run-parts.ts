import type { Logger } from '../telemetry/logger.ts';
import type { Part } from './part.ts';

export interface RunPartsOptions {
  readonly log: Logger;
  /** One deadline for the stops of all parts together. */
  readonly stopTimeoutMs: number;
  /** Aborted when the process is to end. */
  readonly signal: AbortSignal;
}

/**
 * Starts parts in order, waits for `signal`, and stops them in reverse.
 *
 * When a part fails to start, those before it are stopped and its error is thrown; what its own start had begun is its
 * own matter. A part that fails to stop, or does not within the deadline, is logged and passed over, so that every part
 * is asked to stop.
 *
 * @throws what a part's start threw; Error when a part did not stop cleanly
 */
export async function runParts(parts: readonly Part[], { log, stopTimeoutMs, signal }: RunPartsOptions): Promise<void> {
  const started: Part[] = [];
  let failure: { readonly error: unknown } | null = null;
  for (const part of parts) {
    if (signal.aborted) break;
    try {
      await part.start();
      started.push(part);
      log.debug({ part: part.name }, 'started');
    } catch (error) {
      failure = { error };
      break;
    }
  }
  if (failure === null) await aborted(signal);
  const unstopped = await stopParts(started.toReversed(), log, stopTimeoutMs);
  if (failure !== null) throw failure.error;
  if (unstopped.length > 0) throw new Error(`did not stop cleanly: ${unstopped.join(', ')}`);
}

/** Stops parts one after another; the names of those that failed or took too long. */
async function stopParts(parts: readonly Part[], log: Logger, timeoutMs: number): Promise<string[]> {
  const deadline = new AbortController();
  // Not AbortSignal.timeout: its timer does not keep the process alive until the last part had its chance.
  const timer = setTimeout(() => deadline.abort(new Error('the deadline for stopping is over')), timeoutMs);
  const unstopped: string[] = [];
  for (const part of parts) {
    try {
      await Promise.race([part.stop(deadline.signal), rejectedOnAbort(deadline.signal)]);
      log.debug({ part: part.name }, 'stopped');
    } catch (error) {
      unstopped.push(part.name);
      log.error({ part: part.name, err: error }, 'a part did not stop cleanly');
    }
  }
  clearTimeout(timer);
  return unstopped;
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

async function rejectedOnAbort(signal: AbortSignal): Promise<never> {
  await aborted(signal);
  throw signal.reason;
}

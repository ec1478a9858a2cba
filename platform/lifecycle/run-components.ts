import type { Logger } from '../telemetry/logger.ts';
import type { Component } from './component.ts';

export interface RunComponentsOptions {
  readonly log: Logger;
  /** One deadline for the stops of all components together. */
  readonly stopTimeoutMs: number;
  /** Aborted when the process is to end. */
  readonly signal: AbortSignal;
}

/**
 * Starts components in order, waits for `signal`, and stops them in reverse.
 *
 * When a component fails to start, the ones before it are stopped and its error is thrown. A component that fails to
 * stop, or does not within the deadline, is logged, and the next one is stopped.
 *
 * @throws what a component's start threw; Error when a component did not stop cleanly
 */
export async function runComponents(
  components: readonly Component[],
  { log, stopTimeoutMs, signal }: RunComponentsOptions,
): Promise<void> {
  const started: Component[] = [];
  let failure: { readonly error: unknown } | null = null;
  for (const component of components) {
    if (signal.aborted) break;
    try {
      await component.start();
      started.push(component);
      log.debug({ component: component.name }, 'started');
    } catch (error) {
      failure = { error };
      break;
    }
  }
  if (failure === null) await aborted(signal);
  const unstopped = await stopComponents(started.toReversed(), log, stopTimeoutMs);
  if (failure !== null) throw failure.error;
  if (unstopped.length > 0) throw new Error(`did not stop cleanly: ${unstopped.join(', ')}`);
}

/** Stops components one after another; the names of those that failed or took too long. */
async function stopComponents(components: readonly Component[], log: Logger, timeoutMs: number): Promise<string[]> {
  const deadline = new AbortController();
  // Not AbortSignal.timeout: its timer does not keep the process alive until the last component had its chance.
  const timer = setTimeout(() => deadline.abort(new Error('the deadline for stopping has passed')), timeoutMs);
  const unstopped: string[] = [];
  for (const component of components) {
    try {
      await Promise.race([component.stop(deadline.signal), rejectedOnAbort(deadline.signal)]);
      log.debug({ component: component.name }, 'stopped');
    } catch (error) {
      unstopped.push(component.name);
      log.error({ component: component.name, err: error }, 'a component did not stop cleanly');
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

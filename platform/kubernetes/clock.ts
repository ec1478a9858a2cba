import { timerMsMax } from '#platform/concurrency/timer.ts';

/**
 * The clock of this folder. It is monotonic: it does not jump when the wall clock is set, and it runs while this
 * process is paused.
 */
export interface Clock {
  /** Milliseconds since an arbitrary moment; only differences have a meaning. */
  nowMs(): number;
  /** Runs `run` once, `delayMs` from now at the earliest; the returned function cancels it. */
  after(delayMs: number, run: () => void): () => void;
}

/** The machine's own monotonic clock. */
export const monotonicClock: Clock = {
  nowMs: () => performance.now(),
  after: (delayMs, run) => {
    let timer: NodeJS.Timeout;
    const wait = (leftMs: number) => {
      timer = leftMs <= timerMsMax ? setTimeout(run, leftMs) : setTimeout(wait, timerMsMax, leftMs - timerMsMax);
    };
    wait(delayMs);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `delayMs`, or as soon as `signal` aborts: the caller checks the signal afterwards. */
export function sleep(clock: Clock, delayMs: number, signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) {
      resolve();
      return;
    }
    const wake = () => {
      cancel();
      signal.removeEventListener('abort', wake);
      resolve();
    };
    const cancel = clock.after(delayMs, wake);
    signal.addEventListener('abort', wake, { once: true });
  });
}

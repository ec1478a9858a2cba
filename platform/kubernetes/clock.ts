/**
 * The clock that the parts of this folder wait by. It is monotonic: it never jumps when the wall clock is set, and it
 * goes on while this process is stopped, so that a leader that was paused sees how long it was away.
 */
export interface Clock {
  /** Milliseconds since some fixed moment; only differences mean anything. */
  nowMs(): number;
  /** Runs `run` once, `delayMs` from now at the earliest; the returned function cancels it. */
  after(delayMs: number, run: () => void): () => void;
}

/** The machine's own monotonic clock. */
export const monotonicClock: Clock = {
  nowMs: () => performance.now(),
  after: (delayMs, run) => {
    const timer = setTimeout(run, delayMs);
    return () => clearTimeout(timer);
  },
};

/** Resolves after `delayMs`, or as soon as `signal` is aborted: the caller looks at the signal afterwards. */
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

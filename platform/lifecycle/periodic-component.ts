import { setTimeout as sleep } from 'node:timers/promises';
import type { Component } from './component.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

/** A task that is repeated. */
export interface PeriodicTask {
  readonly name: string;
  /** Called at the start, and again `everyMs` after each call has ended, also after a failure, which is logged. */
  readonly work: (signal: AbortSignal) => Promise<void>;
}

interface Repetition extends PeriodicTask {
  readonly everyMs: number;
  readonly log: Logger;
}

/** A component that repeats its work, never twice at once. */
export function periodicComponent({ name, everyMs, log, work }: Repetition): Component {
  const stopping = new AbortController();
  const { signal } = stopping;
  let ended = Promise.resolve();
  const repeat = async () => {
    while (!signal.aborted) {
      await work(signal).catch((error: unknown) => {
        if (!signal.aborted) log.error({ err: error, component: name, retry_in_ms: everyMs }, 'periodic task failed');
      });
      await sleep(everyMs, undefined, { signal }).catch(() => undefined);
    }
  };
  return {
    name,
    start() {
      ended = repeat();
      return Promise.resolve();
    },
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

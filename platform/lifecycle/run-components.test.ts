import { setTimeout as sleep } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { createLogger } from '../telemetry/logger.ts';
import type { Component } from './component.ts';
import { runComponents } from './run-components.ts';

/** A component that writes down what becomes of it. */
function componentOf(events: string[], name: string, own: Partial<Component> = {}): Component {
  return {
    name,
    start: async () => {
      events.push(`start ${name}`);
      await own.start?.();
    },
    stop: async (signal) => {
      events.push(`stop ${name}`);
      await own.stop?.(signal);
    },
  };
}

function setup() {
  const events: string[] = [];
  const stopping = new AbortController();
  const lines: string[] = [];
  const log = createLogger({ level: 'error', name: 'test', destination: { write: (line) => lines.push(line) } });
  const options = { log, stopTimeoutMs: 300, signal: stopping.signal };
  return { events, stopping, lines, options };
}

describe('running components', () => {
  it('components start in order and stop in reverse order on a stop signal', async () => {
    const { events, stopping, options } = setup();
    const running = runComponents([componentOf(events, 'a'), componentOf(events, 'b')], options);
    await sleep(20);
    expect(events).toEqual(['start a', 'start b']);
    stopping.abort();
    await running;
    expect(events).toEqual(['start a', 'start b', 'stop b', 'stop a']);
  });

  it('running components stops what was started when a later component fails to start, and throws what that one threw', async () => {
    const { events, options } = setup();
    const failure = new Error('the port is taken');
    const broken = componentOf(events, 'broken', { start: () => Promise.reject(failure) });
    const running = runComponents([componentOf(events, 'a'), broken, componentOf(events, 'never')], options);
    await expect(running).rejects.toBe(failure);
    expect(events).toEqual(['start a', 'start broken', 'stop a']);
  });

  it('no further component starts after a stop signal in the middle of starting', async () => {
    const { events, stopping, options } = setup();
    const slow = componentOf(events, 'slow', { start: () => sleep(50) });
    const running = runComponents([slow, componentOf(events, 'never')], options);
    stopping.abort();
    await running;
    expect(events).toEqual(['start slow', 'stop slow']);
  });

  it('running components asks every component to stop though one fails, and says which', async () => {
    const { events, stopping, lines, options } = setup();
    const broken = componentOf(events, 'broken', { stop: () => Promise.reject(new Error('no')) });
    const running = runComponents([componentOf(events, 'a'), broken, componentOf(events, 'c')], options);
    await sleep(10);
    stopping.abort();
    await expect(running).rejects.toThrow('did not stop cleanly: broken');
    expect(events.slice(3)).toEqual(['stop c', 'stop broken', 'stop a']);
    expect(lines.join('')).toContain('"component":"broken"');
  });

  it('running components gives all stops together one deadline', async () => {
    const { events, stopping, options } = setup();
    let wasAborted = false;
    const stuck = componentOf(events, 'stuck', {
      stop: (signal) => {
        signal.addEventListener('abort', () => (wasAborted = true));
        return new Promise(() => {});
      },
    });
    const running = runComponents([componentOf(events, 'a'), stuck, componentOf(events, 'c')], options);
    await sleep(10);
    stopping.abort();
    const start = performance.now();
    await expect(running).rejects.toThrow('did not stop cleanly: stuck');
    expect(performance.now() - start).toBeLessThan(1000);
    expect(wasAborted).toBe(true);
    expect(events.slice(3)).toEqual(['stop c', 'stop stuck', 'stop a']);
  });
});

import { expect, it } from 'vitest';
import { readyOf } from './pool-ready.ts';

const at = (second: number) => ({ observedGeneration: 3, nowMs: Date.UTC(2026, 0, 1, 0, 0, second) });

it('a pool is Ready while nothing keeps its jobs from running, and says else what does, since when', () => {
  const ready = readyOf('', { ...at(1), before: undefined });
  expect(ready).toMatchObject({ type: 'Ready', status: 'True', reason: 'Ready', observedGeneration: 3 });
  const stuck = readyOf('exceeded quota', { ...at(2), before: { conditions: [ready] } });
  expect(stuck).toMatchObject({ status: 'False', reason: 'JobsCannotRun', message: 'exceeded quota' });
  expect(stuck.lastTransitionTime > ready.lastTransitionTime).toBe(true);
  const still = readyOf('no node', { ...at(3), before: { conditions: [stuck] } });
  expect([still.message, still.lastTransitionTime]).toEqual(['no node', stuck.lastTransitionTime]);
});

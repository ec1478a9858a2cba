import { expect, it } from 'vitest';
import { addSession, emptySketch, estimateSessions, sketchBits, sketchToBits } from './session-sketch.ts';

const sketchOf = (ids: readonly string[]) => {
  const sketch = emptySketch();
  for (const id of ids) addSession(sketch, id);
  return sketchToBits(sketch);
};
const ids = (count: number) => Array.from({ length: count }, (_, n) => `session-${n}`);

it.each([
  [0, 0],
  [1, 0],
  [2, 0],
  [10, 0.1],
  [100, 0.15],
  [320, 0.2],
  [1_000, 0.2],
  [30_000, 0.2],
  [300_000, 0.2],
])('%i sessions are estimated within a share of %f', (count, share) => {
  const estimate = estimateSessions(sketchOf(ids(count)));
  expect(Math.abs(estimate - count)).toBeLessThanOrEqual(count * share);
});

it('a session that comes again changes nothing', () => {
  expect(sketchOf(['a', 'b', 'a', 'a'])).toBe(sketchOf(['a', 'b']));
});

it('sketches of two processes joined by OR are the sketch of both', () => {
  const [left, right] = [sketchOf(ids(500)), sketchOf(ids(900).slice(400))];
  const joined = Array.from({ length: sketchBits }, (_, n) =>
    left?.[n] === '1' || right?.[n] === '1' ? '1' : '0',
  ).join('');
  expect(joined).toBe(sketchOf(ids(900)));
  expect(joined).toHaveLength(sketchBits);
});

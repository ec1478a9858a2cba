import { describe, expect, it } from 'vitest';
import { inCascade, planOutputs } from './plan.ts';

const output = (width: number, format: 'webp' | 'jpg' | 'png' | 'avif' = 'webp') => ({ variant: 'v', width, format });
const sizes = (source: { width: number; height: number }, ...outputs: ReturnType<typeof output>[]) =>
  planOutputs(source, outputs).map(({ width, height }) => [width, height]);

describe('the sizes of thumbnails', () => {
  it.each([
    ['keep the aspect', { width: 4000, height: 3000 }, output(300), [300, 225]],
    ['are never enlarged', { width: 200, height: 100 }, output(300), [200, 100]],
    ['have a height of one pixel at least', { width: 8000, height: 2 }, output(100), [100, 1]],
    ['fit into WebP', { width: 1000, height: 60_000 }, output(1000), [273, 16_383]],
    ['fit into JPEG', { width: 1000, height: 60_000 }, output(1000, 'jpg'), [1000, 60_000]],
  ])('%s', (_, source, asked, expected) => {
    expect(sizes(source, asked)).toEqual([expected]);
  });

  it('are made from large to small, each from the one before', () => {
    const planned = planOutputs({ width: 4000, height: 3000 }, [output(100), output(900), output(300)]);
    expect(inCascade(planned).map(({ width }) => width)).toEqual([900, 300, 100]);
  });
});

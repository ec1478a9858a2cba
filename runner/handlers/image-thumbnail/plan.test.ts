import { describe, expect, it } from 'vitest';
import { inCascade, planOutputs } from './plan.ts';

const output = (width: number, format: 'webp' | 'jpg' | 'png' | 'avif' = 'webp') => ({ variant: 'v', width, format });
const sizes = (source: { width: number; height: number }, ...outputs: ReturnType<typeof output>[]) =>
  planOutputs(source, outputs).map(({ width, height }) => [width, height]);

describe('the sizes of thumbnails', () => {
  it.each([
    ['a thumbnail keeps the aspect', { width: 4000, height: 3000 }, output(300), [300, 225]],
    ['a thumbnail is never larger than its source', { width: 200, height: 100 }, output(300), [200, 100]],
    ['a thumbnail has a height of at least one pixel', { width: 8000, height: 2 }, output(100), [100, 1]],
    ['a thumbnail has a width of at least one pixel', { width: 2, height: 60_000 }, output(2), [1, 16_383]],
    ['a high thumbnail fits into WebP', { width: 1000, height: 60_000 }, output(1000), [273, 16_383]],
    ['a high thumbnail fits into JPEG', { width: 1000, height: 60_000 }, output(1000, 'jpg'), [1000, 60_000]],
  ])('%s', (_, source, asked, expected) => {
    expect(sizes(source, asked)).toEqual([expected]);
  });

  it('thumbnails are made from large to small', () => {
    const planned = planOutputs({ width: 4000, height: 3000 }, [output(100), output(900), output(300)]);
    expect(inCascade(planned).map(({ width }) => width)).toEqual([900, 300, 100]);
  });
});

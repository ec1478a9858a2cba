import { describe, expect, it } from 'vitest';
import { missingParts, partCount, partSizeOf, sizeOfPart } from './part-plan.ts';

const mib = 1024 ** 2;
const gib = 1024 ** 3;

describe('the parts of an upload', () => {
  it.each([
    [1, 8 * mib, 1],
    [8 * mib, 8 * mib, 1],
    [8 * mib + 1, 8 * mib, 2],
    [3 * gib, 8 * mib, 384],
    [20 * gib, 8 * mib, 2560],
    [80_000 * mib, 8 * mib, 10_000],
    [80_000 * mib + 1, 9 * mib, 8889],
    [5 * 1024 * gib, 525 * mib, 9987],
  ])('an upload of %i bytes has parts of %i bytes, %i of them', (sizeBytes, partSizeBytes, count) => {
    expect(partSizeOf(sizeBytes)).toBe(partSizeBytes);
    expect(partCount({ sizeBytes, partSizeBytes })).toBe(count);
  });

  it('the last part has the rest, and no part follows it', () => {
    const sizes = { sizeBytes: 20, partSizeBytes: 8 };
    expect([1, 2, 3, 4].map((number) => sizeOfPart(sizes, number))).toEqual([8, 8, 4, 0]);
  });

  it('a part of another size counts as missing', () => {
    const sizes = { sizeBytes: 20, partSizeBytes: 8 };
    const stored = [
      { number: 1, sizeBytes: 8 },
      { number: 2, sizeBytes: 7 },
    ];
    expect(missingParts(sizes, stored)).toEqual([2, 3]);
    expect(missingParts(sizes, [...stored, { number: 2, sizeBytes: 8 }, { number: 3, sizeBytes: 4 }])).toEqual([]);
  });
});

import { describe, expect, it } from 'vitest';
import { keyFrameRanges } from './key-frame-ranges.ts';

function box(type: string, ...content: Buffer[]): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + content.reduce((sum, part) => sum + part.length, 0));
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, ...content]);
}

const words = (...values: number[]) => {
  const bytes = Buffer.alloc(values.length * 4);
  for (const [index, value] of values.entries()) bytes.writeUInt32BE(value, index * 4);
  return bytes;
};

const fragment = (trun: Buffer, frames: number) =>
  Buffer.concat([
    box('moof', box('mfhd', words(0, 1)), box('traf', box('tfhd', words(0)), box('trun', trun))),
    box('mdat', Buffer.alloc(frames)),
  ]);

describe('the key frames of a segment', () => {
  it('the key frames of a segment reach from each moof to the end of its first frame', () => {
    const styp = box('styp', words(1, 2));
    // Sizes and flags of two samples; then durations and sizes, after the flags of the first sample.
    const first = fragment(words(0x6_01, 2, 88, 50, 0, 30, 0), 80);
    const second = fragment(words(0x3_05, 2, 92, 0, 10, 40, 10, 20), 60);
    expect(keyFrameRanges(Buffer.concat([styp, first, second]))).toEqual([
      { offset: 16, bytes: 138 },
      { offset: 16 + first.length, bytes: 132 },
    ]);
  });

  it.each([
    ['a fragment without sizes', fragment(words(0x1, 1, 88), 10)],
    ['a box that is cut off', fragment(words(0x6_01, 1, 88, 10, 0), 10).subarray(0, 70)],
    ['a box of no size', Buffer.alloc(16)],
    ['a fragment without frames', box('moof', box('traf'))],
  ])('%s is refused', (_, segment) => expect(() => keyFrameRanges(segment)).toThrow(TypeError));
});

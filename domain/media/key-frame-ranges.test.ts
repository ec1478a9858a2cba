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

  // The moof of a fragment has 52 bytes and the words of its trun; its first frame begins 8 bytes after it.
  it.each([
    ['reaches to the end of the segment where its fragment has one frame', fragment(words(0x2_01, 1, 76, 10), 10), 86],
    ['ends where it begins when it has no bytes', fragment(words(0x2_01, 1, 68, 0), 0), 68],
    ['is found before an empty box', Buffer.concat([fragment(words(0x2_01, 1, 76, 9), 10), box('free')]), 85],
  ])('a key frame %s', (_, segment, bytes) => expect(keyFrameRanges(segment)).toEqual([{ offset: 0, bytes }]));

  const [noFrame, noSizes] = ['a fragment has no frame', 'a fragment does not state the sizes of frames'];
  const [oddFrame, oddBox] = [
    'a fragment has a frame of an impossible size',
    'a segment has a box of an impossible size',
  ];
  it.each([
    ['a fragment without sizes', fragment(words(0x1, 1, 88), 10), noSizes],
    ['a fragment without the place of its frames', fragment(words(0x2_00, 1, 10, 10), 10), noSizes],
    ['a fragment with flags alone', fragment(words(0), 10), noSizes],
    ['a fragment of no frames', fragment(words(0x2_01, 0, 72), 10), noFrame],
    ['a frame that ends before its moof does', fragment(words(0x2_01, 1, 57, 10), 10), oddFrame],
    ['a frame that ends after the segment', fragment(words(0x2_01, 1, 76, 11), 10), oddFrame],
    ['a box that is cut off', fragment(words(0x6_01, 1, 88, 10, 0), 10).subarray(0, 70), oddBox],
    ['a box of no size', Buffer.alloc(16), oddBox],
    ['a fragment without a track', box('moof', box('mfhd')), 'a fragment has no traf'],
    ['a fragment without frames', box('moof', box('traf')), 'a fragment has no trun'],
  ])('%s is refused', (_, segment, message) => {
    expect(() => keyFrameRanges(segment)).toThrow(new TypeError(message));
  });
});

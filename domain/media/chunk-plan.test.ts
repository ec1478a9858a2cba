import { assert, constantFrom, integer, property } from 'fast-check';
import { describe, expect, it } from 'vitest';
import { chunkSources, planChunks } from './chunk-plan.ts';
import { gridOf } from './grid.ts';

const rates = [
  { num: 24_000, den: 1001 },
  { num: 25, den: 1 },
  { num: 30_000, den: 1001 },
  { num: 60, den: 1 },
];
const video = (rate: (typeof rates)[number], frames: number, chunkSec: number) => ({
  frames,
  chunkSec,
  grid: gridOf(rate, { gopSec: 2, gopsPerSegment: 3 }),
});

const framesOf = (frames: number) => planChunks(video({ num: 25, den: 1 }, frames, 12)).map((chunk) => chunk.frames);

describe('the chunks of a video', () => {
  it('half a chunk at the end is one of its own, and less belongs to the one before it', () => {
    expect(framesOf(1050)).toEqual([300, 300, 300, 150]);
    expect(framesOf(1049)).toEqual([300, 300, 449]);
  });

  it('the chunks of a video are whole segments that cover each of its frames once, whatever its length', () => {
    const videos = property(
      constantFrom(...rates),
      integer({ min: 1, max: 2_600_000 }),
      integer({ min: 6, max: 120 }),
      (...of) => {
        const input = video(...of);
        const { segmentFrames } = input.grid;
        const chunks = planChunks(input);
        const [first] = chunks;
        if (first === undefined) return input.frames < 4 * Math.max(of[2], 6) * 61;
        let frame = 0;
        const areNext = chunks.map(({ firstFrame, frames, firstSegment }, index) => {
          const isNext = firstFrame === frame && firstSegment === 1 + frame / segmentFrames;
          frame += frames;
          const isLast = index === chunks.length - 1;
          return isNext && (isLast || (frames === first.frames && frames % segmentFrames === 0));
        });
        const lastFrames = chunks.at(-1)?.frames ?? 0;
        const isLastWhole = lastFrames * 2 >= first.frames && lastFrames * 2 < first.frames * 3;
        return frame === input.frames && chunks.length >= 3 && isLastWhole && areNext.every(Boolean);
      },
    );
    assert(videos);
  });

  it.each([
    [2 * 60 + 29, 0],
    [2 * 60 + 31, 3],
    [2 * 3600, 120],
    [12 * 3600, 720],
  ])('a video of %i s at 25 frames a second has %i chunks of about a minute', (sec, count) => {
    expect(planChunks(video({ num: 25, den: 1 }, sec * 25, 60))).toHaveLength(count);
  });
});

describe('the sources of chunks', () => {
  const chunks = planChunks(video({ num: 25, den: 1 }, 3 * 60 * 25, 60));
  const grid = { rate: { num: 25, den: 1 } };

  it('the source of a chunk begins at the last key frame that is three seconds before its first frame', () => {
    expect(chunkSources(chunks, grid, [0, 50, 57, 57.1, 60, 110])).toEqual([
      { fromSec: null, toSec: 62 },
      { fromSec: 57, toSec: 122 },
      { fromSec: 110, toSec: 182 },
    ]);
  });

  it('the sources of chunks are counted by the exact rate', () => {
    const chunk = { firstFrame: 1800, frames: 1800, firstSegment: 11 };
    const ntsc = { rate: { num: 30_000, den: 1001 } };
    // Frame 1800 begins at 60.06 s, and frame 3600 at 120.12 s.
    expect(chunkSources([chunk], ntsc, [0, 57.05, 57.07])).toEqual([
      { fromSec: 57.05, toSec: expect.closeTo(122.12, 6) as number },
    ]);
  });

  it('the source of the first chunk begins at the beginning, even where frames have times before it', () => {
    expect(chunkSources(chunks, grid, [-5, 50, 110])?.[0]).toEqual({ fromSec: null, toSec: 62 });
  });

  it('key frames may be as far apart as a chunk is long', () => {
    expect(chunkSources(chunks, grid, [0, 60])?.map(({ fromSec }) => fromSec)).toEqual([null, 0, 60]);
  });

  it('a video whose key frames are farther apart than a chunk has no sources of chunks', () => {
    expect(chunkSources(chunks, grid, [0, 50, 58])).toBeNull();
    expect(chunkSources(chunks, grid, [0])).toBeNull();
  });
});

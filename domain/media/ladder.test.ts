import { describe, expect, it } from 'vitest';
import { assert, integer, property } from 'fast-check';
import { displaySizeOf } from './frame-size.ts';
import { inListingOrder, keepWorthwhile, planLadder } from './ladder.ts';
import { defaultEncoding, encodingProfileOf } from './encoding-profile.ts';
import { builtInMediaProfiles, type NamedProfile, videoCodecs } from './profiles.ts';

const profile = defaultEncoding;
const ladderOf = (width: number, height: number) => planLadder({ width, height, hdr: 'none' }, profile, ['h264']);
const sizes = (width: number, height: number) => ladderOf(width, height).map((rung) => [rung.id, rung.width]);

const kept = (...averages: number[]) =>
  keepWorthwhile(averages.map((averageBitrate) => ({ averageBitrate, codec: 'h264' as const }))).map(
    (rung) => rung.averageBitrate,
  );

const order = (...caps: number[]) =>
  inListingOrder(
    caps.map((bitrateMax) => ({ bitrateMax, codec: 'h264' as const })),
    profile,
  ).map((rung) => rung.bitrateMax);

describe('the ladder', () => {
  it.each([
    [
      'full HD has the four rungs of the profile',
      1920,
      1080,
      ['r360_h264 640', 'r540_h264 960', 'r720_h264 1280', 'r1080_h264 1920'],
    ],
    [
      '4K has no rung above 1080 in this profile',
      3840,
      2160,
      ['r360_h264 640', 'r540_h264 960', 'r720_h264 1280', 'r1080_h264 1920'],
    ],
    [
      'a portrait goes by its short side and is named by its height',
      1080,
      1920,
      ['r640_h264 360', 'r960_h264 540', 'r1280_h264 720', 'r1920_h264 1080'],
    ],
    ['exactly 20 % above the rung below has no rung of its own', 768, 432, ['r360_h264 640']],
    ['480 is over 20 % larger than 360 and has its own rung', 854, 480, ['r360_h264 640', 'r480_h264 854']],
    [
      '1000 is far from 720 and below 1080 and has its own rung',
      1778,
      1000,
      ['r360_h264 640', 'r540_h264 960', 'r720_h264 1280', 'r1000_h264 1778'],
    ],
    ['a source smaller than the ladder has one rung of its own size', 320, 180, ['r180_h264 320']],
    ['an odd size is rounded down to even', 321, 181, ['r180_h264 320']],
    ['one pixel becomes two, as 4:2:0 requires', 1, 1, ['r2_h264 2']],
    ['a very wide source is limited to a side that decoders accept', 16_000, 1000, ['r256_h264 4096']],
    ['a source as wide as decoders accept is rounded down to even', 4096, 101, ['r100_h264 4096']],
  ])('%s', (_, width, height, expected) => {
    expect(sizes(width, height).map((rung) => rung.join(' '))).toEqual(expected);
  });

  it('a ladder never enlarges, has even sizes, grows from rung to rung and is never empty', () => {
    const side = integer({ min: 2, max: 8000 });
    assert(
      property(side, side, (width, height) => {
        const rungs = ladderOf(width, height);
        expect(rungs.length).toBeGreaterThan(0);
        expect(new Set(rungs.map(({ id }) => id)).size).toBe(rungs.length);
        for (const [index, rung] of rungs.entries()) {
          expect((rung.width % 2) + (rung.height % 2)).toBe(0);
          expect(rung.width).toBeLessThanOrEqual(width + 1);
          expect(rung.height).toBeLessThanOrEqual(height + 1);
          expect(rung.bitrateMax).toBeGreaterThan(rungs[index - 1]?.bitrateMax ?? 0);
        }
      }),
    );
  });

  it('a rung between two others has a cap between theirs', () => {
    expect(ladderOf(854, 480)[1]?.bitrateMax).toBe(1_576_667);
    expect(ladderOf(320, 180)[0]?.bitrateMax).toBe(258_094);
    expect(ladderOf(128, 72)[0]?.bitrateMax).toBe(200_000);
  });

  it('rungs that are close together are all there', () => {
    const rungs = [540, 600].map((shortSide) => ({ codec: 'h264' as const, shortSide, bitrateMax: shortSide * 4000 }));
    const planned = planLadder({ width: 1200, height: 600, hdr: 'none' }, { ...profile, rungs }, ['h264']);
    expect(planned.map(({ id }) => id)).toEqual(['r540_h264', 'r600_h264']);
  });

  it('a profile without rungs gives one of the size of the source, with the least cap', () => {
    expect(planLadder({ width: 640, height: 360, hdr: 'none' }, { ...profile, rungs: [] }, ['h264'])).toEqual([
      { id: 'r360_h264', codec: 'h264', range: 'sdr', width: 640, height: 360, bitrateMax: 200_000 },
    ]);
  });

  it('a rung that costs over 70 % of the next one kept above it is dropped, and the largest is always kept', () => {
    expect(kept(100, 200, 400)).toEqual([100, 200, 400]);
    expect(kept(100, 281, 400)).toEqual([100, 400]);
    expect(kept(280, 400)).toEqual([280, 400]);
    expect(kept(100, 95, 98)).toEqual([98]);
    expect(kept(300, 390, 400)).toEqual([400]);
  });

  it('the rung of 2.0 Mb/s is listed first, or the nearest below it', () => {
    expect(order(730_000, 2_000_000, 4_500_000, 7_800_000)).toEqual([2_000_000, 730_000, 4_500_000, 7_800_000]);
    expect(order(730_000, 4_500_000)).toEqual([730_000, 4_500_000]);
    expect(order(4_500_000)).toEqual([4_500_000]);
    expect(order()).toEqual([]);
  });
});

const shown = (rungs: ReturnType<typeof planLadder>) => rungs.map(({ id, range }) => `${id} ${range}`);

describe('a ladder of several codecs', () => {
  it('a profile whose codecs cannot be encoded has the first of its ladders in H.264', () => {
    const ladders = [
      ['hevc', 540],
      ['hevc', 720],
      ['hevc', 1080],
      ['av1', 360],
      ['av1', 720],
    ] as const;
    const rungs = ladders.map(([codec, shortSide]) => ({ codec, shortSide, bitrateMax: shortSide * 4000 }));
    const planned = planLadder({ width: 1920, height: 1080, hdr: 'none' }, { ...profile, rungs }, ['h264']);
    expect(planned.map(({ id }) => id)).toEqual(['r540_h264', 'r720_h264', 'r1080_h264']);
  });

  const hdr = encodingProfileOf(builtInMediaProfiles.byName.get('hdr') as NamedProfile);
  const source = { width: 1920, height: 1080, hdr: 'pq' as const };

  it('each codec has rungs of its own, and HEVC rungs keep HDR where the profile says so', () => {
    expect(shown(planLadder(source, hdr, videoCodecs))).toEqual([
      'r360_h264 sdr',
      'r540_h264 sdr',
      'r720_h264 sdr',
      'r1080_h264 sdr',
      'r540_hevc pq',
      'r720_hevc pq',
      'r1080_hevc pq',
    ]);
    expect(shown(planLadder({ ...source, hdr: 'hlg' }, hdr, videoCodecs)).at(-1)).toBe('r1080_hevc hlg');
    expect(shown(planLadder({ ...source, hdr: 'none' }, hdr, videoCodecs)).at(-1)).toBe('r1080_hevc sdr');
    expect(shown(planLadder(source, { ...hdr, keepsHdr: false }, videoCodecs)).at(-1)).toBe('r1080_hevc sdr');
  });

  it.each([
    ['as the source has', 100, 62, ['r62_h264']],
    ['since a panorama is at most 4096 wide', 8192, 96, ['r48_h264']],
    ['since a strip is at most 4096 high', 96, 8192, ['r4096_h264']],
    ['but not of 66', 8192, 132, ['r66_h264', 'r66_hevc']],
  ])('rungs of less than 64 pixels are H.264 alone, %s', (_, width, height, ids) => {
    const rungs = (['h264', 'hevc'] as const).map((codec) => ({ codec, shortSide: 360, bitrateMax: 730_000 }));
    const idsOf = (of: typeof rungs) =>
      planLadder({ width, height, hdr: 'none' }, { ...profile, rungs: of }, videoCodecs).map(({ id }) => id);
    expect(idsOf(rungs)).toEqual(ids);
    expect(idsOf(rungs.slice(1))).toEqual([ids.at(-1)]);
  });

  it('a codec that cannot be encoded here is left out, and where none is left the rungs are H.264', () => {
    expect(shown(planLadder(source, hdr, ['h264', 'av1']))).toHaveLength(4);
    const rungs = hdr.rungs.filter(({ codec }) => codec === 'hevc');
    expect(shown(planLadder(source, { ...hdr, rungs }, ['h264']))).toEqual([
      'r540_h264 sdr',
      'r720_h264 sdr',
      'r1080_h264 sdr',
    ]);
    expect(shown(planLadder(source, hdr, ['hevc'])).slice(2, 5)).toEqual([
      'r720_h264 sdr',
      'r1080_h264 sdr',
      'r540_hevc pq',
    ]);
  });

  it.each([
    [62, 'r62_h264 sdr'],
    [64, 'r64_hevc pq'],
  ])('a source of %i lines has the rung %s where the profile has HEVC alone', (height, rung) => {
    const rungs = hdr.rungs.filter(({ codec }) => codec === 'hevc');
    expect(shown(planLadder({ ...source, width: 200, height }, { ...hdr, rungs }, videoCodecs))).toEqual([rung]);
  });

  it('rungs are compared and listed by codec', () => {
    const rungs = [
      { codec: 'h264' as const, bitrateMax: 2_000_000, averageBitrate: 190 },
      { codec: 'h264' as const, bitrateMax: 4_500_000, averageBitrate: 200 },
      { codec: 'hevc' as const, bitrateMax: 1_000_000, averageBitrate: 80 },
      { codec: 'hevc' as const, bitrateMax: 1_900_000, averageBitrate: 180 },
    ];
    expect(keepWorthwhile(rungs)).toEqual(rungs.slice(1));
    expect(inListingOrder(rungs, hdr)[0]).toBe(rungs[0]);
  });
});

describe('the size at which a frame is shown', () => {
  const coded = { width: 720, height: 576, sampleAspect: 1, rotation: 0 };
  it.each([
    ['a frame with square pixels keeps its size', coded, 720, 576],
    ['wide pixels widen the frame', { ...coded, sampleAspect: 64 / 45 }, 1024, 576],
    ['narrow pixels make it higher', { ...coded, sampleAspect: 1 / 2 }, 720, 1152],
    ['a quarter turn swaps the sides', { ...coded, rotation: 90 }, 576, 720],
    ['half a turn keeps the sides', { ...coded, rotation: 180 }, 720, 576],
    ['rotation is applied after the pixel aspect', { ...coded, sampleAspect: 64 / 45, rotation: 270 }, 576, 1024],
    ['an absurd pixel aspect is ignored', { ...coded, sampleAspect: 1000 }, 720, 576],
  ])('%s', (_, frame, width, height) => {
    expect(displaySizeOf(frame)).toEqual({ width, height });
  });
});

import { describe, expect, it } from 'vitest';
import { bandwidthOf, isUneven } from './bandwidth.ts';
import { joinPlaylists, parseMediaPlaylist, sharedTargetDuration, withTargetDuration } from './media-playlist.ts';

describe('measured bandwidth', () => {
  it('the average bandwidth is bytes over time, rounded up', () => {
    expect(bandwidthOf([{ sizeBytes: 1000, durationSec: 3 }], 6)).toEqual({ average: 2667, peak: 2667 });
  });

  it('the peak bandwidth is measured over at least half a target duration (RFC 8216, section 4.3.4.2)', () => {
    const segments = [
      { sizeBytes: 750_000, durationSec: 6 },
      { sizeBytes: 1_500_000, durationSec: 6 },
      // Too short to be a peak by itself.
      { sizeBytes: 500_000, durationSec: 1 },
    ];
    expect(bandwidthOf(segments, 6)).toEqual({ average: 1_692_308, peak: 2_285_715 });
  });

  const still = [6, 0] as const;

  it.each([
    ['a run of half a target duration counts', 2_000_000, [[3, 750_000]]],
    ['a run of one and a half target durations counts', 2_400_000, [[1.5, 1_350_000], still, [1.5, 1_350_000]]],
    ['a longer run does not count', 2_500_000, [[2, 2_500_000], still, [2, 2_500_000]]],
  ] as const)('for the peak bandwidth %s', (_, peak, run) => {
    const segments = [...run, still, still, still, still].map(([durationSec, sizeBytes]) => ({
      durationSec,
      sizeBytes,
    }));
    expect(bandwidthOf(segments, 6).peak).toBe(peak);
  });

  it('the peak bandwidth is never below the average, and an empty playlist has a bandwidth of 0', () => {
    expect(bandwidthOf([{ sizeBytes: 10_000, durationSec: 0.2 }], 6)).toEqual({ average: 400_000, peak: 400_000 });
    expect(bandwidthOf([], 6)).toEqual({ average: 0, peak: 0 });
  });
});

describe('a media playlist', () => {
  it('a media playlist is read with its target duration and the length and byte range of each segment', () => {
    const text = [
      '#EXTM3U',
      '#EXT-X-TARGETDURATION:7',
      '#EXT-X-MAP:URI="init.mp4"',
      '#EXTINF:6.006,',
      'seg_1.m4s',
      '#EXTINF:2.002,',
      '#EXT-X-BYTERANGE:50109@108',
      'seg_2.m4s',
      '#EXTINF:1.502,',
      'seg_3.m4s',
      '#EXT-X-ENDLIST',
      '',
    ].join('\r\n');
    expect(parseMediaPlaylist(text)).toEqual({
      targetDurationSec: 7,
      segments: [
        { uri: 'seg_1.m4s', durationSec: 6.006 },
        { uri: 'seg_2.m4s', durationSec: 2.002, rangeBytes: 50_109 },
        { uri: 'seg_3.m4s', durationSec: 1.502 },
      ],
    });
  });
});

const playlist = (...durations: number[]) => ({
  targetDurationSec: 7,
  segments: durations.map((durationSec) => ({ uri: 'x', durationSec })),
});

describe('the target duration', () => {
  it('the shared target duration is the longest segment of any track to the nearest second', () => {
    expect(sharedTargetDuration([playlist(6, 6, 0.6), playlist(6.016, 6.016, 0.5)])).toBe(6);
    expect(sharedTargetDuration([playlist(6.006), playlist(6.6)])).toBe(7);
    expect(sharedTargetDuration([playlist(0.04)])).toBe(1);
  });

  it('the playlists of twelve hours have a common target duration, and playlists of chunks are joined', () => {
    const hours = playlist(...Array.from({ length: 7_200 }, () => 6.006));
    expect(sharedTargetDuration(Array.from({ length: 24 }, () => hours))).toBe(6);
    const head = '#EXTM3U\n#EXT-X-TARGETDURATION:7\n#EXT-X-MAP:URI="init.mp4"\n';
    const chunk = (number: number) => `${head}#EXTINF:6.006,\nseg_${number}.m4s\n#EXT-X-ENDLIST\n`;
    const joined = `${head}#EXTINF:6.006,\nseg_1.m4s\n#EXTINF:6.006,\nseg_2.m4s\n#EXT-X-ENDLIST\n`;
    expect(joinPlaylists([chunk(1), chunk(2)])).toBe(joined);
  });

  it('the target duration of a playlist is replaced', () => {
    const text = '#EXTM3U\n#EXT-X-TARGETDURATION:7\n#EXTINF:6.016,\nseg_1.m4s\n';
    expect(withTargetDuration(text, 6)).toBe('#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6.016,\nseg_1.m4s\n');
  });
});

it('a bandwidth is uneven when its peak is over twice its average', () => {
  expect([199, 200, 201].map((peak) => isUneven({ average: 100, peak }))).toEqual([false, false, true]);
});

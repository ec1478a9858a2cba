import { describe, expect, it } from 'vitest';
import {
  joinPlaylists,
  mediaPlaylist,
  parseMediaPlaylist,
  sharedTargetDuration,
  withByteRanges,
  withTargetDuration,
} from './media-playlist.ts';

const text = [
  '#EXTM3U',
  '#EXT-X-VERSION:6',
  '#EXT-X-TARGETDURATION:7',
  '#EXT-X-MAP:URI="init.mp4"',
  '#EXTINF:6.000,',
  'seg_1.m4s',
  '#EXTINF:5.5,a title',
  '#EXT-X-BYTERANGE:100@20',
  'seg_2.m4s',
  '#EXTINF:1,',
  'seg_3.m4s',
  '#EXT-X-ENDLIST',
  '',
].join('\n');

describe('a media playlist', () => {
  it.each([
    ['\n', text],
    ['\r\n', text.replaceAll('\n', '\r\n')],
  ])('is read with lines that end with %j', (_, written) => {
    expect(parseMediaPlaylist(written)).toStrictEqual({
      targetDurationSec: 7,
      segments: [
        { uri: 'seg_1.m4s', durationSec: 6 },
        { uri: 'seg_2.m4s', durationSec: 5.5, rangeBytes: 100 },
        { uri: 'seg_3.m4s', durationSec: 1 },
      ],
    });
  });

  it.each([
    '#EXT-X-TARGETDURATION:x',
    '#EXTINF:',
    '#EXTINF:-1,',
    '#EXTINF:1x,',
    '#EXTINF:x#EXTINF:1,',
    '#EXT-X-BYTERANGE:1.2.3',
  ])('is refused where a number is another text: %s', (line) => {
    expect(() => parseMediaPlaylist(line)).toThrow(`expected a number in a media playlist, found ${line}`);
  });

  it('is refused with the first 80 characters of the line', () => {
    const found = '#EXTINF:'.padEnd(80, 'x');
    const message = `expected a number in a media playlist, found ${found}`;
    expect(() => parseMediaPlaylist(`${found}yz`)).toThrow(new TypeError(message));
  });

  it('gets another target duration, and nothing else', () => {
    const written = `# was #EXT-X-TARGETDURATION:9\n${text}`;
    expect(withTargetDuration(written.replace('TARGETDURATION:7', 'TARGETDURATION:10'), 12)).toBe(
      written.replace('TARGETDURATION:7', 'TARGETDURATION:12'),
    );
  });

  it('is written with whole segments', () => {
    const segments = [
      { uri: 'a.jpg', durationSec: 60 },
      { uri: 'b.jpg', durationSec: 12.3456 },
    ];
    const written = mediaPlaylist(segments);
    expect(written).toBe(
      '#EXTM3U\n#EXT-X-VERSION:6\n#EXT-X-TARGETDURATION:60\n#EXT-X-PLAYLIST-TYPE:VOD\n' +
        '#EXTINF:60.000,\na.jpg\n#EXTINF:12.346,\nb.jpg\n#EXT-X-ENDLIST\n',
    );
  });
});

it.each([
  [[[6.4], [5]], 6],
  [[[6.5]], 7],
  [[[0.2]], 1],
  [[], 1],
])('tracks of %j seconds share the target duration %d', (tracks, expected) => {
  const playlists = tracks.map((durations) => ({
    targetDurationSec: 99,
    segments: durations.map((durationSec) => ({ uri: 'x', durationSec })),
  }));
  expect(sharedTargetDuration(playlists)).toBe(expected);
});

describe('the playlists of chunks', () => {
  const head = '#EXTM3U\n# before the first #EXTINF:\n#EXT-X-TARGETDURATION:6\n';

  it('are joined under the head of the first', () => {
    const chunks = ['#EXTINF:6,\na\n#EXTINF:6,\nb\n#EXT-X-ENDLIST\n', '#EXTINF:2,\nc\n#EXT-X-ENDLIST\n'];
    expect(joinPlaylists(chunks.map((each) => head + each))).toBe(
      `${head}#EXTINF:6,\na\n#EXTINF:6,\nb\n#EXTINF:2,\nc\n#EXT-X-ENDLIST\n`,
    );
  });
});

const iframes = (ranges: readonly [string, string][]) =>
  ranges.map(([range, uri]) => `#EXTINF:2,\n#EXT-X-BYTERANGE:${range}\n${uri}\n`).join('');

describe('an I-frame playlist', () => {
  const playlist = iframes([
    ['1@1', 'seg_1.m4s'],
    ['2@2', 'seg_1.m4s'],
    ['3@3', 'seg_2.m4s'],
  ]);

  it('gets the ranges of the key frames of each segment, in their order', () => {
    const ranges = new Map([
      [
        'seg_1.m4s',
        [
          { offset: 10, bytes: 11 },
          { offset: 20, bytes: 21 },
        ],
      ],
    ]);
    const remark = '# not #EXT-X-BYTERANGE:4@4\nseg_1.m4s\n';
    expect(withByteRanges(`${remark}${playlist}`, (uri) => ranges.get(uri) ?? null)).toBe(
      remark +
        iframes([
          ['11@10', 'seg_1.m4s'],
          ['21@20', 'seg_1.m4s'],
          ['3@3', 'seg_2.m4s'],
        ]),
    );
  });

  it('names more key frames than the segment has: that is a fault', () => {
    expect(() => withByteRanges(playlist, () => [{ offset: 1, bytes: 1 }])).toThrow(
      'the segment seg_1.m4s has 1 key frames',
    );
  });
});

import { expect, it } from 'vitest';
import { revisionOfMaster, topMasterOf } from './master-playlist.ts';

const rev = '0123456789abcdef';

const lines = (into: string) => [
  '#EXTM3U',
  `#EXT-X-MEDIA:TYPE=AUDIO,URI="${into}audio/a.m3u8",NAME="URI=x"`,
  `#EXT-X-SESSION-DATA:URI="${into}a.json"`,
  '#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI="https://media.example/api/key/h"',
  '#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI="/api/key/h"',
  '#EXT-X-SESSION-KEY:METHOD=SAMPLE-AES,URI="skd://h"',
  '#EXT-X-STREAM-INF:BANDWIDTH=1',
  `${into}video/r360/playlist.m3u8`,
  'HTTPS://cdn.example/playlist.m3u8',
  '',
  '  ',
  '',
];

it('a top master leads into the revision, but for addresses that are whole', () => {
  expect(topMasterOf(lines('').join('\n'), rev)).toBe(lines(`${rev}/`).join('\n'));
});

it.each([
  [`#EXTM3U\n\n${rev}/video/playlist.m3u8\n`, rev],
  [`#EXTM3U\n#${rev}/\nvideo/playlist.m3u8\n${rev}/x\n`, null],
  [`#EXTM3U\nx${rev}/video/playlist.m3u8\n`, null],
  [`#EXTM3U\n${rev}0/video/playlist.m3u8\n`, null],
  ['#EXTM3U\n', null],
  ['', null],
])('the revision of the top master %j is %s', (text, expected) => expect(revisionOfMaster(text)).toBe(expected));

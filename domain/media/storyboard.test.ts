import { expect, it } from 'vitest';
import {
  planStoryboard,
  sheetNumbers,
  sheetsFilledBy,
  storyboardCues,
  storyboardLine,
  storyboardPlaylist,
} from './storyboard.ts';

const grid = { rate: { num: 25, den: 1 }, gopFrames: 50, segmentFrames: 150 };
// 63 seconds: 32 tiles, two on a second sheet.
const storyboard = planStoryboard({ width: 1920, height: 1080 }, { frames: 63 * 25, grid });

it('a storyboard has a tile for each GOP, 160 pixels on its longer side', () => {
  expect(storyboard).toEqual({ tile: { width: 160, height: 90 }, tiles: 32, intervalSec: 2, durationSec: 63 });
  expect(planStoryboard({ width: 1080, height: 1920 }, { frames: 1, grid })).toMatchObject({
    tile: { width: 90, height: 160 },
    tiles: 1,
  });
  expect(sheetNumbers(storyboard)).toEqual([1, 2]);
});

it.each([
  [1500, 1],
  [3000, 2],
  [3050, null],
  [750, null],
])('a run of %d frames, of 50 for a tile and 30 tiles for a sheet, fills %s sheets', (frames, sheets) => {
  expect(sheetsFilledBy(frames, grid)).toBe(sheets);
});

it('the line of a storyboard in a master playlist has the size of a tile', () => {
  expect(storyboardLine({ storyboard, bandwidth: 12_000 })).toBe(
    '#EXT-X-IMAGE-STREAM-INF:BANDWIDTH=12000,RESOLUTION=160x90,CODECS="jpeg",URI="storyboard/playlist.m3u8"',
  );
});

it('the image playlist of a storyboard gives each sheet its time and the place of its tiles', () => {
  expect(storyboardPlaylist(storyboard).split('\n')).toEqual([
    '#EXTM3U',
    '#EXT-X-VERSION:7',
    '#EXT-X-TARGETDURATION:60',
    '#EXT-X-MEDIA-SEQUENCE:1',
    '#EXT-X-PLAYLIST-TYPE:VOD',
    '#EXT-X-IMAGES-ONLY',
    '#EXTINF:60.00000,',
    '#EXT-X-TILES:RESOLUTION=160x90,LAYOUT=10x3,DURATION=2.00000',
    'sheet_1.jpg',
    '#EXTINF:3.00000,',
    '#EXT-X-TILES:RESOLUTION=160x90,LAYOUT=10x3,DURATION=2.00000',
    'sheet_2.jpg',
    '#EXT-X-ENDLIST',
    '',
  ]);
});

it('the cues of a storyboard name the place of each tile and end with the video', () => {
  const cues = storyboardCues(storyboard).split('\n\n');
  expect(cues[0]).toBe('WEBVTT');
  expect(cues[1]).toBe('00:00:00.000 --> 00:00:02.000\nsheet_1.jpg#xywh=0,0,160,90');
  expect(cues[12]).toBe('00:00:22.000 --> 00:00:24.000\nsheet_1.jpg#xywh=160,90,160,90');
  expect(cues[32]).toBe('00:01:02.000 --> 00:01:03.000\nsheet_2.jpg#xywh=160,0,160,90\n');
});

import { expect, it } from 'vitest';
import { planStoryboard, sheetNumbers, storyboardCues, storyboardPlaylist, withStoryboard } from './storyboard.ts';

const grid = { rate: { num: 25, den: 1 }, gopFrames: 50, segmentFrames: 150 };
// 63 seconds: 32 pictures, two on a second sheet.
const storyboard = planStoryboard({ width: 1920, height: 1080 }, { frames: 63 * 25, grid });

it('a storyboard has a picture for each GOP, 160 pixels on its longer side', () => {
  expect(storyboard).toEqual({ tile: { width: 160, height: 90 }, tiles: 32, intervalSec: 2, durationSec: 63 });
  expect(planStoryboard({ width: 1080, height: 1920 }, { frames: 1, grid })).toMatchObject({
    tile: { width: 90, height: 160 },
    tiles: 1,
  });
  expect(sheetNumbers(storyboard)).toEqual([1, 2]);
});

it('the image playlist of a storyboard gives each sheet its time and the place of its pictures', () => {
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

it('the cues of a storyboard name the place of each picture and end with the video', () => {
  const cues = storyboardCues(storyboard).split('\n\n');
  expect(cues[0]).toBe('WEBVTT');
  expect(cues[1]).toBe('00:00:00.000 --> 00:00:02.000\nsheet_1.jpg#xywh=0,0,160,90');
  expect(cues[12]).toBe('00:00:22.000 --> 00:00:24.000\nsheet_1.jpg#xywh=160,90,160,90');
  expect(cues[32]).toBe('00:01:02.000 --> 00:01:03.000\nsheet_2.jpg#xywh=160,0,160,90\n');
});

it('a DASH manifest lists the storyboard as thumbnail tiles after the other adaptation sets', () => {
  const manifest = '<MPD>\n  <Period id="0">\n    <AdaptationSet/>\n  </Period>\n</MPD>\n';
  expect(withStoryboard(manifest, { storyboard, bandwidth: 9000 }).split('\n')).toEqual([
    '<MPD>',
    '  <Period id="0">',
    '    <AdaptationSet/>',
    '    <AdaptationSet contentType="image" mimeType="image/jpeg">',
    '      <SegmentTemplate media="storyboard/sheet_$Number$.jpg" duration="60000" timescale="1000" startNumber="1"/>',
    '      <Representation id="storyboard" bandwidth="9000" width="1600" height="270">',
    '        <EssentialProperty schemeIdUri="http://dashif.org/guidelines/thumbnail_tile" value="10x3"/>',
    '      </Representation>',
    '    </AdaptationSet>',
    '  </Period>',
    '</MPD>',
    '',
  ]);
});

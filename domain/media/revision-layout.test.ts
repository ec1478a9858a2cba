import { expect, it } from 'vitest';
import * as layout from './revision-layout.ts';

// Other programs find objects by these paths: docs/reference/contract.md, "Object keys".

it('the objects of a revision have these paths', () => {
  const { masterPath, dashManifestPath, chaptersPath, coverPath, waveformPath, previewPath, storyboardPaths } = layout;
  expect([masterPath, dashManifestPath, chaptersPath, coverPath, waveformPath, previewPath('gif')]).toEqual([
    'master.m3u8',
    'manifest.mpd',
    'chapters.vtt',
    'cover.jpg',
    'waveform.webp',
    'preview.gif',
  ]);
  expect([storyboardPaths.sheet(3), storyboardPaths.playlist, storyboardPaths.cues]).toEqual([
    'storyboard/sheet_3.jpg',
    'storyboard/playlist.m3u8',
    'storyboard/cues.vtt',
  ]);
});

it.each([
  ['video', 'm4s', 'video/x/iframes.m3u8', null],
  ['audio', 'm4s', null, null],
  ['text', 'vtt', null, 'text/x/captions.vtt'],
] as const)('a track of %s has these paths', (kind, extension, iframePlaylist, whole) => {
  expect(layout.trackPaths(kind, 'x')).toEqual({
    init: `${kind}/x/init.mp4`,
    segmentTemplate: `${kind}/x/seg_$Number$.${extension}`,
    playlist: `${kind}/x/playlist.m3u8`,
    iframePlaylist,
    whole,
  });
});

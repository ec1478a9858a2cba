import { expect, it } from 'vitest';
import { storedContentType, streamContentType } from './content-types.ts';

it.each([
  ['videos/a/master.m3u8', 'application/vnd.apple.mpegurl'],
  ['manifest.mpd', 'application/dash+xml'],
  ['video/r360/seg_1.m4s', 'video/iso.segment'],
  ['video/r360/init.mp4', 'video/mp4'],
  ['audio/a/init.mp4', 'audio/mp4'],
  ['x/audio/a/init.mp4', 'audio/mp4'],
  ['x-audio/a/init.mp4', 'video/mp4'],
  ['audio/a/seg_1.m4s', 'video/iso.segment'],
  ['cover.jpg', 'image/jpeg'],
  ['preview.webp', 'image/webp'],
  ['chapters.vtt', 'text/vtt'],
])('%s is streamed and stored as %s', (key, type) => {
  expect([streamContentType(key), storedContentType(key)]).toEqual([type, type]);
});

it.each([
  ['a.png', 'image/png'],
  ['a.avif', 'image/avif'],
  ['a.gif', 'image/gif'],
  ['result.json', 'application/json'],
  ['SHA256SUMS', 'application/octet-stream'],
  ['a.jpg.exe', 'application/octet-stream'],
  ['a.constructor', 'application/octet-stream'],
  ['a.jpg/', 'application/octet-stream'],
])('%s is not streamed, and stored as %s', (key, type) => {
  expect([streamContentType(key), storedContentType(key)]).toEqual([null, type]);
});

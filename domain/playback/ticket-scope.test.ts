import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { isInScope, manifestInScope, masterInScope, readScope, type TicketScope } from './ticket-scope.ts';

const scopeOf = (text: string) => readScope(text) as TicketScope;
const rev = '0123456789abcdef';

describe('isInScope', () => {
  it.each([
    ['audio', 'video/r360_h264/seg_1.m4s', false],
    ['audio', `${rev}/video/r360_h264/init.mp4`, false],
    ['audio', `${rev}/storyboard/sheet_1.jpg`, false],
    ['audio', `${rev}/preview.webp`, false],
    ['audio', `${rev}/audio/audio_en_aac_2ch/seg_1.m4s`, true],
    ['audio', `${rev}/text/text_en/captions.vtt`, true],
    ['audio', `${rev}/cover.jpg`, true],
    ['audio', 'master.m3u8', true],
    ['720p', `${rev}/video/r720_h264/seg_1.m4s`, true],
    ['720p', `${rev}/video/r1080_h264/seg_1.m4s`, false],
    ['720p', 'video/r1080_hevc/playlist.m3u8', false],
    ['720p', 'video/unknown/playlist.m3u8', false],
    ['720p', `${rev}/audio/audio_en_aac_2ch/seg_1.m4s`, true],
    ['sid-a', `${rev}/video/r1080_h264/seg_1.m4s`, true],
  ])('C33.7: the scope %s opens %s: %s', (scope, path, expected) => {
    expect(isInScope(scopeOf(scope), path)).toBe(expected);
  });
});

const master = [
  '#EXTM3U',
  '#EXT-X-MEDIA:TYPE=AUDIO,GROUP-ID="audio",NAME="English",URI="audio/a/playlist.m3u8"',
  '#EXT-X-STREAM-INF:BANDWIDTH=1,RESOLUTION=640x360,AUDIO="audio"',
  'video/r360_h264/playlist.m3u8',
  '#EXT-X-STREAM-INF:BANDWIDTH=2,RESOLUTION=1920x1080,AUDIO="audio"',
  'video/r1080_h264/playlist.m3u8',
  '#EXT-X-STREAM-INF:BANDWIDTH=1,AUDIO="audio"',
  'audio/a/playlist.m3u8',
  '#EXT-X-I-FRAME-STREAM-INF:BANDWIDTH=1,URI="video/r1080_h264/iframes.m3u8"',
  '#EXT-X-IMAGE-STREAM-INF:BANDWIDTH=1,URI="storyboard/playlist.m3u8"',
  '',
].join('\n');

describe('masterInScope', () => {
  it('C33.7: a height leaves out the larger variants and their key frames', () => {
    const lines = master.split('\n');
    expect(masterInScope(master, scopeOf('720p'))).toBe(lines.toSpliced(8, 1).toSpliced(4, 2).join('\n'));
  });

  it('C33.7: audio leaves the renditions and the variant without video', () => {
    const lines = master.split('\n');
    expect(masterInScope(master, scopeOf('audio'))).toBe(lines.toSpliced(8, 2).toSpliced(2, 4).join('\n'));
  });

  it('a scope that leaves no variant gives none', () => {
    expect(masterInScope(master.replaceAll(/.*BANDWIDTH=1,AUDIO.*\naudio.*\n/g, ''), scopeOf('audio'))).toBeNull();
  });
});

describe('manifestInScope', () => {
  const manifest = readFileSync(new URL('../../test/fixtures/packager.mpd', import.meta.url), 'utf8');

  it('C33.7: a height leaves out the larger tracks', () => {
    const text = manifestInScope(manifest, scopeOf('100p')) ?? '';
    expect(text).toContain('video/r90_h264/');
    expect(text).not.toContain('video/r180_h264/');
    expect(text).toMatch(/maxWidth="160" maxHeight="90"/);
    expect(text).toContain('audio/');
  });

  it('C33.7: audio leaves out video', () => {
    const text = manifestInScope(manifest, scopeOf('audio')) ?? '';
    expect(text).not.toContain('video/');
    expect(text).toContain('audio/');
  });
});

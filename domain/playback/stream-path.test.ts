import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { videoRoot } from '../media/object-keys.ts';
import { isAlias, readStreamPath } from './stream-path.ts';

describe('readStreamPath', () => {
  it.each([
    ['h/master.m3u8', 'h', 'master.m3u8'],
    ['h/video/r360_h264/seg_1.m4s', 'h', 'video/r360_h264/seg_1.m4s'],
    ['a%7Eb/audio%2Faudio_en_aac_2ch/init.mp4', 'a~b', 'audio/audio_en_aac_2ch/init.mp4'],
    ['h/100%25.jpg', 'h', '100%.jpg'],
    ['h/ %C3%BC.jpg', 'h', ' ü.jpg'],
    ['h/%C2%A0%25C2%25A0.jpg', 'h', '\u00a0%C2%A0.jpg'],
  ])('readStreamPath reads %s', (encoded, hash, path) => {
    expect(readStreamPath(encoded)).toMatchObject({ kind: 'object', hash, path });
  });

  it.each([
    ['h/master.m3u8', 'h/master.m3u8'],
    ['h/%6daster.m3u8', 'h/master.m3u8'],
    ['h%2fmaster.m3u8', 'h/master.m3u8'],
    ['a%7eb/1%25.jpg', 'a~b/1%25.jpg'],
    ['h/%c3%bc%20%3f%23.jpg', 'h/%C3%BC%20%3F%23.jpg'],
    ["h/a%2b(b)'%24&.jpg", "h/a+(b)'$&.jpg"],
  ])('C17.8: the one spelling of %s is %s, and of itself', (encoded, spelling) => {
    expect(readStreamPath(encoded)).toMatchObject({ spelling });
    expect(readStreamPath(spelling)).toMatchObject({ spelling });
  });

  it.each([
    'h/../x.m3u8',
    'h/a..b.m3u8',
    'h/%2e%2e/x.m3u8',
    'h/%252e%252e/x.m3u8',
    'h/%252e%252e%zz/x.m3u8',
    '..%2fh/x.m3u8',
    'h/a%5Cb.m3u8',
    'h/a\\b.m3u8',
    'h/a%255cb.m3u8',
    'h/a%00.m3u8',
    'h/a%0a.m3u8',
    'h/%C2%80.m4s',
    'h/\u0085.m4s',
    'h/%25C2%2585.m4s',
    '%C2%85/a.m4s',
    'h//x.m3u8',
    'h/%2fx.m3u8',
    'h/a%252f%252fb.m3u8',
    'h/./x.m3u8',
    'h/',
    '/x.m3u8',
    '',
    'h/%zz.m3u8',
    'h/%',
  ])('readStreamPath calls %s malformed', (encoded) => {
    expect(readStreamPath(encoded)).toEqual({ kind: 'malformed' });
  });

  it.each(['h', 'master.m3u8', '-h/master.m3u8', 'a b/master.m3u8', `h/${'x'.repeat(10_000)}.m3u8`])(
    'readStreamPath knows without asking that nothing is at %s',
    (encoded) => {
      expect(readStreamPath(encoded)).toEqual({ kind: 'unknown' });
    },
  );

  it('readStreamPath bounds the object key, prefix and hash with it, at 1024 bytes', () => {
    const longest = 'x'.repeat(1024 - Buffer.byteLength(`${videoRoot('h')}/`));
    expect(readStreamPath(`h/${longest}`)).toMatchObject({ kind: 'object', path: longest });
    expect(readStreamPath(`h/${longest}x`)).toEqual({ kind: 'unknown' });
  });

  it('readStreamPath gives no path that leads out of the media, however often it is decoded', () => {
    const piece = fc.constantFrom(
      '..',
      '.',
      '/',
      '%2e',
      '%252e',
      '%2f',
      '%5c',
      '\\',
      'a',
      '%',
      '25',
      '2e',
      '%00',
      'h/',
    );
    fc.assert(
      fc.property(fc.array(piece, { maxLength: 12 }), (pieces) => {
        const read = readStreamPath(`h/${pieces.join('')}`);
        if (read.kind !== 'object') return;
        const parts = read.path.split(/[/\\]/);
        expect(parts).not.toContain('..');
        expect(parts).not.toContain('');
      }),
      { numRuns: 2000 },
    );
  });
});

describe('isAlias', () => {
  it('isAlias takes the shapes without a revision', () => {
    expect(isAlias('video/r360_h264/init.mp4')).toBe(true);
    expect(isAlias('audio/audio_en_aac_2ch/playlist.m3u8')).toBe(true);
    expect(isAlias('waveform.webp')).toBe(true);
    expect(isAlias('text/text_en/seg_1.vtt')).toBe(true);
    expect(isAlias('storyboard/sheet_1.jpg')).toBe(true);
    expect(isAlias('0123456789abcdef/video/r360_h264/init.mp4')).toBe(false);
    expect(isAlias('master.m3u8')).toBe(false);
  });
});

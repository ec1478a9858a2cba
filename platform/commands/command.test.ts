import { describe, expect, it } from 'vitest';
import { mask, showCommand } from './command.ts';
import { LineReader } from './line-reader.ts';
import { tailOf } from './output.ts';

describe('a shown command', () => {
  it('a shown command reads as one would type it', () => {
    const args = ['-i', 'my clip.mp4', '-vf', "drawtext=text='x'", '-y', ''];
    expect(showCommand({ program: '/usr/bin/ffmpeg', args })).toBe(
      `/usr/bin/ffmpeg -i 'my clip.mp4' -vf 'drawtext=text='\\''x'\\''' -y ''`,
    );
  });

  it('a shown command masks its secrets wherever they stand', () => {
    const key = 'aabbccddeeff00112233445566778899';
    const args = ['--keys', `label=:key_id=01:key=${key}`, '--other', "it's"];
    expect(showCommand({ program: 'packager', args, secrets: [key, "it's"] })).toBe(
      'packager --keys label=:key_id=01:key=*** --other ***',
    );
  });

  it('a shown command masks the longer of two secrets first, and an empty one masks nothing', () => {
    expect(mask('abc abcdef', ['abc', 'abcdef', ''])).toBe('*** ***');
  });
});

const linesOf = (...chunks: (string | Buffer)[]) => {
  const lines: string[] = [];
  const reader = new LineReader((line) => lines.push(line));
  for (const chunk of chunks) reader.write(Buffer.from(chunk));
  reader.end();
  return lines;
};

describe('reading lines', () => {
  it('reading lines joins what arrives in pieces, also halves of a character and of a line end', () => {
    const bytes = Buffer.from('é\n');
    expect(linesOf('a', 'b\nc', bytes.subarray(0, 1), bytes.subarray(1), 'd\r', '\ne\r', 'f')).toEqual([
      'ab',
      'cé',
      'd',
      'e',
      'f',
    ]);
  });

  it('reading lines keeps empty lines, and makes none of the end', () => {
    expect(linesOf('a\n\nb\n')).toEqual(['a', '', 'b']);
    expect(linesOf('')).toEqual([]);
  });

  it('reading lines cuts a line that does not end', () => {
    const [line, ...others] = linesOf(...Array.from({ length: 100 }, () => 'x'.repeat(10_000)));
    expect(line).toHaveLength(64 * 1024);
    expect(others).toEqual([]);
  });
});

describe('the tail of a text', () => {
  it('the tail of a text is cut between characters', () => {
    expect(tailOf('aé🎬', 100)).toBe('aé🎬');
    expect(tailOf('aé🎬', 4)).toBe('🎬');
    expect(tailOf('aé🎬', 5)).toBe('🎬');
    expect(tailOf('aé🎬', 6)).toBe('é🎬');
    expect(tailOf('', 4)).toBe('');
  });
});

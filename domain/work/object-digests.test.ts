import { describe, expect, it } from 'vitest';
import { digestDocuments, parseDigestLine, revisionFolderOf, withDigestKeys } from './object-digests.ts';

const video = 'videos/ab/clip-1/0123456789abcdef/';
const images = 'images/ab/clip-1/fedcba9876543210/';
const [a, b] = ['a'.repeat(64), 'b'.repeat(64)];

describe('the folder of a revision', () => {
  it.each([
    [`${video}video/r64/seg_1.m4s`, video],
    [`${images}cover.jpg`, images],
    ['videos/ab/clip-1/master.m3u8', null],
    [`work/${video}master.m3u8`, null],
    ['videos/abc/clip-1/0123456789abcdef/a', null],
    ['videos/ab/clip/1/0123456789abcdef/a', null],
    ['videos/ab//0123456789abcdef/a', null],
    ['videos/ab/clip-1/0123456789abcdeg/a', null],
    ['videos/ab/clip-1/0123456789abcdef', null],
  ])('of %s is %s', (key, folder) => expect(revisionFolderOf(key)).toBe(folder));
});

describe('SHA256SUMS', () => {
  it('is one document for each folder, in the order of names, without objects outside of one', () => {
    const objects = [
      { key: `${video}b.m4s`, size: 1, sha256: b },
      { key: `${images}cover.jpg`, size: 1, sha256: b },
      { key: `${video}a/a.m4s`, size: 1, sha256: a },
      { key: 'videos/ab/clip-1/master.m3u8', size: 1, sha256: a },
    ];
    expect(digestDocuments(objects)).toEqual([
      { key: `${video}SHA256SUMS`, text: `${a}  a/a.m4s\n${b}  b.m4s\n` },
      { key: `${images}SHA256SUMS`, text: `${b}  cover.jpg\n` },
    ]);
  });

  it('belongs to what lies in its folder, and to nothing else', () => {
    expect(withDigestKeys([`${video}a`, `${video}b`, 'other'])).toEqual(
      new Set([`${video}a`, `${video}b`, `${video}SHA256SUMS`, 'other']),
    );
  });

  it.each([
    [`${a}  a b.m4s`, { name: 'a b.m4s', sha256: a }],
    [`x${a}  a`, null],
    [`${a} a`, null],
    [`${a}  `, null],
    [`${a}  a\nb`, null],
    ['', null],
  ])('a line %j is read as %j', (line, read) => expect(parseDigestLine(line)).toEqual(read));
});

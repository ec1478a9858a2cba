import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { isCutOff } from './file-end.ts';

let dir = '';
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelwright-file-end-'));
});
afterAll(() => rm(dir, { recursive: true }));

async function isCut(container: string, bytes: Buffer, missingShare = 0.1): Promise<boolean> {
  const path = join(dir, 'source');
  await writeFile(path, bytes);
  return isCutOff(path, container, missingShare);
}

const bytesOf = (hex: string) => Buffer.from(hex.replaceAll(' ', ''), 'hex');

/** An MP4 box of `size` bytes, its head included. */
function box(size: number): Buffer {
  const bytes = Buffer.alloc(size, 'x');
  bytes.writeUInt32BE(size);
  return bytes;
}
/** The same with a size of 64 bits. */
function largeBox(size: number): Buffer {
  const bytes = Buffer.alloc(size, 'x');
  bytes.writeUInt32BE(1);
  bytes.writeBigUInt64BE(BigInt(size), 8);
  return bytes;
}
/** A box whose size stands for the rest of the file. */
const lastBox = Buffer.concat([bytesOf('00000000'), Buffer.from('mdat and its samples')]);

/** An EBML header of no content, and a segment whose size is `size` in one byte or, as 8 bytes, in eight. */
const segment = (size: string, contentBytes: number) =>
  Buffer.concat([bytesOf('1a45dfa3 80 18538067'), bytesOf(size), Buffer.alloc(contentBytes)]);

/** A KLV packet of MXF: a key, the length, and content. */
const packet = (length: string, contentBytes: number) =>
  Buffer.concat([Buffer.alloc(16, 'k'), bytesOf(length), Buffer.alloc(contentBytes)]);

/** An FLV with one tag of `dataBytes`, and the size of the tag behind it. */
function flv(dataBytes: number, stated = 11 + dataBytes, type = 9): Buffer {
  const head = Buffer.from('FLV\x01\x05\0\0\0\x09\0\0\0\0', 'latin1');
  const tag = Buffer.alloc(11 + dataBytes + 4);
  tag.writeUInt8(type);
  tag.writeUIntBE(dataBytes, 1, 3);
  tag.writeUInt32BE(stated, 11 + dataBytes);
  return Buffer.concat([head, tag]);
}

/** A box of a movie fragment. */
const fragment = (type: 'moof' | 'mdat') => {
  const bytes = box(50);
  bytes.write(type, 4, 'latin1');
  return bytes;
};

describe('a recording in fragments', () => {
  const ten = Buffer.concat([
    box(24),
    ...Array.from({ length: 10 }, () => [fragment('moof'), fragment('mdat')]).flat(),
  ]);

  it.each([
    ['its last fragment', ten.subarray(0, -20), 0.1, false],
    ['the end of its last box of a fragment', ten.subarray(0, -60), 0.1, false],
    ['more than its last fragment', ten.subarray(0, -20), 0.3, true],
    ['nothing', ten, 0.3, false],
  ])('that lacks %s is cut off only where it lacks more than that', async (_, bytes, missingShare, expected) => {
    expect(await isCut('mov', bytes, missingShare)).toBe(expected);
  });
});

describe('a file that was cut off', () => {
  it.each([
    ['mov', 'boxes', Buffer.concat([box(24), box(100)])],
    ['mov', 'a box with a size of 64 bits', Buffer.concat([box(24), largeBox(100)])],
    ['matroska', 'a segment with a short size', segment('94', 20)],
    ['matroska', 'a segment with a size of eight bytes', segment('0100000000000014', 20)],
    ['mxf', 'packets with a short and a long length', Buffer.concat([packet('05', 5), packet('83000014', 20)])],
    ['flv', 'a tag', flv(20)],
  ])('%s: the end of %s is noticed to be missing', async (container, _, whole) => {
    expect(await isCut(container, whole)).toBe(false);
    expect(await isCut(container, whole.subarray(0, -1))).toBe(true);
  });

  it.each([
    ['mov', 'a last box without a size', Buffer.concat([box(24), lastBox])],
    ['mov', 'zeros behind the last box', Buffer.concat([box(24), Buffer.alloc(64)])],
    ['mov', 'less than a head behind the last box', Buffer.concat([box(24), Buffer.from('end')])],
    ['mov', 'half the head of a large box', Buffer.concat([box(24), bytesOf('00000001 6d646174 0000')])],
    ['matroska', 'a segment of unknown size', segment('01ffffffffffffff', 20)],
    ['matroska', 'a segment of unknown size in a byte', segment('ff', 20)],
    ['matroska', 'no element', bytesOf('00 00 00')],
    ['mxf', 'a key without a length', Buffer.alloc(16, 'k')],
    ['mxf', 'half a length', packet('8400', 0)],
    ['mxf', 'a length of nine bytes', packet('89000000000000000001', 5)],
  ])('%s: %s says nothing', async (container, _, bytes) => {
    expect(await isCut(container, bytes)).toBe(false);
  });

  it.each([
    ['is shorter than a tag', Buffer.from('FLV')],
    ['states a tag that is longer than the file', flv(20, 4_000)],
    ['states a tag that is shorter than its head', flv(20, 10)],
    ['has another length in front of its last tag', flv(20, 30)],
    ['has no kind of tag there', flv(20, 31, 7)],
  ])('an FLV that %s is cut off', async (_, bytes) => {
    expect(await isCut('flv', bytes)).toBe(true);
  });

  it('FLAC states its samples, and other containers do not show their end', async () => {
    expect(await isCut('flac', Buffer.from('fLaC'))).toBe(true);
    expect(await isCut('avi', Buffer.from('RIFF'))).toBe(false);
  });
});

import { describe, expect, it } from 'vitest';
import { containerOf } from './containers.ts';
import { imageKindOf } from './image-kinds.ts';

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))));
const packets = (size: number, offset = 0) => {
  const head = Buffer.alloc(4096);
  for (let at = offset; at < head.length; at += size) head[at] = 0x47;
  return head;
};

describe('the container of the first bytes', () => {
  it.each([
    ['mov', bytes([0, 0, 0, 24], 'ftypmp42')],
    ['mov', bytes([0, 0, 0, 8], 'wide')],
    ['matroska', bytes([0x1a, 0x45, 0xdf, 0xa3, 1])],
    ['avi', bytes('RIFF', [0, 0, 0, 0], 'AVI LIST')],
    ['wav', bytes('RIFF', [0, 0, 0, 0], 'WAVEfmt ')],
    ['mpegts', packets(188)],
    ['mpegts', packets(192, 4)],
    ['mpeg', bytes([0, 0, 1, 0xba, 0x44])],
    ['flv', bytes('FLV', [1])],
    ['gif', bytes('GIF89a')],
    [null, bytes('#EXTM3U\n#EXTINF:1,\nx.ts')],
    [null, bytes('ffconcat version 1.0\nfile x')],
    [null, bytes('<?xml version="1.0"?><MPD>')],
    [null, bytes([0xff, 0xd8, 0xff, 0xe0])],
    [null, Buffer.alloc(0)],
  ])('the container %s is recognised by its first bytes', (container, head) => {
    expect(containerOf(head)).toBe(container);
  });
});

describe('the kind of image of the first bytes', () => {
  it.each([
    ['jpeg', bytes([0xff, 0xd8, 0xff, 0xe1])],
    ['png', bytes([0x89], 'PNG\r\n', [0x1a], '\n')],
    ['webp', bytes('RIFF', [0, 0, 0, 0], 'WEBP')],
    ['gif', bytes('GIF89a')],
    ['heif', bytes([0, 0, 0, 32], 'ftypavif')],
    [null, bytes([0, 0, 0, 24], 'ftypmp42')],
    [null, bytes('<svg xmlns="http://www.w3.org/2000/svg">')],
    [null, bytes('%PDF-1.7')],
    [null, Buffer.alloc(0)],
  ])('the image kind %s is recognised by its first bytes', (kind, head) => {
    expect(imageKindOf(head)).toBe(kind);
  });
});

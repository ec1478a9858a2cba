import { describe, expect, it } from 'vitest';
import { containerOf } from './containers.ts';

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

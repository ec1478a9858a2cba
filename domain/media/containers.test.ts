import { describe, expect, it } from 'vitest';
import { containerOf } from './containers.ts';
import { videoContainers } from './video-containers.ts';

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))));
const packets = (size: number, offset = 0) => {
  const head = Buffer.alloc(4096);
  for (let at = offset; at < head.length; at += size) head[at] = 0x47;
  return head;
};

const recognised: readonly [string, Buffer][] = [
  ['mov', bytes([0, 0, 0, 24], 'ftypmp42')],
  ['matroska', bytes([0x1a, 0x45, 0xdf, 0xa3, 1])],
  ['avi', bytes('RIFF', [0, 0, 0, 0], 'AVI LIST')],
  ['wav', bytes('RIFF', [0, 0, 0, 0], 'WAVEfmt ')],
  ['mpegts', packets(188)],
  ['mpegts', packets(192, 4)],
  ['mpeg', bytes([0, 0, 1, 0xba, 0x44])],
  ['flv', bytes('FLV', [1])],
  ['gif', bytes('GIF89a')],
  // The GUID of the header object.
  ['asf', bytes([0x30, 0x26, 0xb2, 0x75, 0x8e, 0x66, 0xcf, 0x11, 0xa6, 0xd9, 0x00, 0xaa, 0x00, 0x62, 0xce, 0x6c])],
  ['ogg', bytes('OggS', [0, 2])],
  // The universal label of a header partition (SMPTE ST 377-1).
  ['mxf', bytes([0x06, 0x0e, 0x2b, 0x34, 0x02, 0x05, 0x01, 0x01, 0x0d, 0x01, 0x02, 0x01, 0x01, 0x02, 0x04, 0x00])],
  ['flac', bytes('fLaC', [0, 0, 0, 34])],
  ['mp3', bytes('ID3', [4, 0, 0])],
];
const audioOnly = new Set(['wav', 'flac', 'mp3']);

describe('the container of the first bytes', () => {
  it.each<[string | null, Buffer]>([
    ...recognised,
    [null, bytes('RIFF', [0, 0, 0, 0], 'WEBPVP8 ')],
    [null, bytes('FORM', [0, 0, 0, 0], 'AVI LIST')],
    [null, bytes('FORM', [0, 0, 0, 0], 'WAVEfmt ')],
    [null, bytes('#EXTM3U\n#EXTINF:1,\nx.ts')],
    [null, bytes('ffconcat version 1.0\nfile x')],
    [null, bytes('<?xml version="1.0"?><MPD>')],
    [null, bytes([0xff, 0xd8, 0xff, 0xe0])],
    [null, Buffer.alloc(0)],
  ])('the container %s is recognised by its first bytes', (container, head) => {
    expect(containerOf(head)).toBe(container);
  });

  it.each([...new Set(recognised.map(([container]) => container))].filter((container) => !audioOnly.has(container)))(
    'messages name the container %s among those that a video may have',
    (container) => {
      expect(videoContainers.toLowerCase().replaceAll('-', '')).toContain(container);
    },
  );
});

import { expect, it } from 'vitest';
import { isReadableHead } from './recognise.ts';

const packets = Buffer.alloc(188 * 10, 0xff);
for (let at = 100; at < packets.length; at += 188) packets[at] = 0x47;

it.each<[what: string, head: Buffer, isReadable: boolean]>([
  ['an MP4', Buffer.from('\0\0\0\x18ftypmp42', 'latin1'), true],
  ['a Matroska', Buffer.from([0x1a, 0x45, 0xdf, 0xa3]), true],
  ['a JPEG', Buffer.from([0xff, 0xd8, 0xff, 0xe0]), true],
  ['an MP3 without tags', Buffer.from([0xff, 0xfb, 0x90, 0x64]), true],
  ['AAC in ADTS', Buffer.from([0xff, 0xf1, 0x50, 0x80]), true],
  ['a transport stream that begins within a packet', packets, true],
  ['a PDF', Buffer.from('%PDF-1.7'), false],
  ['an HLS playlist', Buffer.from('#EXTM3U\n'), false],
  ['text', Buffer.from('G'.repeat(100)), false],
  ['bytes that are all set', Buffer.alloc(64, 0xff), false],
])('%s is recognised by its first bytes', (_what, head, expected) => {
  expect(isReadableHead(head)).toBe(expected);
});

import { describe, expect, it } from 'vitest';
import { imageKindOf } from './image-kinds.ts';

const bytes = (...parts: (string | number[])[]) =>
  Buffer.concat(parts.map((part) => (typeof part === 'string' ? Buffer.from(part, 'latin1') : Buffer.from(part))));

describe('the kind of image of the first bytes', () => {
  it.each([
    ['jpeg', bytes([0xff, 0xd8, 0xff, 0xe1])],
    ['png', bytes([0x89], 'PNG\r\n', [0x1a], '\n')],
    ['webp', bytes('RIFF', [0, 0, 0, 0], 'WEBP')],
    ['gif', bytes('GIF89a')],
    ['heif', bytes([0, 0, 0, 32], 'ftypavif')],
    ['heif', bytes([0, 0, 0, 24], 'ftypheic')],
    ['tiff', bytes('MM', [0, 42, 0, 0, 0, 8])],
    ['tiff', bytes('II+', [0, 8, 0, 0, 0])],
    ['camera raw', bytes('II*', [0, 16, 0, 0, 0], 'CR')],
    ['camera raw', bytes([0, 0, 0, 24], 'ftypcrx ')],
    [
      'bmp',
      bytes(
        'BM',
        Array.from({ length: 12 }, () => 0),
        [40, 0, 0, 0, 0],
      ),
    ],
    ['jp2', bytes([0, 0, 0, 12], 'jP  \r\n', [0x87], '\n')],
    ['jxl', bytes([0xff, 0x0a])],
    ['svg', bytes('<svg xmlns="http://www.w3.org/2000/svg">')],
    ['pdf', bytes('%PDF-1.7')],
    [undefined, bytes([0, 0, 0, 24], 'ftypmp42')],
    [undefined, bytes('BMW is a car maker')],
    [undefined, Buffer.alloc(0)],
  ])('the image kind %s is recognised by its first bytes', (kind, head) => {
    expect(imageKindOf(head)?.name).toBe(kind);
  });
});

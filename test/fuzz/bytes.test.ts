import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { array, constantFrom, integer, oneof, tuple, uint8Array } from 'fast-check';
import { afterAll, describe, expect } from 'vitest';
import { containerOf } from '#domain/media/containers.ts';
import { keyFrameRanges } from '#domain/media/key-frame-ranges.ts';
import { frameReader } from '#platform/images/frames.ts';
import { leavesCanvasFree, withTransparentFrame } from '#platform/images/gif-canvas.ts';
import { heifColourOf, isPremultiplied } from '#platform/images/heif-colour.ts';
import { stillOfSequence } from '#platform/images/heif-sequence.ts';
import { imageKindOf } from '#platform/images/image-kinds.ts';
import { jxlOrientationOf } from '#platform/images/jxl-orientation.ts';
import { pngColourOf } from '#platform/images/png-colour.ts';
import { clearNextPage, clearOrientation, readTiffTags } from '#platform/images/tiff-tags.ts';
import { RawAnswerStart } from '#platform/storage/s3/raw/raw-answer.ts';
import { isCutOff } from '../../runner/source/file-end.ts';
import { fuzz } from '../../testing/fuzz.ts';
import { anyText } from '../../testing/hostile-values.ts';

// Bytes that others wrote: sources, a storage server, the process that decodes images.

const folder = mkdtempSync(join(tmpdir(), 'reelwright-fuzz-'));
afterAll(() => rmSync(folder, { recursive: true }));

const anyBytes = uint8Array({ maxLength: 64 }).map((bytes) => Buffer.from(bytes));
const number32 = oneof(integer({ min: 0, max: 64 }), constantFrom(0, 1, 7, 8, 2 ** 31, 2 ** 32 - 1)).map((value) => {
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32BE(value);
  return bytes;
});
const chunksOf = (bytes: Buffer, size: number) =>
  Array.from({ length: Math.ceil(bytes.length / size) }, (_, index) =>
    bytes.subarray(index * size, (index + 1) * size),
  );

const box = (type: string, ...inner: readonly Buffer[]) => {
  const body = Buffer.concat(inner);
  const head = Buffer.alloc(8);
  head.writeUInt32BE(8 + body.length);
  head.write(type, 4, 'latin1');
  return Buffer.concat([head, body]);
};

describe('segments and containers', () => {
  const flags = constantFrom(0x2_01, 0x2_05, 0x3_01, 0x3_05, 0, 0xff_ff_ff).map((value) =>
    Buffer.from([1, value >> 16, (value >> 8) & 255, value & 255]),
  );
  const trun = tuple(flags, array(number32, { maxLength: 6 })).map(([first, rest]) => box('trun', first, ...rest));
  const fragment = tuple(trun, anyBytes).map(([inner, data]) =>
    Buffer.concat([box('moof', box('traf', inner)), box('mdat', data)]),
  );
  const segment = oneof(array(fragment), array(oneof(number32, anyBytes))).map((all) => Buffer.concat(all));
  fuzz('key frames lie within their segment, or it is refused with a TypeError', { of: segment }, (bytes) => {
    try {
      for (const range of keyFrameRanges(bytes)) {
        expect(range.bytes).toBeGreaterThan(0);
        expect(range.offset + range.bytes).toBeLessThanOrEqual(bytes.length);
      }
    } catch (thrown) {
      expect((thrown as Error).name).toBe('TypeError');
    }
  });

  const parts = array(oneof(number32, anyBytes), { minLength: 4 }).map((all) => Buffer.concat(all));
  let files = 0;
  fuzz('the end of any file is found without throwing', { of: parts, examples: [Buffer.alloc(0)] }, async (bytes) => {
    const path = join(folder, String((files += 1)));
    writeFileSync(path, bytes);
    for (const container of ['mov', 'mxf', 'matroska', 'flv', 'flac', 'avi'])
      expect(await isCutOff(path, container, 0.1)).toBeTypeOf('boolean');
    rmSync(path);
  });
});

describe('images', () => {
  const begin = constantFrom(
    'II*\0\b\0\0\0',
    'MM\0*\0\0\0\b',
    'II+\0\b\0\0\0',
    'MM\0+\0\b\0\0',
    'II',
    '',
    '<svg',
    'RIFF',
  );
  const entry = tuple(constantFrom(254, 274, 339, 50_706), number32, number32).map(([tag, count, value]) =>
    Buffer.concat([Buffer.from([tag & 255, tag >> 8, 3, 0]), count, value]),
  );
  const image = tuple(begin, array(oneof(entry, number32, anyBytes))).map(([head, rest]) =>
    Buffer.concat([Buffer.from(head, 'latin1'), ...rest]),
  );
  fuzz('the tags of a TIFF are read, or refused with a RangeError', { of: image }, (bytes) => {
    try {
      const tags = readTiffTags(bytes);
      clearOrientation(bytes, tags);
      clearNextPage(bytes, tags);
    } catch (thrown) {
      expect(thrown).toBeInstanceOf(RangeError);
    }
  });

  const boxed = tuple(constantFrom('mdia', 'hdlr', 'minf', 'stbl', 'stsd', 'stsz', 'stco', 'av01', 'iref'), anyBytes);
  const tree = array(
    boxed.map(([type, body]) => box(type, body)),
    { maxLength: 6 },
  ).map((boxes) => box('moov', box('trak', box('mdia', ...boxes))));
  const gif = anyBytes.map((bytes) => Buffer.concat([Buffer.from('GIF89a', 'latin1'), bytes]));
  const jxl = anyBytes.map((bytes) => Buffer.concat([Buffer.from([0xff, 0x0a]), bytes]));
  const png = array(oneof(number32, anyBytes)).map((all) => Buffer.concat([Buffer.alloc(8), ...all]));
  fuzz('what an image says of itself is read without throwing', { of: oneof(tree, gif, jxl, png) }, (bytes) => {
    const found = [heifColourOf(bytes), stillOfSequence(bytes), jxlOrientationOf(bytes), pngColourOf(bytes)];
    expect(found).toHaveLength(4);
    for (const answer of [isPremultiplied(bytes), leavesCanvasFree(bytes)]) expect(answer).toBeTypeOf('boolean');
    expect(withTransparentFrame(bytes).length).toBeGreaterThanOrEqual(bytes.length > 0 ? 1 : 0);
  });
  fuzz('the kind of any bytes is found without throwing', { of: oneof(image, anyBytes) }, (bytes) => {
    for (const name of [imageKindOf(bytes)?.name ?? null, containerOf(bytes)])
      expect(name === null || name.length < 20).toBe(true);
  });

  const bounds = { headBytesMax: 200, sizeBytesMax: 100 };
  const length = integer({ min: 0, max: 40 }).map((value) => Buffer.from([0, 0, 0, value]));
  const json = constantFrom(
    'null',
    '{}',
    '{"sizeBytes":-1}',
    '{"sizeBytes":1e9}',
    '{"sizeBytes":"4"}',
    '{"sizeBytes":4}',
    '[',
  );
  const broken = array(
    oneof(
      length,
      anyBytes,
      json.map((text) => Buffer.from(text)),
    ),
  ).map((all) => Buffer.concat(all));
  fuzz(
    'a frame is never larger than its bounds',
    { of: tuple(broken, integer({ min: 1, max: 40 })) },
    ([bytes, size]) => {
      const read = frameReader(bounds, (_, body) => expect(body.length).toBeLessThanOrEqual(bounds.sizeBytesMax));
      try {
        for (const chunk of chunksOf(bytes, size)) read(chunk);
      } catch (thrown) {
        expect(['RangeError', 'SyntaxError']).toContain((thrown as Error).name);
      }
    },
  );
});

describe('heads of answers of storage', () => {
  const status = constantFrom(
    'HTTP/1.1 200 OK',
    'HTTP/1.1 404 Not Found',
    'HTTP/1.1 503 x',
    'HTTP/1.0 200 OK',
    'HTTP/1.1 206 P',
    '',
  );
  const known = constantFrom(
    'content-length: 3',
    'Content-Length:3',
    'content-length: 3, 3',
    'content-length: -1',
    'content-length: 0x3',
  );
  const other = constantFrom(
    'etag: "a"',
    'last-modified: Mon, 23 Nov 2026 20:00:00 GMT',
    'transfer-encoding: chunked',
    ' folded',
    'connection: close',
  );
  const line = oneof({ weight: 4, arbitrary: oneof(known, other) }, { weight: 1, arbitrary: anyText });
  const answer = tuple(status, array(line, { maxLength: 8 }), constantFrom('\r\n', '\n', '\r'), anyBytes).map(
    ([first, lines, end, body]) => Buffer.concat([Buffer.from([first, ...lines, '', ''].join(end)), body]),
  );
  const pad = integer({ min: 0, max: 20_000 }).map((size) => Buffer.from(`HTTP/1.1 200 OK\r\nx: ${'y'.repeat(size)}`));
  fuzz(
    'a head is found with one length, or left to the other path; the memory is never passed',
    { of: tuple(oneof(answer, pad), integer({ min: 1, max: 50 })) },
    ([bytes, size]) => {
      const start = new RawAnswerStart();
      for (const chunk of chunksOf(bytes, bytes.length > 1000 ? 4096 : size)) {
        expect(start.room.length).toBeGreaterThan(0);
        const count = chunk.copy(start.room);
        const read = start.onBytes(count);
        if (read.kind === 'incomplete') continue;
        if (read.kind !== 'found') return;
        expect(bytes.toString('latin1', 0, read.head.headBytes)).not.toMatch(
          /transfer-encoding:|length: (3, 3|-1|0x3)/,
        );
        expect(read.head.sizeBytes).toBe(3);
        expect(read.early.length).toBeLessThanOrEqual(3);
        return;
      }
    },
  );
});

import { PassThrough } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { frameReader, writeFrame } from './frames.ts';

const bounds = { headBytesMax: 1000, sizeBytesMax: 1000 };

function wireOf(frames: readonly (readonly [object, Buffer])[]): Buffer {
  const stream = new PassThrough();
  for (const [head, bytes] of frames) writeFrame(stream, head, [bytes.subarray(0, 2), bytes.subarray(2)]);
  return stream.read() as Buffer;
}

/** Reads `wire` as it comes in chunks of `size`, all in the same memory. */
function read(wire: Buffer, size: number) {
  const frames: { head: unknown; bytes: Buffer }[] = [];
  const take = frameReader(bounds, (head, bytes) => frames.push({ head, bytes }));
  const memory = Buffer.alloc(size);
  const texts = () => frames.map(({ head, bytes }) => [head, bytes.toString('latin1')]);
  try {
    for (let at = 0; at < wire.length; at += size) take(memory.subarray(0, wire.copy(memory, 0, at, at + size)));
    return { frames: texts(), failure: null };
  } catch (failure) {
    return { frames: texts(), failure };
  }
}

const lying = (text: string, length = text.length) => {
  const prefix = Buffer.alloc(4);
  prefix.writeUInt32BE(length);
  return Buffer.concat([prefix, Buffer.from(text)]);
};

describe('frames', () => {
  const wire = wireOf([
    [{ id: 1 }, Buffer.from('bytes of one')],
    [{ id: 2, refused: 'why' }, Buffer.alloc(0)],
    [{ id: 3 }, Buffer.from('\0\xff', 'latin1')],
  ]);

  it.each([1, 2, 3, 5, 7, 64, 10_000])('frames are read as they were written, in chunks of %i bytes', (size) => {
    expect(read(wire, size)).toEqual({
      failure: null,
      frames: [
        [{ id: 1, sizeBytes: 12 }, 'bytes of one'],
        [{ id: 2, refused: 'why', sizeBytes: 0 }, ''],
        [{ id: 3, sizeBytes: 2 }, '\0\xff'],
      ],
    });
  });

  it.each([
    ['a head that is too long', lying('x', 1001)],
    ['a head of 4 GiB', lying('x', 0xff_ff_ff_ff)],
    ['a head that is no JSON', lying('nonsense')],
    ['a head of null', lying('null')],
    ['no size', lying('{"id":1}')],
    ['a size as text', lying('{"sizeBytes":"4"}')],
    ['a size over the bound', lying('{"sizeBytes":1001}')],
    ['a negative size', lying('{"sizeBytes":-1}')],
    ['a size with a fraction', lying('{"sizeBytes":0.5}')],
  ])('a frame with %s ends the reading and allocates nothing', (_, wrong) => {
    const { frames, failure } = read(wrong, 10_000);
    expect(frames).toEqual([]);
    expect(failure).toBeInstanceOf(Error);
  });
});

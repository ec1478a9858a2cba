/** A part of a segment. */
interface ByteRange {
  readonly offset: number;
  readonly bytes: number;
}

const boxHeadBytes = 8;
/** Flags of `trun` (ISO/IEC 14496-12, 8.8.8). */
const trunFlags = { dataOffset: 0x1, firstSampleFlags: 0x4, sampleDuration: 0x1_00, sampleSize: 0x2_00 } as const;

/**
 * The key frames of a segment as an I-frame playlist names them: each fragment from its `moof` to the end of its first
 * frame. A fragment is a GOP (`runner/tools/packager.ts`).
 *
 * @throws TypeError when it is not a segment of the packager's
 */
export function keyFrameRanges(segment: Buffer): ByteRange[] {
  const ranges: ByteRange[] = [];
  for (const { type, offset, end } of boxesIn(segment, 0, segment.length)) {
    if (type !== 'moof') continue;
    const bytes = firstFrameEnd(segment, { offset, end });
    if (bytes < end - offset || offset + bytes > segment.length)
      throw new TypeError('a fragment has a frame of an impossible size');
    ranges.push({ offset, bytes });
  }
  return ranges;
}

interface Box {
  readonly offset: number;
  readonly end: number;
}

function* boxesIn(bytes: Buffer, start: number, end: number): Generator<Box & { readonly type: string }> {
  for (let offset = start; offset < end;) {
    const size = offset + boxHeadBytes <= end ? bytes.readUInt32BE(offset) : 0;
    if (size < boxHeadBytes || offset + size > end) throw new TypeError('a segment has a box of an impossible size');
    yield { type: bytes.toString('latin1', offset + 4, offset + boxHeadBytes), offset, end: offset + size };
    offset += size;
  }
}

function childOf(bytes: Buffer, { offset, end }: Box, type: string): Box {
  for (const box of boxesIn(bytes, offset + boxHeadBytes, end)) if (box.type === type) return box;
  throw new TypeError(`a fragment has no ${type}`);
}

/** Where the first frame of a fragment ends, from the start of its `moof`. */
function firstFrameEnd(bytes: Buffer, moof: Box): number {
  const { offset, end } = childOf(bytes, childOf(bytes, moof, 'traf'), 'trun');
  if (end - offset < boxHeadBytes + 4) throw new TypeError('a fragment has no frame');
  const flags = bytes.readUInt32BE(offset + boxHeadBytes) & 0xff_ff_ff;
  const has = (flag: keyof typeof trunFlags) => (flags & trunFlags[flag]) !== 0;
  if (!has('dataOffset') || !has('sampleSize')) throw new TypeError('a fragment does not state the sizes of frames');
  // Version and flags, then the number of samples.
  const dataOffsetAt = offset + boxHeadBytes + 8;
  const firstSampleAt = dataOffsetAt + 4 + (has('firstSampleFlags') ? 4 : 0);
  const sizeAt = firstSampleAt + (has('sampleDuration') ? 4 : 0);
  if (sizeAt + 4 > end) throw new TypeError('a fragment has no frame');
  return bytes.readInt32BE(dataOffsetAt) + bytes.readUInt32BE(sizeAt);
}

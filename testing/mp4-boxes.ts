/** Edits of MP4 files (ISO/IEC 14496-12) that ffmpeg does not write. */

interface Box {
  readonly type: string;
  /** Where the box begins, its header included, and where it ends. */
  readonly at: number;
  readonly end: number;
}

const headerBytes = 8;

function boxesIn(bytes: Buffer, from: number, to: number): Box[] {
  const boxes: Box[] = [];
  for (let at = from; at + headerBytes <= to;) {
    const size = bytes.readUInt32BE(at);
    const end = size < headerBytes ? to : at + size;
    boxes.push({ type: bytes.toString('latin1', at + 4, at + 8), at, end });
    at = end;
  }
  return boxes;
}

/** The boxes at a path such as `moov/trak/mdia`. */
function findBoxes(bytes: Buffer, path: string, inside: Pick<Box, 'at' | 'end'> | null = null): Box[] {
  const [type, ...rest] = path.split('/');
  const [from, to] = inside === null ? [0, bytes.length] : [inside.at + headerBytes, inside.end];
  const found = boxesIn(bytes, from, to).filter((box) => box.type === type);
  return rest.length === 0 ? found : found.flatMap((box) => findBoxes(bytes, rest.join('/'), box));
}

/** Trims every track by its edit list, as phones do; the media stays as it is. Boxes must have version 0. */
export function editedMp4(bytes: Buffer, { startSec, durationSec }: { startSec: number; durationSec: number }): Buffer {
  const edited = Buffer.from(bytes);
  const movieTimescale = edited.readUInt32BE((findBoxes(edited, 'moov/mvhd')[0]?.at ?? 0) + 20);
  for (const track of findBoxes(edited, 'moov/trak')) {
    const [header] = findBoxes(edited, 'mdia/mdhd', track);
    const [edits] = findBoxes(edited, 'edts/elst', track);
    if (header === undefined || edits === undefined) throw new Error('the file has no edit list');
    const timescale = edited.readUInt32BE(header.at + 20);
    // One entry: duration in the movie's timescale, start in the track's.
    edited.writeUInt32BE(1, edits.at + 12);
    edited.writeUInt32BE(Math.round(durationSec * movieTimescale), edits.at + 16);
    edited.writeInt32BE(edited.readInt32BE(edits.at + 20) + Math.round(startSec * timescale), edits.at + 20);
  }
  return edited;
}

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
export function findBoxes(bytes: Buffer, path: string, inside: Pick<Box, 'at' | 'end'> | null = null): Box[] {
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
    const [entriesEnd, sizeBytes] = [edits.at + 28, edits.end - edits.at - 28];
    if (sizeBytes > 0) {
      // What follows is free space: ffmpeg goes by the size of the box.
      edited.writeUInt32BE(28, edits.at);
      edited.writeUInt32BE(sizeBytes, entriesEnd);
      edited.write('free', entriesEnd + 4, 'latin1');
    }
    edited.writeUInt32BE(Math.round(durationSec * movieTimescale), edits.at + 16);
    const mediaTime = Math.max(0, edited.readInt32BE(edits.at + 20));
    edited.writeInt32BE(mediaTime + Math.round(startSec * timescale), edits.at + 20);
  }
  return edited;
}

/** Writes the greatest number as the length of movie and tracks: unknown, in a fragmented file. For version 0. */
export function withoutLengths(bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  for (const [path, at] of [
    ['moov/mvhd', 24],
    ['moov/trak/tkhd', 28],
    ['moov/trak/mdia/mdhd', 24],
  ] as const) {
    for (const box of findBoxes(changed, path)) changed.writeUInt32BE(0xffff_ffff, box.at + at);
  }
  return changed;
}

/** Adds a Dolby Vision configuration (`dvvC`) to the video track, as phones write it; the samples stay as they are. */
export function withDolbyVision(bytes: Buffer, dolby: { profile: number; compatibility: number }): Buffer {
  const [moov] = findBoxes(bytes, 'moov');
  const [mdat] = findBoxes(bytes, 'mdat');
  if (moov === undefined || mdat === undefined || moov.at < mdat.at) throw new Error('moov must come after mdat');
  const payload = Buffer.alloc(24);
  payload.writeUInt16BE(0x0100, 0);
  // Level 1, with RPU and base layer, without enhancement layer.
  payload.writeUInt16BE((dolby.profile << 9) | (1 << 3) | 0b101, 2);
  payload.writeUInt8(dolby.compatibility << 4, 4);
  const box = Buffer.concat([Buffer.from([0, 0, 0, headerBytes + payload.length]), Buffer.from('dvvC'), payload]);
  const changed = Buffer.from(bytes);
  const grow = (at: number) => changed.writeUInt32BE(changed.readUInt32BE(at) + box.length, at);
  const [track] = findBoxes(bytes, 'moov/trak');
  const [description] = findBoxes(bytes, 'moov/trak/mdia/minf/stbl/stsd');
  if (track === undefined || description === undefined) throw new Error('the file has no track');
  // The first sample entry comes after the version and the number of entries.
  const entry = description.at + 16;
  const parents = ['mdia', 'mdia/minf', 'mdia/minf/stbl'].flatMap((path) => findBoxes(bytes, path, track).slice(0, 1));
  for (const { at } of [moov, track, ...parents, description, { at: entry }]) grow(at);
  const end = entry + bytes.readUInt32BE(entry);
  return Buffer.concat([changed.subarray(0, end), box, changed.subarray(end)]);
}

/**
 * Makes the last but one audio track one of Apple's spatial sound (`apac`), and the last a track of timed measurements
 * (`mebx`), as iPhones write them. The samples stay as they are; no tool here decodes either.
 */
export function phoneTracksMov(bytes: Buffer): Buffer {
  const changed = Buffer.from(bytes);
  const [spatial, measured] = findBoxes(changed, 'moov/trak').slice(-2);
  if (spatial === undefined || measured === undefined) throw new Error('the file has too few tracks');
  const rename = (track: Box, from: string, to: string) => {
    const at = changed.indexOf(from, track.at, 'latin1');
    if (at < 0 || at > track.end) throw new Error(`the track has no ${from}`);
    changed.write(to, at, 'latin1');
  };
  for (const [track, codec, settings] of [
    [spatial, 'apac', 'dapa'],
    [measured, 'mebx', 'keys'],
  ] as const) {
    // The entry of `stsd`, and the codec's settings in it.
    rename(track, 'mp4a', codec);
    rename(track, 'esds', settings);
  }
  rename(measured, 'soun', 'meta');
  return changed;
}

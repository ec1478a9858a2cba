import { createFile, MP4BoxBuffer } from 'mp4box';

// Fragmented MP4 as GPAC's parser reads it, which is not ours.

/** A box with its fields. */
export interface ParsedBox {
  readonly type: string;
  readonly size: number;
  readonly boxes?: readonly ParsedBox[];
  readonly [field: string]: unknown;
}

/** The boxes of a file. @throws Error when the parser reports one, or does not reach the end */
export function parseBoxes(bytes: Buffer): readonly ParsedBox[] {
  const file = createFile();
  file.onError = (_: string, message: string) => {
    throw new Error(message);
  };
  file.appendBuffer(MP4BoxBuffer.fromArrayBuffer(new Uint8Array(bytes).buffer, 0));
  file.flush();
  const boxes = file.boxes as unknown as readonly ParsedBox[];
  const read = boxes.reduce((sum, { size }) => sum + size, 0);
  if (read !== bytes.length) throw new Error(`the boxes have ${read} bytes of ${bytes.length}`);
  return boxes;
}

/** Every box of a type, at any depth, in the order of the file. */
export function boxesOf(boxes: readonly ParsedBox[], type: string): ParsedBox[] {
  return boxes.flatMap((box) => [
    ...(box.type === type ? [box] : []),
    ...boxesOf([...(box.boxes ?? []), ...((box['entries'] as readonly ParsedBox[] | undefined) ?? [])], type),
  ]);
}

/** A number in a box. @throws Error when it has none of that name */
export function numberIn(box: ParsedBox | undefined, field: string): number {
  const value = box?.[field];
  if (typeof value !== 'number') throw new TypeError(`${box?.type ?? 'no box'} has no number ${field}`);
  return value;
}

/** Decode times and lengths of the fragments of a segment, in ticks of the track. */
export function fragmentsOf(segment: readonly ParsedBox[], init: readonly ParsedBox[]) {
  const [defaults] = boxesOf(init, 'trex');
  return boxesOf(segment, 'traf').map((fragment) => {
    const own = fragment.boxes ?? [];
    const [header] = boxesOf(own, 'tfhd');
    const lengths = boxesOf(own, 'trun').flatMap((run) => {
      const stated = run['sample_duration'] as readonly number[];
      if (stated.length > 0) return [...stated];
      const each = Number(header?.['default_sample_duration'] ?? defaults?.['default_sample_duration']);
      return Array.from({ length: numberIn(run, 'sample_count') }, () => each);
    });
    return {
      at: numberIn(boxesOf(own, 'tfdt')[0], 'baseMediaDecodeTime'),
      ticks: lengths.reduce((a, b) => a + b, 0),
      samples: lengths.length,
      own,
    };
  });
}

import { type Box, bodyOf, boxesIn } from './heif-boxes.ts';

// Decoders of stills show the primary item of a HEIF or AVIF. A file with a sequence alone has none: its first image is
// the first sample of its track (ISO/IEC 23008-12, "Image sequences").

/** The configuration box of each coding, by the type of its sample entry, which is that of its items too. */
const configurations: Readonly<Record<string, string>> = { av01: 'av1C', hvc1: 'hvcC' };
const alphaType = Buffer.from('urn:mpeg:mpegB:cicp:systems:auxiliary:alpha\0');
/** The fields of a visual sample entry before its boxes (ISO/IEC 14496-12, 12.1.3). */
const sampleEntryBytes = 78;

interface FirstSample {
  readonly isAlpha: boolean;
  readonly coding: string;
  readonly width: number;
  readonly height: number;
  /** The configuration and the colors, as they are stored. */
  readonly properties: readonly Buffer[];
  readonly data: Buffer;
}

/**
 * The first image of a sequence as a still image, with its opacity.
 *
 * @returns null for a file that has a primary item, or no sequence whose first sample is in it
 */
export function stillOfSequence(bytes: Buffer): Buffer | null {
  try {
    const top = [...boxesIn(bytes)];
    if (top.some(({ type }) => type === 'meta')) return null;
    const tracks = [...boxesIn(bodyOf(bytes, ['moov']))].filter(({ type }) => type === 'trak');
    const samples = tracks.flatMap(({ body }) => firstSampleOf(bytes, body) ?? []);
    const image = samples.find(({ isAlpha }) => !isAlpha);
    const alpha = samples.find(({ isAlpha }) => isAlpha);
    if (image === undefined) return null;
    return still(image.coding === 'av01' ? 'avif' : 'heic', alpha === undefined ? [image] : [image, alpha]);
  } catch (error) {
    // A file that is cut off; its decoder reports it.
    if (error instanceof RangeError) return null;
    throw error;
  }
}

/** The first sample of a track; null for a track of another kind. @throws RangeError where a box is missing */
function firstSampleOf(file: Buffer, trak: Buffer): FirstSample | null {
  const media = bodyOf(trak, ['mdia']);
  const handler = bodyOf(media, ['hdlr']).toString('latin1', 8, 12);
  if (handler !== 'pict' && handler !== 'auxv') return null;
  const table = bodyOf(media, ['minf', 'stbl']);
  const [entry] = boxesIn(bodyOf(table, ['stsd']).subarray(8));
  const configuration = configurations[entry?.type ?? ''];
  if (entry === undefined || configuration === undefined) return null;
  const kept = [...boxesIn(entry.body.subarray(sampleEntryBytes))].filter(
    ({ type }) => type === configuration || type === 'colr',
  );
  const sizes = bodyOf(table, ['stsz']);
  const sizeBytes = sizes.readUInt32BE(4) || sizes.readUInt32BE(12);
  const from = firstOffset([...boxesIn(table)]);
  const data = file.subarray(from, from + sizeBytes);
  if (data.length < sizeBytes) throw new RangeError('the first sample is cut off');
  return {
    isAlpha: handler === 'auxv',
    coding: entry.type,
    width: entry.body.readUInt16BE(24),
    height: entry.body.readUInt16BE(26),
    properties: kept.map(({ type, body }) => box(type, body)),
    data,
  };
}

function firstOffset(table: readonly Box[]): number {
  const short = table.find(({ type }) => type === 'stco');
  const long = table.find(({ type }) => type === 'co64');
  if (short !== undefined) return short.body.readUInt32BE(8);
  if (long !== undefined) return Number(long.body.readBigUInt64BE(8));
  throw new RangeError('the track has no places of samples');
}

const numbers = (bytes: 1 | 2 | 4, ...values: readonly number[]) => {
  const buffer = Buffer.alloc(bytes * values.length);
  for (const [index, value] of values.entries()) buffer.writeUIntBE(value, index * bytes, bytes);
  return buffer;
};

function box(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([numbers(4, body.length + 8), Buffer.from(type, 'latin1'), body]);
}

const fullBox = (type: string, versionAndFlags: number, ...parts: readonly Buffer[]) =>
  box(type, numbers(4, versionAndFlags), ...parts);

/** A file with an item for each sample, of which the first is the image and a second its opacity. */
function still(brand: string, samples: readonly FirstSample[]): Buffer {
  const ownProperties = samples.map(({ width, height, properties, isAlpha }) => [
    fullBox('ispe', 0, numbers(4, width, height)),
    ...properties,
    ...(isAlpha ? [fullBox('auxC', 0, alphaType)] : []),
  ]);
  let property = 0;
  const associations = ownProperties.map((own, index) => {
    const places = own.map(() => 0x80 | (property += 1));
    return Buffer.concat([numbers(2, index + 1), numbers(1, places.length, ...places)]);
  });
  const infos = samples.map(({ coding }, index) =>
    fullBox('infe', 0x02_00_00_00, numbers(2, index + 1, 0), Buffer.from(`${coding}\0`)),
  );
  const head = (dataAt: number) => {
    let at = dataAt;
    const locations = samples.map(({ data }, index) => {
      const location = Buffer.concat([numbers(2, index + 1, 0, 1), numbers(4, at, data.length)]);
      at += data.length;
      return location;
    });
    const meta = fullBox(
      'meta',
      0,
      fullBox('hdlr', 0, numbers(4, 0), Buffer.from('pict'), numbers(4, 0, 0, 0), numbers(1, 0)),
      fullBox('pitm', 0, numbers(2, 1)),
      fullBox('iloc', 0, numbers(1, 0x44, 0), numbers(2, samples.length), ...locations),
      fullBox('iinf', 0, numbers(2, samples.length), ...infos),
      ...(samples.length > 1 ? [fullBox('iref', 0, box('auxl', numbers(2, 2, 1, 1)))] : []),
      box(
        'iprp',
        box('ipco', ...ownProperties.flat()),
        fullBox('ipma', 0, numbers(4, samples.length), ...associations),
      ),
    );
    return Buffer.concat([box('ftyp', Buffer.from(brand), numbers(4, 0), Buffer.from(`${brand}mif1`)), meta]);
  };
  const dataAt = head(0).length + 8;
  return Buffer.concat([head(dataAt), box('mdat', ...samples.map(({ data }) => data))]);
}

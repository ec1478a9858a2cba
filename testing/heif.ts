import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import sharp, { type Sharp } from 'sharp';
import { runTool } from './media.ts';

// HEIF files as cameras write them (ISO/IEC 23008-12), put together around the HEVC frames that ffmpeg's libx265
// writes: no encoder for them comes with the npm packages.

export interface HeifLook {
  /** Pixels of a side of a tile; without it the image is one coded item. iPhones use 512. */
  readonly tile?: number;
  /** Counter-clockwise quarters that a reader applies. */
  readonly irot?: 0 | 1 | 2 | 3;
  /** 0: top and bottom change places; 1: left and right. */
  readonly imir?: 0 | 1;
  readonly bits?: 8 | 10;
  /** An ICC profile that the pixels are in. */
  readonly icc?: Buffer;
  /** The number of the colour primaries (ISO/IEC 23091-2), in place of a profile: 12 is Display P3. */
  readonly primaries?: number;
  /** The number of the transfer function, beside the primaries: 13, sRGB, without it; 16 is PQ and 18 HLG. */
  readonly transfer?: number;
  readonly brand?: 'heic' | 'mif1';
  /**
   * HDR beside the SDR image, as phones write it: a gain map (ISO 21496-1, and Apple's own), and what both give in PQ.
   */
  readonly hasGainMap?: boolean;
}

const u8 = (...values: number[]) => Buffer.from(values);
const u16 = (...values: number[]) => Buffer.concat(values.map((value) => u8(value >> 8, value & 0xff)));
const u32 = (...values: number[]) => u16(...values.flatMap((value) => [value >>> 16, value & 0xffff]));

function box(type: string, ...parts: readonly Buffer[]): Buffer {
  const body = Buffer.concat(parts);
  return Buffer.concat([u32(body.length + 8), Buffer.from(type, 'latin1'), body]);
}

const fullBox = (type: string, versionAndFlags: number, ...parts: readonly Buffer[]) =>
  box(type, u32(versionAndFlags), ...parts);

/** One frame of HEVC: its configuration (`hvcC`) and its NAL units with lengths. */
async function hevcFrame(pixels: Sharp, bits: 8 | 10): Promise<{ hvcC: Buffer; data: Buffer }> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-heif-'));
  try {
    await writeFile(join(dir, 'in.png'), await pixels.png().toBuffer());
    const format = bits === 10 ? 'yuv420p10le' : 'yuv420p';
    const scale = `scale=out_color_matrix=bt601:out_range=full,format=${format}`;
    const codec = '-c:v libx265 -x265-params crf=12:log-level=none:info=0 -tag:v hvc1 -color_range pc';
    const colour = '-colorspace smpte170m -color_primaries bt709 -color_trc iec61966-2-1';
    const args = `-v error -y -i in.png -vf ${scale} -frames:v 1 ${codec} ${colour} out.mp4`;
    await runTool('ffmpeg', args.split(' '), dir);
    const mp4 = await readFile(join(dir, 'out.mp4'));
    return { hvcC: boxBody(mp4, 'hvcC'), data: boxBody(mp4, 'mdat') };
  } finally {
    await rm(dir, { recursive: true });
  }
}

function boxBody(bytes: Buffer, type: string): Buffer {
  const at = bytes.indexOf(type, 0, 'latin1');
  return bytes.subarray(at + 4, at - 4 + bytes.readUInt32BE(at - 4));
}

/** A HEIC file that shows `image`, turned by the reader as `look` says. */
export async function heic(image: Sharp, look: HeifLook = {}): Promise<Buffer> {
  const { data, info } = await image.removeAlpha().raw().toBuffer({ resolveWithObject: true });
  const { width, height, channels } = info;
  const tile = look.tile ?? 0;
  const [columns, rows] = tile === 0 ? [1, 1] : [Math.ceil(width / tile), Math.ceil(height / tile)];
  const coded = tile === 0 ? { width, height } : { width: tile, height: tile };
  // Tiles at the right and lower edge are filled up by the last pixels.
  const grown = await sharp(data, { raw: { width, height, channels } })
    .extend({ right: columns * coded.width - width, bottom: rows * coded.height - height, extendWith: 'copy' })
    .raw()
    .toBuffer({ resolveWithObject: true });
  const frames: { hvcC: Buffer; data: Buffer }[] = [];
  for (let index = 0; index < columns * rows; index += 1) {
    const { width: w, height: h } = grown.info;
    const [left, top] = [(index % columns) * coded.width, Math.floor(index / columns) * coded.height];
    const part = sharp(grown.data, { raw: { width: w, height: h, channels } }).extract({ left, top, ...coded });
    frames.push(await hevcFrame(part, look.bits ?? 8));
  }
  return assemble(frames, { width, height, coded, columns, rows, look });
}

/** Ignored by readers that know no gain maps: 1 to 8 times the brightness of the image. */
const gainMapNumbers = Buffer.concat([
  u8(0),
  u16(0, 0),
  u8(0x40),
  u32(0, 1, 3, 1),
  ...[0, 3, 1, 0, 0].map((value) => u32(value, 1)),
]);
const gainMapBrand = Buffer.from('tmap');
const appleGainMap = Buffer.from('urn:com:apple:photo:2020:aux:hdrgainmap\0');

interface Layout {
  readonly width: number;
  readonly height: number;
  readonly coded: { readonly width: number; readonly height: number };
  readonly columns: number;
  readonly rows: number;
  readonly look: HeifLook;
}

function assemble(frames: readonly { hvcC: Buffer; data: Buffer }[], layout: Layout): Buffer {
  const { width, height, coded, columns, rows, look } = layout;
  const isGrid = look.tile !== undefined;
  const gridId = frames.length + 1;
  const hasMap = look.hasGainMap === true;
  // The gain map, which is the first frame once more, and the image in HDR that is derived by it.
  const [mapId, hdrId] = [gridId + 1, gridId + 2];
  const primary = isGrid ? gridId : 1;
  const grid = Buffer.concat([u8(0, 0, rows - 1, columns - 1), u16(width, height)]);
  // Properties count from 1: what every coded item has, then what the image alone has.
  const pixi = fullBox('pixi', 0, u8(3, ...Array.from({ length: 3 }, () => look.bits ?? 8)));
  const own = [
    fullBox('ispe', 0, u32(width, height)),
    ...(look.icc === undefined ? [] : [box('colr', Buffer.from('prof'), look.icc)]),
    ...(look.primaries === undefined
      ? []
      : [box('colr', Buffer.from('nclx'), u16(look.primaries, look.transfer ?? 13, 6), u8(0x80))]),
    ...(look.irot === undefined ? [] : [box('irot', u8(look.irot))]),
    ...(look.imir === undefined ? [] : [box('imir', u8(look.imir))]),
  ];
  const common = [
    box('hvcC', frames[0]?.hvcC ?? Buffer.alloc(0)),
    fullBox('ispe', 0, u32(coded.width, coded.height)),
    pixi,
  ];
  const ownNumbers = own.map((_, index) => common.length + 1 + index);
  // Of the image in HDR and of the gain map. They stand first, as nothing says that the image's own do.
  const ofMap = hasMap
    ? [
        fullBox('ispe', 0, u32(width, height)),
        box('colr', Buffer.from('nclx'), u16(12, 16, 6), u8(0x80)),
        fullBox('auxC', 0, appleGainMap),
      ]
    : [];
  const association = (id: number, numbers: readonly number[]) =>
    Buffer.concat([u16(id), u8(numbers.length, ...numbers.map((number) => 0x80 | (number + ofMap.length)))]);
  const items = frames.map((_, index) => association(index + 1, isGrid ? [1, 2, 3] : [1, 3, ...ownNumbers]));
  if (isGrid) items.push(association(gridId, [3, ...ownNumbers]));
  // Numbers from 0 down are those before the common ones.
  if (hasMap) items.push(association(mapId, [1, 2, 3, 0]), association(hdrId, [-2, -1]));
  const infe = (id: number, type: string) =>
    fullBox('infe', 0x02_00_00_00 | (isGrid && id !== gridId ? 1 : 0), u16(id, 0), Buffer.from(`${type}\0`));
  const infos = [
    ...frames.map((_, index) => infe(index + 1, 'hvc1')),
    ...(isGrid ? [infe(gridId, 'grid')] : []),
    ...(hasMap ? [infe(mapId, 'hvc1'), infe(hdrId, 'tmap')] : []),
  ];
  const head = (dataAt: number) => {
    let at = dataAt;
    const locations = frames.map(({ data }, index) => {
      const location = Buffer.concat([u16(index + 1, 0, 0, 1), u32(at, data.length)]);
      at += data.length;
      return location;
    });
    if (isGrid) locations.push(Buffer.concat([u16(gridId, 1, 0, 1), u32(0, grid.length)]));
    if (hasMap) {
      const [first] = frames;
      locations.push(Buffer.concat([u16(mapId, 0, 0, 1), u32(dataAt, first?.data.length ?? 0)]));
      locations.push(Buffer.concat([u16(hdrId, 1, 0, 1), u32(isGrid ? grid.length : 0, gainMapNumbers.length)]));
    }
    const tiles = frames.map((_, index) => u16(index + 1));
    const references = [
      ...(isGrid ? [box('dimg', u16(gridId, tiles.length), ...tiles)] : []),
      ...(hasMap ? [box('dimg', u16(hdrId, 2, primary, mapId)), box('auxl', u16(mapId, 1, primary))] : []),
    ];
    const inlined = [...(isGrid ? [grid] : []), ...(hasMap ? [gainMapNumbers] : [])];
    const meta = fullBox(
      'meta',
      0,
      fullBox('hdlr', 0, u32(0), Buffer.from('pict'), u32(0, 0, 0), u8(0)),
      fullBox('pitm', 0, u16(primary)),
      fullBox('iloc', 0x01_00_00_00, u8(0x44, 0), u16(locations.length), ...locations),
      fullBox('iinf', 0, u16(infos.length), ...infos),
      ...(references.length > 0 ? [fullBox('iref', 0, ...references), box('idat', ...inlined)] : []),
      box('iprp', box('ipco', ...ofMap, ...common, ...own), fullBox('ipma', 0, u32(items.length), ...items)),
      // The image in HDR is preferred to the primary one by readers that know how.
      ...(hasMap ? [box('grpl', fullBox('altr', 0, u32(100, 2, hdrId, primary)))] : []),
    );
    const brand = look.brand ?? 'heic';
    return Buffer.concat([
      box('ftyp', Buffer.from(brand), u32(0), Buffer.from('mif1heic'), ...(hasMap ? [gainMapBrand] : [])),
      meta,
    ]);
  };
  const mdat = box('mdat', ...frames.map(({ data }) => data));
  return Buffer.concat([head(head(0).length + 8), mdat]);
}

import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { crc32 } from 'node:zlib';
import sharp, { type Sharp } from 'sharp';
import { avifPremultiplied, jxlTurned } from './encoded-images.ts';
import { heic } from './heif.ts';
import { markdownTable } from './markdown.ts';
import { runTool } from './media.ts';
import { tiff } from './tiff.ts';

// Still images of every kind that is decoded, all of the same image: four quarters, red and green above, blue and white
// below. Made by sharp, by ffmpeg, and by the writers beside this file for what neither writes.

export const colours = {
  red: [220, 20, 20],
  green: [20, 200, 20],
  blue: [20, 20, 220],
  white: [250, 250, 250],
} as const;
export type ColourName = keyof typeof colours;
/** The colours of the quarters, from the left above to the right below. */
export type Corners = readonly [ColourName, ColourName, ColourName, ColourName];

/** The corners of the image by EXIF orientation, as they are shown. */
const shown: Readonly<Record<number, Corners>> = {
  1: ['red', 'green', 'blue', 'white'],
  2: ['green', 'red', 'white', 'blue'],
  3: ['white', 'blue', 'green', 'red'],
  4: ['blue', 'white', 'red', 'green'],
  5: ['red', 'blue', 'green', 'white'],
  6: ['blue', 'red', 'white', 'green'],
  7: ['white', 'green', 'blue', 'red'],
  8: ['green', 'white', 'red', 'blue'],
};

export interface CorpusImage {
  readonly name: string;
  readonly make: () => Promise<Buffer>;
  readonly corners: Corners;
  readonly width: number;
  readonly height: number;
  /** How far a channel may be off, of 255. */
  readonly tolerance: number;
  /** In place of the named colours, for a kind that cannot hold them. */
  readonly expected?: Partial<Record<ColourName, readonly number[]>>;
  readonly alpha?: number;
}

const [width, height] = [160, 120];
const names = shown[1] ?? [];

function fill(valuesOf: (colour: ColourName) => readonly number[]): Buffer {
  const rows = Array.from({ length: height }, (_, y) =>
    Array.from({ length: width }, (__, x) => {
      const name = names[(y < height / 2 ? 0 : 2) + (x < width / 2 ? 0 : 1)] ?? 'white';
      return valuesOf(name);
    }),
  );
  return Buffer.from(rows.flat(2));
}

const pixels = fill((name) => colours[name]);
const raw = { width, height, channels: 3 } as const;
const quarters = () => sharp(pixels, { raw });
/** The image as 16-bit samples, so that what is lost in eight bits shows. */
function deep(of = pixels): Sharp {
  return sharp(
    Uint16Array.from(of, (value) => value * 257),
    { raw },
  ).toColourspace('rgb16');
}
const seeThrough = (alpha: number) => quarters().ensureAlpha(alpha);

/** The image in the numbers of Display P3, and the profile that says so. */
async function inP3(): Promise<{ numbers: Buffer; icc: Buffer }> {
  const file = await quarters().withIccProfile('p3').png().toBuffer();
  const { icc = Buffer.alloc(0) } = await sharp(file).metadata();
  return { numbers: await sharp(file, { ignoreIcc: true }).raw().toBuffer(), icc };
}

/** The colours in BT.2020, with the white of sRGB as HDR's reference white of 203 cd/m² (ITU-R BT.2408). */
const hdrTransfers = {
  pq: ([r, g, b]: readonly number[]) =>
    [r, g, b].map((light = 0) => {
      const power = ((light * 203) / 10_000) ** 0.1593017578125;
      return ((0.8359375 + 18.8515625 * power) / (1 + 18.6875 * power)) ** 78.84375;
    }),
  hlg: ([r = 0, g = 0, b = 0]: readonly number[]) => {
    const luminance = (0.2627 * r + 0.678 * g + 0.0593 * b) * 0.203;
    const scene = [r, g, b].map((light) => light * 0.203 * luminance ** (1 / 1.2 - 1));
    return scene.map((e) => (e <= 1 / 12 ? Math.sqrt(3 * e) : 0.17883277 * Math.log(12 * e - 0.28466892) + 0.55991073));
  },
} as const;
const inHdr = (hdr: keyof typeof hdrTransfers) =>
  fill((name) => {
    const [r = 0, g = 0, b = 0] = colours[name].map((value) => ((value / 255 + 0.055) / 1.055) ** 2.4);
    const wide = [
      0.627404 * r + 0.329283 * g + 0.043313 * b,
      0.069097 * r + 0.91954 * g + 0.011362 * b,
      0.016391 * r + 0.088013 * g + 0.895595 * b,
    ];
    return hdrTransfers[hdr](wide).map((signal) => Math.round(signal * 255));
  });
/** Darker tones keep their brightness, and reference white is at 89 %. */
const toneMapped = { red: [212, 19, 19], green: [20, 199, 20], blue: [19, 19, 212], white: [225, 225, 225] } as const;

/** sharp takes 16-bit samples for Display P3 already. */
const deepInP3 = async () => deep((await inP3()).numbers).withIccProfile('p3');

/** The image, or another, as ffmpeg writes it; the name's extension is the kind. */
async function byFfmpeg(name: string, args: string, from = quarters()): Promise<Buffer> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-corpus-'));
  try {
    await from.png().toFile(join(dir, 'in.png'));
    await runTool(
      'ffmpeg',
      [...'-v error -nostdin -y -i in.png -frames:v 1'.split(' '), ...args.split(' '), name],
      dir,
    );
    return await readFile(join(dir, name));
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** 8-bit inks whose plain complement is exact, and the colours that browsers show for them. */
const inks = { red: [0, 200, 200, 0], green: [200, 0, 200, 50], blue: [200, 200, 0, 0], white: [0, 0, 0, 0] } as const;
const complement = ([c, m, y, k]: readonly [number, number, number, number]) =>
  [c, m, y].map((ink) => ((255 - ink) * (255 - k)) / 255);
const plainInks = Object.fromEntries(Object.entries(inks).map(([name, ink]) => [name, complement(ink)]));
const cmykTiff = () => tiff({ width, height, samples: fill((name) => inks[name]), photometric: 5 });
/** The colours as the press profile of libvips can print them. */
const printed = { red: [219, 41, 25], green: [112, 160, 37], blue: [37, 59, 119], white: [248, 247, 247] } as const;

interface Look extends Partial<Pick<CorpusImage, 'tolerance' | 'expected' | 'alpha'>> {
  readonly orientation?: number;
}

function image(name: string, make: () => Promise<Buffer>, look: Look = {}): CorpusImage {
  const { orientation = 1, tolerance = 3, ...rest } = look;
  const size = orientation < 5 ? { width, height } : { width: height, height: width };
  return { name, make, corners: shown[orientation] ?? names, ...size, tolerance, ...rest } as CorpusImage;
}

const turned = (orientation: number) => quarters().withMetadata({ orientation });
const grey = Object.fromEntries(
  Object.entries(colours).map(([name, [r, g, b]]) => [name, Array(3).fill(0.299 * r + 0.587 * g + 0.114 * b)]),
);

/** ffmpeg writes the number of the primaries, where sharp writes a profile. */
const avifArgs =
  '-c:v libaom-av1 -still-picture 1 -crf 10 -cpu-used 8 -vf scale=out_color_matrix=bt709,format=yuv444p ' +
  '-colorspace bt709 -color_primaries smpte432 -color_trc iec61966-2-1';

/** Two equal frames; the second option for frames is the one that counts. */
const sequenceArgs =
  '-frames:v 2 -vf loop=1:1,scale=out_color_matrix=bt709,format=yuv444p -c:v libaom-av1 -crf 10 -cpu-used 8 ' +
  '-colorspace bt709 -color_primaries bt709 -color_trc iec61966-2-1';

/** sharp takes raw samples of four channels for RGBA: inks come by a TIFF, whose loader the product blocks. */
async function cmykJpeg(): Promise<Buffer> {
  const loader = { operation: ['VipsForeignLoadTiff'] };
  sharp.unblock(loader);
  try {
    return await sharp(cmykTiff()).pipelineColourspace('cmyk').toColourspace('cmyk').jpeg({ quality: 95 }).toBuffer();
  } finally {
    sharp.block(loader);
  }
}

/** A PNG of 16 bits that states its colors by number (`cICP`), after its header of 33 bytes. */
async function numberedPng(of: Buffer, primaries: number, transfer: number): Promise<Buffer> {
  const bytes = await deep(of).png().toBuffer();
  const chunk = Buffer.alloc(16);
  chunk.writeUInt32BE(4, 0);
  chunk.write('cICP', 4, 'latin1');
  chunk.set([primaries, transfer, 0, 1], 8);
  chunk.writeUInt32BE(crc32(chunk.subarray(4, 12)), 12);
  return Buffer.concat([bytes.subarray(0, 33), chunk, bytes.subarray(33)]);
}

/** A sequence of AVIF without its still image. */
async function sequenceAlone(): Promise<Buffer> {
  const bytes = await byFfmpeg('x.avif', sequenceArgs);
  bytes.write('free', bytes.indexOf('meta', 0, 'latin1'), 'latin1');
  return bytes;
}

/** Half transparent, with colors that are multiplied by that (TIFF 6.0, "ExtraSamples"). */
const associated = () =>
  tiff({
    width,
    height,
    samples: fill((name) => [...colours[name].map((value) => Math.round((value * 128) / 255)), 128]),
    photometric: 2,
    extraChannels: 1,
    tags: { 338: 1 },
  });

export const corpus: readonly CorpusImage[] = [
  image('JPEG', () => quarters().jpeg().toBuffer()),
  image('JPEG without its last marker', async () => (await quarters().jpeg().toBuffer()).subarray(0, -2)),
  image('JPEG of a phone, whose scan header selects one coefficient', async () => {
    const bytes = await quarters().jpeg().toBuffer();
    // With three components: the parameters come last (ITU-T T.81, B.2.3).
    bytes.set([0, 0, 0], bytes.indexOf(Buffer.from([0xff, 0xda])) + 2 + 9);
    return bytes;
  }),
  ...[2, 3, 5, 6, 7].map((orientation) =>
    image(`JPEG, orientation ${orientation}`, () => turned(orientation).jpeg().toBuffer(), { orientation }),
  ),
  image('JPEG, progressive, Display P3', () => quarters().withIccProfile('p3').jpeg({ progressive: true }).toBuffer(), {
    tolerance: 10,
  }),
  image('JPEG, CMYK with a profile', () => quarters().toColourspace('cmyk').withIccProfile('cmyk').jpeg().toBuffer(), {
    expected: printed,
    tolerance: 8,
  }),
  image('JPEG, CMYK without a profile', cmykJpeg, { expected: plainInks, tolerance: 4 }),
  image('PNG', () => quarters().png().toBuffer()),
  image('PNG, palette', () => quarters().png({ palette: true }).toBuffer(), { tolerance: 8 }),
  image('PNG, 16 bit, transparent', () => deep().ensureAlpha(0.5).png().toBuffer(), { alpha: 128 }),
  image('PNG, 16 bit, transparent, Display P3', async () => (await deepInP3()).ensureAlpha(0.5).png().toBuffer(), {
    alpha: 128,
  }),
  ...(['pq', 'hlg'] as const).map((hdr) =>
    image(`PNG, 16 bit, ${hdr.toUpperCase()} by number`, () => numberedPng(inHdr(hdr), 9, hdr === 'pq' ? 16 : 18), {
      expected: toneMapped,
      tolerance: 20,
    }),
  ),
  image('PNG, 16 bit, Display P3 by number', async () => numberedPng((await inP3()).numbers, 12, 13)),
  image('WebP', () => quarters().webp({ quality: 95 }).toBuffer(), { tolerance: 6 }),
  image('WebP, lossless, transparent', () => seeThrough(0.5).webp({ lossless: true, exact: true }).toBuffer(), {
    alpha: 128,
  }),
  image('GIF', () => quarters().gif().toBuffer(), { tolerance: 8 }),
  image('AVIF', () => quarters().avif({ quality: 80 }).toBuffer(), { tolerance: 5 }),
  image('AVIF sequence', () => byFfmpeg('x.avif', sequenceArgs), { tolerance: 6 }),
  image('AVIF sequence without a still image', sequenceAlone, { tolerance: 6 }),
  image('AVIF, transparent, premultiplied', async () => avifPremultiplied(), { alpha: 128, tolerance: 4 }),
  image(
    'AVIF, Display P3 by number',
    async () => byFfmpeg('x.avif', avifArgs, sharp((await inP3()).numbers, { raw })),
    { tolerance: 6 },
  ),
  image(
    'AVIF, PQ',
    async () => {
      const args = avifArgs.replace('smpte432', 'bt2020').replace('iec61966-2-1', 'smpte2084');
      return byFfmpeg('x.avif', args, sharp(inHdr('pq'), { raw }));
    },
    { expected: toneMapped, tolerance: 16 },
  ),
  image('HEIC', () => heic(quarters())),
  image('HEIC, brand mif1', () => heic(quarters(), { brand: 'mif1' })),
  image('HEIC, mirrored', () => heic(quarters(), { imir: 1 }), { orientation: 2 }),
  image('HEIC, Display P3 by number', async () => heic(sharp((await inP3()).numbers, { raw }), { primaries: 12 }), {
    tolerance: 10,
  }),
  ...(['pq', 'hlg'] as const).map((hdr) =>
    image(
      `HEIC, 10 bit, ${hdr.toUpperCase()}`,
      () => heic(sharp(inHdr(hdr), { raw }), { bits: 10, primaries: 9, transfer: hdr === 'pq' ? 16 : 18 }),
      { expected: toneMapped, tolerance: 20 },
    ),
  ),
  image(
    'HEIC, as iPhones write it: tiles, turned, 10 bit, Display P3',
    async () => {
      const { numbers, icc } = await inP3();
      return heic(sharp(numbers, { raw }), { tile: 96, irot: 3, bits: 10, icc });
    },
    { orientation: 6, tolerance: 5 },
  ),
  image(
    'HEIC, as iPhones write HDR: tiles, turned, Display P3, a gain map',
    async () => {
      const { numbers, icc } = await inP3();
      return heic(sharp(numbers, { raw }), { tile: 96, irot: 3, icc, hasGainMap: true });
    },
    { orientation: 6, tolerance: 10 },
  ),
  image('TIFF', () => quarters().tiff({ compression: 'none' }).toBuffer()),
  ...[2, 3, 4, 5, 6, 7, 8].map((orientation) =>
    image(`TIFF, LZW, orientation ${orientation}`, () => turned(orientation).tiff({ compression: 'lzw' }).toBuffer(), {
      orientation,
    }),
  ),
  image(
    'TIFF, JPEG, tiles, orientation 8',
    () => turned(8).tiff({ compression: 'jpeg', quality: 95, tile: true }).toBuffer(),
    {
      orientation: 8,
    },
  ),
  image('TIFF, 16 bit, Display P3', async () => (await deepInP3()).tiff({ compression: 'deflate' }).toBuffer()),
  image('TIFF, transparent', () => seeThrough(0.5).tiff({ compression: 'deflate' }).toBuffer(), { alpha: 128 }),
  image('TIFF, transparent, premultiplied', async () => associated(), { alpha: 128 }),
  image(
    'TIFF, CMYK with a profile',
    () => quarters().toColourspace('cmyk').withIccProfile('cmyk').tiff({ compression: 'lzw' }).toBuffer(),
    {
      expected: printed,
      tolerance: 8,
    },
  ),
  image('TIFF, CMYK without a profile, big-endian', async () => cmykTiff(), { expected: plainInks, tolerance: 2 }),
  image('TIFF, several pages', async () => {
    const page = { width, height, photometric: 2 } as const;
    return tiff({ ...page, samples: pixels }, { ...page, samples: Buffer.alloc(pixels.length) });
  }),
  image('TIFF, 16 bit grey', () => byFfmpeg('x.tif', '-pix_fmt gray16be'), { expected: grey, tolerance: 4 }),
  image('BMP', () => byFfmpeg('x.bmp', '-pix_fmt bgr24')),
  image('BMP, palette', () => byFfmpeg('x.bmp', '-pix_fmt rgb8'), { tolerance: 48 }),
  image('BMP, 32 bits a pixel, of which eight are reserved', async () => {
    const bytes = await byFfmpeg('x.bmp', '-pix_fmt bgra', seeThrough(0.5));
    // ffmpeg writes the header of 40 bytes; the reserved byte of each pixel is the opacity here.
    if (bytes.readUInt32LE(14) !== 40) throw new Error('another header');
    return bytes;
  }),
  image('JPEG 2000', () => byFfmpeg('x.jp2', '-c:v jpeg2000 -pix_fmt rgb24'), { tolerance: 4 }),
  image('JPEG 2000, 16 bit', () => byFfmpeg('x.jp2', '-c:v libopenjpeg -pix_fmt rgb48le'), { tolerance: 4 }),
  image('JPEG 2000, codestream, grey', () => byFfmpeg('x.j2k', '-c:v libopenjpeg -pix_fmt gray'), {
    expected: grey,
    tolerance: 4,
  }),
  image('JPEG XL', () => byFfmpeg('x.jxl', '-pix_fmt rgb24'), { tolerance: 8 }),
  ...[1, 2, 3, 4, 5, 6, 7, 8].map((orientation) =>
    image(`JPEG XL, orientation ${orientation}`, async () => jxlTurned(orientation), { orientation }),
  ),
  image('JPEG XL, lossless, 16 bit', () => byFfmpeg('x.jxl', '-pix_fmt rgb48le -distance 0')),
];

const pageHead = `# Images that are tried

Put through \`image:thumbnail\` by \`runner-image-kinds.deep.test.ts\`, which writes this page (\`vitest run FILE -u\`),
and judged by their decoded pixels.`;

/** The corpus as a page in Markdown, with one row an image. */
export function imagePage(): string {
  const rows = corpus.map(({ name, width: across, height: down, tolerance, alpha }) => {
    const opacity = alpha === undefined ? '' : ', half transparent';
    return [name, `${across} × ${down}, colours within ${tolerance} of 255${opacity}`];
  });
  return `${pageHead}\n\n${markdownTable([['image', 'result'], ...rows])}\n`;
}

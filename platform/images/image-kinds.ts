/** Who decodes a kind: libvips as it is, the decoders in WebAssembly, or none. HEIF depends on what is inside. */
type Decoder = 'libvips' | 'wasm' | null;

interface ImageKind {
  readonly name: string;
  readonly decoder: Decoder;
  readonly matches: (head: Buffer) => boolean;
}

const startsWith =
  (...bytes: readonly number[]) =>
  (head: Buffer) =>
    head.subarray(0, bytes.length).equals(Buffer.from(bytes));
const textAt =
  (offset: number, ...texts: readonly string[]) =>
  (head: Buffer) =>
    texts.some((text) => head.toString('latin1', offset, offset + text.length) === text);
const brands = ['avif', 'avis', 'heic', 'heix', 'heim', 'heis', 'hevc', 'hevx', 'mif1', 'msf1'];
const tiff = textAt(0, 'II*\0', 'MM\0*', 'II+\0', 'MM\0+');

/** The kinds that have a name, by their first bytes. */
const kinds: readonly ImageKind[] = [
  { name: 'jpeg', decoder: 'libvips', matches: startsWith(0xff, 0xd8, 0xff) },
  { name: 'png', decoder: 'libvips', matches: startsWith(0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a) },
  { name: 'webp', decoder: 'libvips', matches: (head) => textAt(0, 'RIFF')(head) && textAt(8, 'WEBP')(head) },
  { name: 'gif', decoder: 'libvips', matches: textAt(0, 'GIF87a', 'GIF89a') },
  { name: 'heif', decoder: 'libvips', matches: textAt(4, ...brands.map((brand) => `ftyp${brand}`)) },
  // Cameras begin their raw files like a TIFF; those that say so in another way are known by their tags.
  { name: 'camera raw', decoder: null, matches: (head) => tiff(head) && textAt(8, 'CR')(head) },
  { name: 'tiff', decoder: 'wasm', matches: tiff },
  { name: 'bmp', decoder: 'wasm', matches: (head) => textAt(0, 'BM')(head) && head.length > 18 && head[15] === 0 },
  { name: 'jp2', decoder: 'wasm', matches: textAt(4, 'jP  \r\n\x87\n') },
  { name: 'j2k', decoder: 'wasm', matches: startsWith(0xff, 0x4f, 0xff, 0x51) },
  { name: 'jxl', decoder: 'wasm', matches: startsWith(0xff, 0x0a) },
  { name: 'jxl', decoder: 'wasm', matches: textAt(4, 'JXL \r\n\x87\n') },
  { name: 'camera raw', decoder: null, matches: textAt(4, 'ftypcrx') },
  { name: 'camera raw', decoder: null, matches: textAt(0, 'FUJIFILMCCD-RAW', 'IIRO', 'IIU\0') },
  {
    name: 'svg',
    decoder: null,
    matches: (head) => /^\uFEFF?\s*<(svg|\?xml[^]*<svg|!DOCTYPE svg)/.test(head.toString('utf8', 0, 1024)),
  },
  { name: 'pdf', decoder: null, matches: textAt(0, '%PDF') },
  { name: 'postscript', decoder: null, matches: textAt(0, '%!PS', '\xc5\xd0\xd3\xc6') },
  { name: 'photoshop', decoder: null, matches: textAt(0, '8BPS') },
  // With the number of its images; a Targa begins in the same way.
  { name: 'icon', decoder: null, matches: (head) => textAt(0, '\0\0\x01\0', '\0\0\x02\0')(head) && head[4] !== 0 },
  { name: 'openexr', decoder: null, matches: startsWith(0x76, 0x2f, 0x31, 0x01) },
  { name: 'jpeg xr', decoder: null, matches: startsWith(0x49, 0x49, 0xbc) },
  { name: 'radiance hdr', decoder: null, matches: textAt(0, '#?RADIANCE', '#?RGBE') },
];

/** The names of the kinds that are decoded. */
export const decodedKinds = [...new Set(kinds.filter(({ decoder }) => decoder !== null).map(({ name }) => name))];

/** The name of the kind of image that the first bytes belong to and what decodes it; null for no known image. */
export function imageKindOf(head: Buffer): Pick<ImageKind, 'name' | 'decoder'> | null {
  return kinds.find(({ matches }) => matches(head)) ?? null;
}

/** The first bytes of an image: its signature, and of HEIF the properties as well. */
export const imageHeadBytes = 64 * 1024;

import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { colourAt, sample } from '../../testing/media.ts';
import { removeRigs, run, runnerRig, wholeTrack } from '../../testing/runner.ts';

// docs/reference/media.md, "Colour": HDR sources as SDR, by decoded pixels of the stream, the cover and the preview.

afterAll(removeRigs);

type Rgb = readonly [number, number, number];

const patchWidth = 64;
const hdrTransfers = { pq: 'smpte2084', hlg: 'arib-std-b67' } as const;
type Hdr = keyof typeof hdrTransfers;

function hdrEncoder(hdr: Hdr): string {
  const transfer = hdrTransfers[hdr];
  return (
    `-c:v libx265 -preset ultrafast -x265-params log-level=error:qp=4:colorprim=bt2020:transfer=${transfer}:colormatrix=bt2020nc ` +
    `-color_primaries bt2020 -color_trc ${transfer} -colorspace bt2020nc -color_range tv`
  );
}

/** Grey patches of 10-bit signals, limited range. */
function greys(hdr: Hdr, name: string, signals: readonly number[]): Promise<string> {
  const luma = signals.reduceRight(
    (rest, signal, index) => `if(lt(X\\,${(index + 1) * patchWidth})\\,${signal}\\,${rest})`,
    '64',
  );
  const pattern = `nullsrc=s=${signals.length * patchWidth}x180:r=25:d=2,format=yuv420p10le,geq=lum=${luma}:cb=512:cr=512`;
  return sample(`${name}.mkv`, `-f lavfi -i ${pattern} ${hdrEncoder(hdr)}`);
}

/** The primaries that colours are given in, by zscale's names. */
const primaries = { bt709: 'bt709', 'Display P3': 'smpte432' } as const;
type Primaries = keyof typeof primaries;

/** An input of patches in RGB. */
function patchesOf(colours: readonly Rgb[]): string {
  const hex = (colour: Rgb) => colour.map((value) => value.toString(16).padStart(2, '0')).join('');
  const patches = colours.map((colour, index) => `color=0x${hex(colour)}:s=${patchWidth}x180:r=25:d=2[p${index}]`);
  const stacked = `${colours.map((_, index) => `[p${index}]`).join('')}hstack=${colours.length},format=gbrp`;
  return `-f lavfi -i ${[...patches, stacked].join(';')}`;
}

/** RGB as linear light of BT.709, for zscale. */
const fromBt709 = [
  'scale=out_color_matrix=bt709:out_range=limited,format=yuv444p',
  'setparams=color_primaries=bt709:color_trc=bt709:colorspace=bt709:range=limited',
  'zscale=t=linear,format=gbrpf32le',
].join(',');

/** Patches of SDR colours, stored as HDR in BT.2020 with SDR white at reference white (203 cd/m²). */
function chart(hdr: Hdr, gamut: Primaries, colours: readonly Rgb[]): Promise<string> {
  const toHdr = [
    'scale=out_color_matrix=bt709:out_range=limited,format=yuv444p',
    `setparams=color_primaries=${primaries[gamut]}:color_trc=bt709:colorspace=bt709:range=limited`,
    'zscale=t=linear:npl=203,format=gbrpf32le,zscale=p=2020',
    `zscale=t=${hdrTransfers[hdr]}:m=2020_ncl:r=limited:npl=203,format=yuv420p10le`,
  ].join(',');
  return sample(`chart-${hdr}-${primaries[gamut]}.mkv`, `${patchesOf(colours)} -vf ${toHdr} ${hdrEncoder(hdr)}`);
}

/** The colours of patches `count` in a row, in everything that is made of a source. */
async function coloursOf(source: string, count: number): Promise<Record<'stream' | 'cover' | 'preview', Rgb[]>> {
  const rig = await runnerRig('video:full', source, {
    cover: { timestamp_sec: 0.5 },
    preview: { duration: 1, width: count * patchWidth },
  });
  const { stderr } = await run(rig, ['all']);
  const manifest = await rig.manifest();
  const { artifacts, video_tracks: tracks } = manifest?.results ?? {};
  const [track] = tracks ?? [];
  if (track === undefined || artifacts?.cover === undefined || artifacts.preview === undefined) throw new Error(stderr);
  const crops = Array.from({ length: count }, (_, index) => ({ left: index * patchWidth + 16, top: 70 }));
  const ofImage = async (key: string) => {
    const png = join(rig.dir, 'image.png');
    await sharp(rig.at(key)).png().toFile(png);
    return Promise.all(crops.map(({ left, top }) => colourAt(png, `32:32:${left}:${top}`)));
  };
  const stream = await wholeTrack(rig, track);
  return {
    stream: await Promise.all(crops.map(({ left, top }) => colourAt(stream, `32:32:${left}:${top}`, 0.5))),
    cover: await ofImage(artifacts.cover.key),
    preview: await ofImage(artifacts.preview.key),
  };
}

/** Each patch of everything that is made of a source. */
async function expectColours(source: string, expected: readonly Rgb[]): Promise<void> {
  for (const [made, patches] of Object.entries(await coloursOf(source, expected.length))) {
    for (const [index, wanted] of expected.entries()) {
      const shown = patches[index] ?? [0, 0, 0];
      const off = Math.max(...wanted.map((value, channel) => Math.abs(value - (shown[channel] ?? 0))));
      expect(off, `${made}: ${JSON.stringify({ wanted, shown })}`).toBeLessThan(12);
    }
  }
}

const plain: readonly Rgb[] = [
  [192, 32, 32],
  [32, 192, 32],
  [32, 32, 192],
  [200, 160, 128],
  [96, 96, 96],
];

describe('HDR', () => {
  // BT.2408: 18 % grey has 38 % of the signal of both; reference white 58 % of PQ and 75 % of HLG.
  it.each([
    ['pq', [397, 572]],
    ['hlg', [397, 721]],
  ] as const)(
    'reference white and mid grey of %s keep their brightness in stream, cover and preview',
    async (hdr, signals) => {
      const source = await greys(hdr, `greys-${hdr}`, [...signals, 64, 64, 64]);
      for (const [made, [grey, white, black]] of Object.entries(await coloursOf(source, 5))) {
        const levels = { made, grey: grey?.[1] ?? 0, white: white?.[1] ?? 0, black: black?.[1] ?? 255 };
        // 85–95 % of SDR white; 18 % grey is 41 % of the signal in BT.709.
        expect(levels.white, JSON.stringify(levels)).toBeGreaterThanOrEqual(0.85 * 255);
        expect(levels.white, JSON.stringify(levels)).toBeLessThanOrEqual(0.95 * 255);
        expect(Math.abs(levels.grey - 0.41 * 255), JSON.stringify(levels)).toBeLessThan(10);
        expect(levels.black, JSON.stringify(levels)).toBeLessThan(6);
      }
    },
  );

  /**
   * The same numbers in Display P3, which phones record in, as they are in BT.709 by a gamma of 2.4 (BT.1886), cut off
   * at 0.
   */
  const fromP3: readonly Rgb[] = [
    [209, 0, 0],
    [0, 195, 0],
    [32, 32, 200],
    [208, 158, 123],
    [96, 96, 96],
  ];
  it.each([
    ['pq', 'bt709', plain],
    ['hlg', 'Display P3', fromP3],
  ] as const)('colours of a %s chart from %s keep hue and brightness', async (hdr, gamut, expected) => {
    await expectColours(await chart(hdr, gamut, plain), expected);
  });
});

describe('SDR', () => {
  const x264 = '-c:v libx264 -preset ultrafast -qp 4';
  it.each([
    ['BT.2020', 'bt2020', 'm=2020_ncl', `format=yuv420p10le ${x264} -color_trc bt2020-10 -colorspace bt2020nc`],
  ])('colours of %s are as in the source, not paler', async (_, wide, matrix, encoder) => {
    const filters = `${fromBt709},zscale=p=${wide},zscale=t=709:${matrix}:r=limited,${encoder}`;
    const args = `${patchesOf(plain)} -vf ${filters} -color_primaries ${wide}`;
    await expectColours(await sample(`chart-sdr-${wide}.mp4`, args), plain);
  });

  const opacity = String.raw`if(lt(X\,64)\,255\,if(lt(X\,128)\,128\,0))`;
  it.each([
    ['ProRes 4444', 'mov', '-pix_fmt yuva444p10le -c:v prores_ks -profile:v 4444'],
    ['APNG', 'apng', '-pix_fmt rgba'],
  ])('what is transparent in %s is black, whatever colour it has underneath', async (name, ext, codec) => {
    const shape = `color=0xE04040:s=${5 * patchWidth}x180:r=25:d=2,format=rgba,geq=r=224:g=64:b=64:a=${opacity}`;
    const source = await sample(`transparent-${name}.${ext}`.replaceAll(' ', '-'), `-f lavfi -i ${shape} ${codec}`);
    const black: Rgb = [0, 0, 0];
    await expectColours(source, [[224, 64, 64], [112, 32, 32], black, black, black]);
  });
});

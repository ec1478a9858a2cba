import { afterAll, describe, expect, it } from 'vitest';
import { useImageFfmpeg } from '../../testing/image-ffmpeg.ts';
import { colourAt, sample } from '../../testing/media.ts';
import { removeRigs, run, runnerRig, wholeTrack } from '../../testing/runner.ts';
import { transcode } from '../../testing/transcode.ts';

// Colors of sources that users of other tools reported, decoded and measured.

useImageFfmpeg();
afterAll(removeRigs);

/** Red at the left, blue at the right. */
const halves = (seconds: number) => `-f lavfi -i color=blue:s=320x180:r=25:d=${seconds},drawbox=w=160:c=red:t=fill`;
const x264 = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 25';
const base = (seconds = 2) => sample('halves.mp4', `${halves(seconds)} ${x264}`);
const [left, right] = ['100:100:20:40', '100:100:200:40'];

const withMatrix = async (number: number, seconds = 2) =>
  sample(
    `matrix-${number}.mp4`,
    `-i ${await base(seconds)} -c copy -bsf:v h264_metadata=matrix_coefficients=${number}`,
  );

/** The two colors of an image, or of a video's frame. */
async function colours(path: string) {
  return [await colourAt(path, left ?? ''), await colourAt(path, right ?? '')];
}

const near = (red: number, green: number, blue: number) =>
  [red, green, blue].map((value) => expect.closeTo(value, -1) as number);
const redAndBlue = [near(254, 0, 0), near(0, 0, 254)];

async function coverOf(source: string) {
  const rig = await runnerRig('video:cover', source);
  const { stderr } = await run(rig, ['all']);
  const manifest = await rig.manifest();
  if (manifest === null) throw new Error(stderr);
  return { path: rig.at(manifest.results.key), results: manifest.results };
}

describe('color matrices that filters refuse', () => {
  it.each([8, 14])('a source that states the matrix %i is read as if it stated none', async (number) => {
    expect(await colours((await coverOf(await withMatrix(number))).path)).toEqual(redAndBlue);
  });

  it('a stream, a cover and a preview are made of a source that states a reserved matrix', async () => {
    const rig = await runnerRig('video:full', await withMatrix(3));
    const { stderr } = await run(rig, ['all']);
    const manifest = await rig.manifest();
    if (manifest === null) throw new Error(stderr);
    const { results } = manifest;
    const [track] = results.video_tracks ?? [];
    expect(await colours(await wholeTrack(rig, track ?? { init: '', playlist: '' }))).toEqual(redAndBlue);
    expect(Object.keys(results.artifacts).toSorted()).toEqual(['cover', 'preview']);
    expect(results.warnings.map(({ code }) => code)).toContain('color_matrix_ignored');
  });
});

describe('palettes and transparency', () => {
  it('a video with a palette has its colors', async () => {
    const image = 'color=0x00fc00:s=320x180:r=25:d=2,drawbox=w=160:c=0xfc0000:t=fill';
    const source = await sample('palette.mov', `-f lavfi -i ${image} -vf format=pal8 -c:v png`);
    const expected = (await colours(source)).map((rgb) => near(...rgb));
    expect(await colours((await transcode(source)).path)).toEqual(expected);
  });
});

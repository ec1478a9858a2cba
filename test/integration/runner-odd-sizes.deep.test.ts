import { afterAll, describe, expect, it } from 'vitest';
import sharp from 'sharp';
import { sample } from '../../testing/media.ts';
import { removeRigs, run, runnerRig } from '../../testing/runner.ts';
import { transcode } from '../../testing/transcode.ts';

// Sources as browsers, editors and screen recorders write them: odd sides, frames that are shown for long.

afterAll(removeRigs);

// `testsrc2` makes its own size even; `scale` does not.
const odd = (codec: string) =>
  `-f lavfi -i testsrc2=s=320x180:r=25:d=1 -vf scale=321:181,setsar=1 -pix_fmt yuv420p ${codec}`;

describe('a video whose sides are odd', () => {
  it.each([
    [
      'VP9 of a browser, without a length,',
      'odd-sides.webm',
      odd('-c:v libvpx-vp9 -deadline realtime -cpu-used 8 -live 1'),
    ],
    ['MPEG-4 in AVI', 'odd-sides.avi', odd('-c:v mpeg4')],
  ])('%s is rounded down to even', async (_, name, args) => {
    const source = await sample(name, args);
    const { stream } = await transcode(source);
    expect([stream.width, stream.height, stream.nb_read_packets]).toEqual([320, 180, '25']);
    for (const type of ['video:cover', 'video:preview'] as const)
      expect(await run(await runnerRig(type, source), ['all'])).toMatchObject({ exitCode: 0 });
  });
});

/** The colour of each frame of an animation, and how long it is shown in ms. */
async function pagesOf(path: string): Promise<string[]> {
  const { pages = 1, delay = [] } = await sharp(path, { pages: -1 }).metadata();
  const names = ['red', 'lime', 'blue'];
  const found = Array.from({ length: pages }, async (_, page) => {
    const { channels } = await sharp(path, { page }).stats();
    const means = channels.slice(0, 3).map(({ mean }) => mean);
    return [names[means.indexOf(Math.max(...means))], ...delay.slice(page, page + 1)].join(' ');
  });
  return Promise.all(found);
}

describe('frames that are shown for long', () => {
  it.each([
    ['of a second each', 'one-fps.mp4', '-f lavfi -i testsrc2=s=320x180:r=1:d=10', 5.5, 5],
    ['of ten seconds each', 'slides-long.mp4', '-f lavfi -i testsrc2=s=320x180:r=0.1:d=30', 19, 10],
  ])('C15.5: a cover among frames %s is the one that is shown at its time', async (_, name, input, at, shown) => {
    const path = await sample(name, `${input} -c:v libx264 -preset ultrafast -pix_fmt yuv420p`);
    const rig = await runnerRig('video:cover', path, { timestamp_sec: at });
    await run(rig, ['all']);
    expect((await rig.manifest())?.results.timestamp_sec).toBe(shown);
  });

  it.each([
    ['just before the next slide', 9.8, 2, ['red 500', 'lime 2500']],
    ['in the last one', 26, 10, ['blue']],
  ])('a preview that begins %s shows what is shown at its time', async (_, start_sec, fps, expected) => {
    const slides = ['red', 'lime', 'blue'].map((colour) => `color=${colour}:s=64x64:r=0.1:d=10`);
    const inputs = slides.map((slide) => `-f lavfi -i ${slide}`).join(' ');
    const codec = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p';
    const path = await sample('slides-colours.mp4', `${inputs} -lavfi concat=n=3,setpts=N*10/TB ${codec}`);
    const rig = await runnerRig('video:preview', path, { start_sec, fps, duration: 3, width: 64 });
    await run(rig, ['all']);
    expect(await pagesOf(rig.at((await rig.manifest())?.results.key ?? ''))).toEqual(expected);
  });
});

describe('what a source and a profile say', () => {
  it('a language with a private part has the name of the language', async () => {
    const inputs = '-f lavfi -i testsrc2=s=320x180:r=25:d=1 -f lavfi -i sine=d=1 -c:v libx264 -preset ultrafast';
    const source = await sample('private-language.mkv', `${inputs} -c:a aac -metadata:s:a:0 language=de-x-formal`);
    expect((await transcode(source)).master).toMatch(
      /LANGUAGE="de-x-formal".*NAME="German"|NAME="German".*LANGUAGE="de-x-formal"/,
    );
  });
});

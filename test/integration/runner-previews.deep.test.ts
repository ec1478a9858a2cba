import { join } from 'node:path';
import sharp from 'sharp';
import { afterAll, describe, expect, it } from 'vitest';
import { sample, similarity } from '../../testing/media.ts';
import { removeRigs, runnerRig, runToResult } from '../../testing/runner.ts';

// Previews of sources with one frame or none after a seek, and of sources that cannot seek.

afterAll(removeRigs);

const pattern = '-f lavfi -i testsrc2=s=320x180:r=25:d=3';
const x264 = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p';

async function preview(source: string, options: object) {
  const rig = await runnerRig('video:preview', source, options);
  const { results } = await runToResult(rig);
  const first = join(rig.dir, 'first.png');
  await sharp(rig.at(results.key)).png().toFile(first);
  return { results, first };
}

describe('video:preview', () => {
  it.each(['webp', 'gif'])('a %s preview of a video of 40 ms beside longer audio is a still', async (format) => {
    const source = await sample(
      'one-frame.mp4',
      `-f lavfi -i testsrc2=s=320x180:r=25:d=0.04 -f lavfi -i sine=f=440:r=48000:d=4 ${x264} -c:a aac`,
    );
    const { results, first } = await preview(source, { format, width: 320 });
    expect(results).toMatchObject({ format, width: 320, height: 180, frames: 1 });
    expect(await similarity(first, source)).toBeGreaterThan(0.85);
  });

  it('a GIF of more frames than may wait in memory for their palette has all of them and its colours', async () => {
    const source = await sample('portrait.mp4', `-f lavfi -i testsrc2=s=720x1280:r=15:d=6 ${x264}`);
    const { results, first } = await preview(source, { format: 'gif', start_sec: 0, duration: 6, fps: 15, width: 720 });
    expect(results).toMatchObject({ width: 720, height: 1280, frames: 90 });
    expect(await similarity(first, source, 'select=eq(n\\,0)')).toBeGreaterThan(0.85);
  });

  it.each([['flv', 'no-index.flv', `${pattern} -c:v flv -g 250`]])(
    'a preview from the start of a source in %s without an index begins with its first frame',
    async (_, name, args) => {
      const source = await sample(name, args);
      const { results, first } = await preview(source, { duration: 1, fps: 10, width: 320 });
      expect(results.frames).toBe(10);
      expect(await similarity(first, source, 'select=eq(n\\,0)')).toBeGreaterThan(0.85);
    },
  );

  it.each([['ts', 'long-groups.ts']])(
    'a preview of a source in %s with few key frames begins with the frame of its time',
    async (_, name) => {
      const source = await sample(name, `${pattern} -c:v libx264 -preset veryfast -bf 3 -pix_fmt yuv420p -g 40`);
      const { results, first } = await preview(source, { start_sec: 1.53, duration: 1, fps: 10, width: 320 });
      expect(results.frames).toBe(10);
      const likeness = (frame: number) => similarity(first, source, `select=eq(n\\,${frame})`);
      const [before, shown, after] = [await likeness(37), await likeness(38), await likeness(39)];
      expect(shown).toBeGreaterThan(Math.max(before, after));
    },
  );

  it('a preview of one frame a second with its start at the last second shows the last frame', async () => {
    const source = await sample('slow.mp4', `-f lavfi -i testsrc2=s=320x180:r=1:d=6 ${x264} -g 1`);
    const { results, first } = await preview(source, { start_sec: 5.4, duration: 0.5, fps: 2, width: 320 });
    expect(results.frames).toBe(1);
    expect(await similarity(first, source, 'select=eq(n\\,5)')).toBeGreaterThan(0.85);
  });
});

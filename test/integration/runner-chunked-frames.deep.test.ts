import { afterAll, it } from 'vitest';
import { sample } from '../../testing/media.ts';
import { removeRigs } from '../../testing/runner.ts';
import { barsPattern, expectSameStream } from '../../testing/same-stream.ts';

// Frames that are hard to cut: those that need frames of another chunk, or come as fields.

afterAll(removeRigs);

const tone = '-f lavfi -i sine=f=440:r=48000:d=20';
const x264 = '-c:v libx264 -preset veryfast -crf 18 -pix_fmt yuv420p';
const fields = `${barsPattern('50')} ${tone} -vf tinterlace=interleave_top -flags +ildct+ilme`;
it.each<[title: string, make: () => Promise<string>]>([
  [
    '29.97 frames a second with open GOPs',
    () =>
      sample(
        'long-open.mp4',
        `${barsPattern('30000/1001')} ${tone} ${x264} -x264-params open-gop=1:keyint=90:bframes=3 -c:a aac`,
      ),
  ],
  [
    'interlaced MPEG-2',
    () => sample('long-fields.ts', `${fields} -c:v mpeg2video -q:v 2 -g 15 -bf 2 -c:a mp2 -f mpegts`),
  ],
])('C12.15: %s in chunks has the same frames, times and segments as in one piece', async (_, make) => {
  await expectSameStream(await make());
});

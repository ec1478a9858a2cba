import { afterAll, it } from 'vitest';
import { sample } from '../../testing/media.ts';
import { removeRigs } from '../../testing/runner.ts';
import { barsPattern, expectSameStream } from '../../testing/same-stream.ts';

// Frames that are hard to cut: those that need frames of another chunk, come as fields, or change their size.

afterAll(removeRigs);

const tone = '-f lavfi -i sine=f=440:r=48000:d=20';
const x264 = '-c:v libx264 -preset veryfast -crf 18 -pix_fmt yuv420p';
const fields = `${barsPattern('50')} ${tone} -vf tinterlace=interleave_top -flags +ildct+ilme`;
const hdr10 = '-color_primaries bt2020 -color_trc smpte2084 -colorspace bt2020nc';
const x265 = 'log-level=error:open-gop=1:keyint=80:bframes=3:colorprim=bt2020:transfer=smpte2084:colormatrix=bt2020nc';

/** Ten seconds of a broadcast. */
const broadcast = (size: string, fromSec: number) =>
  sample(
    `long-${size}.ts`,
    `-f lavfi -i testsrc2=s=${size}:r=25:d=10 ${tone} -t 10 ${x264} -c:a mp2 -output_ts_offset ${fromSec}`,
  );

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
    'HDR in HEVC with leading pictures',
    () =>
      sample(
        'long-pq.mkv',
        `${barsPattern('25')} ${tone} -vf format=yuv420p10le -c:v libx265 -preset ultrafast -x265-params ${x265} ${hdr10} -c:a aac`,
      ),
  ],
  [
    'interlaced MPEG-2',
    () => sample('long-fields.ts', `${fields} -c:v mpeg2video -q:v 2 -g 15 -bf 2 -c:a mp2 -f mpegts`),
  ],
  [
    'a broadcast whose frames change their size',
    async () => {
      const [narrow, wide] = [await broadcast('240x180', 0), await broadcast('480x270', 10)];
      return sample('long-resized.ts', `-i concat:${narrow}|${wide} -map 0 -c copy`);
    },
  ],
])('C12.15: %s in chunks has the same frames, times and segments as in one piece', async (_, make) => {
  await expectSameStream(await make());
});

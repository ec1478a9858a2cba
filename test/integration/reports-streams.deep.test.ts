import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { checkout } from '../../testing/checkout.ts';
import { useImageFfmpeg } from '../../testing/image-ffmpeg.ts';
import { sample } from '../../testing/media.ts';
import { removeRigs } from '../../testing/runner.ts';
import { transcode } from '../../testing/transcode.ts';

// Sources with odd streams that users of other tools reported, decoded and compared.

useImageFfmpeg();
afterAll(removeRigs);

const base = () =>
  sample(
    'reports-base.mp4',
    '-f lavfi -i testsrc2=size=320x180:rate=25:duration=4 -f lavfi -i sine=300:sample_rate=48000:duration=4 -c:v libx264 -preset ultrafast -pix_fmt yuv420p -g 25 -c:a aac',
  );

describe('attachments', () => {
  it('a Matroska file with seventy fonts is streamed', async () => {
    // The name is short and without a colon: ffmpeg writes it into the file.
    const font = join(checkout, 'LICENSE');
    const fonts = Array.from(
      { length: 70 },
      (_, index) =>
        `-attach ${font} -metadata:s:t:${index} mimetype=application/x-truetype-font -metadata:s:t:${index} filename=f${index}.ttf`,
    );
    const made = await transcode(await sample('fonts.mkv', `-i ${await base()} -map 0 -c copy ${fonts.join(' ')}`));
    expect(Number(made.stream.nb_read_packets)).toBeGreaterThanOrEqual(100);
    expect(made.warnings).toEqual([]);
  });
});

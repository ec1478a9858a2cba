import { afterAll, it } from 'vitest';
import { mediaProfilesSchema, type NamedProfile } from '#domain/media/profiles.ts';
import { changedSample, rotatedMp4, sample } from '../../testing/media.ts';
import { removeRigs } from '../../testing/runner.ts';
import { barsPattern, expectSameStream } from '../../testing/same-stream.ts';

// Times of sources that are hard to cut: rounded, variable, or a second apart.

afterAll(removeRigs);

const tone = '-f lavfi -i sine=f=440:r=48000:d=20';
const x264 = '-c:v libx264 -preset veryfast -crf 18 -pix_fmt yuv420p';
const { byName } = mediaProfilesSchema.parse({ profiles: { two: { audio: { tracks_max: 2 } } } });

const sources: [title: string, make: () => Promise<string>, profile?: NamedProfile | undefined][] = [
  [
    '23.976 frames a second in Matroska, which rounds times to a millisecond, with three audio tracks, of which a profile takes two,',
    () =>
      sample(
        'long-24.mkv',
        `${barsPattern('24000/1001')} ${tone} -map 0 ${'-map 1 '.repeat(3)}${x264} -c:a aac -b:a 32k`,
      ),
    byName.get('two'),
  ],
  [
    'a rotated clip of variable rate, as from a phone,',
    async () => {
      const vfr = String.raw`-vf select='not(eq(mod(n\,5)\,1))*not(eq(mod(n\,7)\,2))' -fps_mode passthrough`;
      const lying = await sample('long-vfr.mp4', `${barsPattern('30')} ${tone} ${vfr} ${x264} -c:a aac`);
      return changedSample('long-phone.mp4', lying, rotatedMp4);
    },
  ],
  [
    'a frame a second, shown long after it is decoded,',
    () => sample('long-slow.mp4', `${barsPattern('1')} ${tone} ${x264} -force_key_frames 0,3,8,13 -bf 2 -c:a aac`),
  ],
];

it.each(sources)(
  'C12.15: %s in chunks has the same frames, times and segments as in one piece',
  async (_, make, profile) => {
    await expectSameStream(await make(), profile);
  },
);

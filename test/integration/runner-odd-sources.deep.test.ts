import { afterAll, describe, expect, it } from 'vitest';
import { channelLevels, runTool, sample } from '../../testing/media.ts';
import { removeRigs, wholeTrack } from '../../testing/runner.ts';
import { transcode } from '../../testing/transcode.ts';

// The table "Odd sources" of docs/reference/media.md: what the corpus of videos (corpus-videos.md) does not judge.

afterAll(removeRigs);

const x264 = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p';

const audioBegins = async (path: string) => {
  // With its own timestamps: ffmpeg would put the encoder's priming, which lies before 0, at 0.
  const open = ['-v', 'error', '-nostdin', '-copyts', '-i', path, '-map', '0:a', '-af'];
  const filters = 'silencedetect=n=-50dB:d=0.2,ametadata=mode=print:file=-';
  const heard = await runTool('ffmpeg', [...open, filters, '-f', 'null', '-']);
  return Number(/lavfi\.silence_end=([\d.]+)/.exec(heard)?.[1]);
};

describe('odd times', () => {
  it.each([
    ['ts', `${x264} -c:a aac`],
    ['mpg', '-c:v mpeg2video -q:v 3 -c:a mp2 -f vob'],
  ])(
    'audio that begins eight seconds late in a file .%s is found by every tool, and begins there',
    async (ext, codecs) => {
      // Neither container says at its start what the audio is like.
      const audio = '-itsoffset 8 -f lavfi -i sine=f=440:r=48000:d=1';
      const source = await sample(
        `late-audio.${ext}`,
        `-f lavfi -i testsrc2=s=320x180:r=25:d=9 ${audio} -map 0 -map 1 ${codecs}`,
      );
      const made = await transcode(source);
      const [track] = made.results.audio_tracks;
      if (track === undefined) throw new Error('no audio');
      expect(Math.abs((await audioBegins(await wholeTrack(made.rig, track))) - 8)).toBeLessThan(0.05);
    },
  );
});

describe('odd audio', () => {
  it.each([
    ['six channels of PCM', 'six.mkv', 6, '-c:a pcm_s16le'],
    ['seven channels of AAC', 'seven.mp4', 7, '-c:a aac -b:a 256k'],
  ])('%s without a layout are mixed, the centre too', async (_, name, channels, codec) => {
    const layers = Array.from({ length: channels }, (__, channel) => (channel === 2 ? 'sin(6283*t)/2' : '0')).join('|');
    const source = await sample(
      `centre-${name}`,
      `-f lavfi -i testsrc2=s=160x90:r=25:d=2 -f lavfi -i aevalsrc=${layers}:s=48000:d=2 ${x264} ${codec}`,
    );
    const { rig, results } = await transcode(source);
    const [track] = results.audio_tracks;
    if (track === undefined) throw new Error('no audio track');
    const levels = await channelLevels(await wholeTrack(rig, track));
    expect(levels).toHaveLength(2);
    expect(Math.min(...levels)).toBeGreaterThan(-30);
  });

  it('audio tracks become stereo, eight at most, with the default of the source', async () => {
    const tracks = Array.from({ length: 9 }, (_, index) => `-f lavfi -i sine=f=${200 + 100 * index}:r=22050:d=2`).join(
      ' ',
    );
    const maps = Array.from({ length: 10 }, (_, index) => `-map ${index}`).join(' ');
    const source = await sample(
      'many.mkv',
      `-f lavfi -i testsrc2=s=320x180:r=25:d=2 ${tracks} ${maps} ${x264} -c:a flac -ac:a:1 6 -ac:a:2 4 -metadata:s:a:3 language=fre ` +
        '-metadata:s:a:4 language=fre -disposition:a:0 0 -disposition:a:3 default',
    );
    const made = await transcode(source);
    expect(made.results.audio_tracks).toHaveLength(8);
    expect(made.warnings).toEqual(['above_profile', 'audio_tracks_dropped']);
    expect(made.results.streaming.default_audio_track_id).toBe('audio_fr_aac_2ch');
    expect(made.results.audio_tracks.map(({ id }) => id).slice(2, 5)).toEqual([
      'audio_und_aac_2ch_3',
      'audio_fr_aac_2ch',
      'audio_fr_aac_2ch_2',
    ]);
    expect(made.results.audio_tracks.every(({ channels }) => channels === 2)).toBe(true);
    expect(made.master.match(/DEFAULT=YES/g)).toHaveLength(1);
    expect(made.master.match(/LANGUAGE=/g)).toHaveLength(2);
  });
});

describe('a video that stands still for most of its time', () => {
  it('a video with little motion for most of its time has a warning, and its master states the real peak and average', async () => {
    const noise = String.raw`noise=alls=60:allf=t:enable=between(t\,7\,10)`;
    const made = await transcode(
      await sample('still.mp4', `-f lavfi -i color=gray:s=320x180:r=25:d=24 -vf ${noise} ${x264} -crf 16`),
    );
    expect(made.warnings).toEqual(['uneven_bitrate']);
    const [, peak = 0, average = 0] = /BANDWIDTH=(\d+),AVERAGE-BANDWIDTH=(\d+)/.exec(made.master)?.map(Number) ?? [];
    expect(peak / average).toBeGreaterThan(2);
  });
});

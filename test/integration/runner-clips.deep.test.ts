import { afterAll, describe, expect, it } from 'vitest';
import { decodedFrames, shownAt, wrongFrames } from '../../testing/decoded-frames.ts';
import { changedSample, sample } from '../../testing/media.ts';
import { editedMp4, withoutLengths } from '../../testing/mp4-boxes.ts';
import { removeRigs, run, runnerRig } from '../../testing/runner.ts';
import { refusal, transcode } from '../../testing/transcode.ts';
import { withMetadataFor } from '../../testing/transport-stream.ts';

// docs/reference/media.md, "Odd sources": headers that are wrong, times in milliseconds, and containers without times,
// judged by the frames that ffmpeg decodes.

afterAll(removeRigs);

const x264 = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p';
const x265 = '-c:v libx265 -preset ultrafast -pix_fmt yuv420p -x265-params';
const moving = (seconds: number) => `-f lavfi -i testsrc2=s=320x180:r=30:d=${seconds}`;
const tone = (seconds: number) => `-f lavfi -i sine=f=440:r=48000:d=${seconds}`;
const hevc = async () =>
  sample(
    'hevc-gops.mp4',
    `${moving(4)} ${tone(4)} ${x265} log-level=error:keyint=40:min-keyint=40:scenecut=0:bframes=3 -tag:v hvc1 -c:a aac`,
  );

/** Transcodes a source at 30 frames a second; each frame must be the one that ffmpeg shows at its time. */
async function played(path: string) {
  const made = await transcode(path);
  const source = await decodedFrames(path);
  const frames = await decodedFrames(made.path);
  expect(made.stream.r_frame_rate).toBe('30/1');
  expect(wrongFrames(frames, source, shownAt(source, 30))).toEqual([]);
  return { ...made, source, frames };
}

describe('sizes in headers', () => {
  it('H.264 that is cropped at its left shows what is left of it', async () => {
    const whole = await sample('uncropped.mp4', `${moving(1)} ${x264}`);
    // H.264 is cropped by two pixels at a time, and ffmpeg by what keeps its memory aligned.
    const bitstream = '-c copy -bsf:v h264_metadata=crop_left=20:crop_right=12:crop_top=10:crop_bottom=22';
    const made = await transcode(await sample('cropped.mp4', `-i ${whole} ${bitstream}`));
    const shown = await sample('cropped.mkv', `-i ${whole} -vf crop=288:160:20:10 -c:v ffv1`);
    expect([made.stream.width, made.stream.height]).toEqual([288, 160]);
    expect(wrongFrames(await decodedFrames(made.path), await decodedFrames(shown))).toEqual([]);
  });
});

describe('lengths in headers', () => {
  it('a fragmented MP4 whose headers state 13 days is as long as its packets', async () => {
    const fragmented = await sample(
      'one-second.mp4',
      `${moving(1)} ${x264} -g 15 -movflags frag_keyframe+empty_moov+default_base_moof`,
    );
    const path = await changedSample('thirteen-days.mp4', fragmented, withoutLengths);
    const { results, stream } = await played(path);
    expect([stream.nb_read_packets, results.source.duration_sec]).toEqual(['30', 1]);
    // Covers and previews go by the same length.
    const rig = await runnerRig('video:cover', path, { timestamp_sec: 0.5 });
    expect((await run(rig, ['all'])).exitCode).toBe(0);
    expect((await rig.manifest())?.results.timestamp_sec).toBeCloseTo(0.5, 1);
  });

  it('a duration that Matroska states for every frame, and none has, does not hold the last one', async () => {
    const plain = await sample('plain.mkv', `${moving(1)} ${x264}`);
    const path = await changedSample('four-seconds-a-frame.mkv', plain, (bytes) => {
      // DefaultDuration, in nanoseconds, in four bytes.
      const at = bytes.indexOf(Buffer.from([0x23, 0xe3, 0x83, 0x84]));
      const changed = Buffer.from(bytes);
      changed.writeUInt32BE(4_000_000_000, at + 4);
      return changed;
    });
    expect((await played(path)).stream.nb_read_packets).toBe('30');
  });

  it('an edit list that is longer than its media plays to the end of the media', async () => {
    const silent = await sample('hevc-silent.mp4', `-i ${await hevc()} -c copy -an`);
    const path = await changedSample('edit-too-long.mp4', silent, (bytes) =>
      editedMp4(bytes, { startSec: 1, durationSec: 4 }),
    );
    const { stream, warnings } = await played(path);
    expect([stream.nb_read_packets, warnings]).toEqual(['90', ['shorter_than_stated']]);
  });

  it.each([['Matroska', 'mkv', `${x264} -c:a flac`]])(
    '%s that was cut off in the middle is corrupt_input',
    async (_, extension, codecs) => {
      const whole = await sample(`whole.${extension}`, `${moving(4)} ${tone(4)} ${codecs}`);
      const half = await changedSample(`cut.${extension}`, whole, (bytes) => bytes.subarray(0, bytes.length >> 1));
      expect(await refusal(half)).toEqual([10, 'corrupt_input', false]);
    },
  );

  it('an MP4 whose index was not written says so', async () => {
    const whole = await sample('whole-index-last.mp4', `${moving(2)} ${x264}`);
    const cut = await changedSample('no-index.mp4', whole, (bytes) => bytes.subarray(0, bytes.lastIndexOf('moov') - 4));
    const { error } = await run(await runnerRig('video:transcode', cut), ['all']);
    const message = 'The source was cut off or its recording was not finished: its index (`moov`) is missing.';
    expect(error).toMatchObject({ code: 'corrupt_input', message });
  });
});

describe('clips that were trimmed without a key frame', () => {
  it.each([0.3, 0.8])(
    'HEVC whose edit list begins at %f s, before the first key frame, is played',
    async (startSec) => {
      const cut = await sample(
        'no-key-frame-hevc.mp4',
        `-i ${await hevc()} -ss 0.4 -c copy -copyinkf -an -avoid_negative_ts make_zero`,
      );
      const path = await changedSample(`edit-before-key-${startSec}.mp4`, cut, (bytes) =>
        editedMp4(bytes, { startSec, durationSec: 3.4 }),
      );
      const { source, frames } = await played(path);
      expect(frames.frames.length).toBeGreaterThanOrEqual(source.frames.length);
    },
  );
});

describe('times', () => {
  it.each([
    ['Matroska', 'mkv', '-c copy'],
    ['MP4', 'mp4', '-c:v copy -c:a aac -video_track_timescale 1000'],
  ])('%s in milliseconds shows each frame once where video begins half a frame late', async (_, extension, codecs) => {
    const video = await sample('gops.mp4', `${moving(4)} ${x265} log-level=error:keyint=30:scenecut=0 -tag:v hvc1`);
    const audio = await sample('tone.mkv', `${tone(4)} -c:a flac`);
    const path = await sample(
      `half-late.${extension}`,
      `-itsoffset 0.01667 -i ${video} -i ${audio} -map 0 -map 1 ${codecs}`,
    );
    const made = await transcode(path);
    expect([made.stream.r_frame_rate, made.stream.nb_read_packets]).toEqual(['30/1', '120']);
    expect(wrongFrames(await decodedFrames(made.path), await decodedFrames(path))).toEqual([]);
  });

  it('a transport stream begins with its video and audio, whatever data comes before', async () => {
    const early = await sample(
      'early-audio.ts',
      `${tone(1)} -itsoffset 0.7 -f lavfi -i testsrc2=s=320x180:r=30000/1001 -frames:v 3 -map 1 -map 0 -c:v mpeg2video -q:v 3 -bf 0 -c:a mp2 -ar 44100 -metadata:s:a language=eng`,
    );
    const path = await changedSample('early-data.ts', early, (bytes) => withMetadataFor(3, bytes));
    const made = await transcode(path);
    expect([made.stream.nb_read_packets, made.results.audio_tracks, made.warnings]).toEqual(['3', [], []]);
    expect(wrongFrames(await decodedFrames(made.path), await decodedFrames(path))).toEqual([]);
  });

  it.each([['H.264', `${x264} -bf 2 -g 20 -x264-params b-pyramid=normal`]])(
    'AVI with B-frames of %s, whose packets have no times, shows all of its frames',
    async (name, codec) => {
      const path = await sample(`untimed-${name}.avi`, `${moving(2)} ${codec}`);
      const made = await transcode(path);
      expect(made.stream.nb_read_packets).toBe('60');
      expect(wrongFrames(await decodedFrames(made.path), await decodedFrames(path))).toEqual([]);
    },
  );
});

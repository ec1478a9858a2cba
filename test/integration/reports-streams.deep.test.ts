import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { decodedFrames, differenceOf, wrongFrames } from '../../testing/decoded-frames.ts';
import { checkout } from '../../testing/checkout.ts';
import { useImageFfmpeg } from '../../testing/image-ffmpeg.ts';
import { changedSample, sample } from '../../testing/media.ts';
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

const broadcast = async () => sample('broadcast.ts', `-i ${await base()} -c copy -f mpegts`);
/** The PID of a packet of MPEG-TS. */
const pidOf = (unit: Buffer) => unit.readUInt16BE(1) & 0x1fff;

describe('recordings that begin or end anywhere', () => {
  it('C16.19: a broadcast that is cut between key frames has the number of frames that cannot be decoded', async () => {
    // From the sixth frame on: packets of 188 bytes, of which those of tables come first.
    const source = await changedSample('joined-late.ts', await broadcast(), (bytes) => {
      const units = Array.from({ length: bytes.length / 188 }, (_, index) =>
        bytes.subarray(index * 188, index * 188 + 188),
      );
      const starts = units.flatMap((unit, index) =>
        pidOf(unit) === 256 && ((unit[1] ?? 0) & 0x40) !== 0 ? [index] : [],
      );
      const tables = units.filter((unit) => [0, 17, 4096].includes(pidOf(unit))).slice(0, 3);
      return Buffer.concat([...tables, ...units.slice(starts[5])]);
    });
    const made = await transcode(source);
    expect(made.warnings).toEqual(['damaged_frames']);
    expect(made.results.warnings[0]?.message).toContain('20 frames at the start');
    const [clip, shown] = [await decodedFrames(await base()), await decodedFrames(made.path)];
    // The audio is whole, and begins half a frame before the first frame of the clip.
    // The last frame repeats the one before, alone in its segment, whose few bits decide how much it differs.
    expect(shown.frames).toHaveLength(101);
    const toLast = clip.frames.slice(-3).map((frame) => differenceOf(shown.frames[100]!, frame));
    expect(Math.min(...toLast)).toBe(toLast[2]);
    const compared = { ...shown, frames: shown.frames.slice(0, -1) };
    expect(wrongFrames(compared, clip, (frame) => Math.max(25, frame - 1))).toEqual([]);
  });

  it('C16.20: a recording in fragments that was cut off in its last one is streamed, with a warning', async () => {
    const flags = '-movflags +frag_keyframe+empty_moov+default_base_moof -frag_duration 500000';
    const whole = await sample('fragments.mp4', `-i ${await base()} -c copy ${flags}`);
    const source = await changedSample('crashed.mp4', whole, (bytes) => {
      const last = bytes.lastIndexOf('mdat', undefined, 'latin1');
      return bytes.subarray(0, last + (bytes.length - last) / 4);
    });
    const made = await transcode(source);
    expect(made.warnings).toContain('shorter_than_stated');
    const frames = Number(made.stream.nb_read_packets);
    expect(frames).toBeGreaterThanOrEqual(75);
    expect(frames).toBeLessThan(100);
  });
});

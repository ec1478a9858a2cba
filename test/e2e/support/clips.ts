import { changedSample, sample } from '../../../testing/media.ts';
import { putSource } from './service.ts';

// The sources of the jobs. A test file puts those that it uses into the bucket.

const tone = '-f lavfi -i sine=frequency=330:sample_rate=48000';
const encoding = '-c:v libx264 -preset ultrafast -crf 35 -pix_fmt yuv420p -c:a aac -b:a 64k -shortest';

/** Six seconds of video. */
export async function putClip(): Promise<string> {
  return put('clips/first.mp4', sample('e2e-clip.mp4', `${video('640x360', 6)} ${encoding}`));
}

/** Fifteen seconds of video: its pod runs long enough for a test to disrupt it. */
export async function putLongClip(): Promise<string> {
  return put('clips/long.mp4', longClip());
}

/** 48 seconds of video with two audio tracks: four chunks (`CHUNK_LENGTH` of the release). */
export async function putLongVideo(): Promise<string> {
  const second = '-f lavfi -i sine=frequency=550:sample_rate=48000:duration=48 -map 0 -map 1 -map 2';
  return put('clips/long.mp4', sample('e2e-long.mp4', `${video('960x540', 48)} ${second} ${encoding} -g 50`));
}

/** Two seconds of video in a file larger than LARGE_VIDEO_THRESHOLD. */
export async function putLargeClip(): Promise<string> {
  const clip = await sample('e2e-small.mp4', `${video('320x180', 2)} ${encoding}`);
  return put('clips/large.mp4', changedSample('e2e-large.mp4', clip, withFreeBox));
}

export async function putImage(): Promise<string> {
  const recipe = '-f lavfi -i testsrc2=size=1200x800:rate=1:duration=1 -frames:v 1 -q:v 3';
  return put('images/first.jpg', sample('e2e-image.jpg', recipe));
}

function longClip(): Promise<string> {
  // Under three chunks.
  return sample('e2e-longer.mp4', `${video('640x360', 24)} ${encoding}`);
}

function video(size: string, durationSec: number): string {
  return `-f lavfi -i testsrc2=size=${size}:rate=25:duration=${durationSec} ${tone}:duration=${durationSec}`;
}

/**
 * Appends a free box of 33 MiB, which readers skip (ISO/IEC 14496-12, 8.1.2): 1 MiB more than LARGE_VIDEO_THRESHOLD.
 */
function withFreeBox(bytes: Buffer): Buffer {
  const box = Buffer.alloc(33 * 1024 * 1024);
  box.writeUInt32BE(box.length, 0);
  box.write('free', 4, 'latin1');
  return Buffer.concat([bytes, box]);
}

async function put(key: string, path: Promise<string>): Promise<string> {
  await putSource(key, await path);
  return key;
}

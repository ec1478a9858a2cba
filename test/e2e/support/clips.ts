import { sample } from '../../../testing/media.ts';
import { putSource } from './service.ts';

// The sources of the jobs. A test file puts those that it uses into the bucket.

const tone = '-f lavfi -i sine=frequency=330:sample_rate=48000';
const encoding = '-c:v libx264 -preset ultrafast -crf 35 -pix_fmt yuv420p -c:a aac -b:a 64k -shortest';

/** Six seconds of video. */
export async function putClip(): Promise<string> {
  return put('clips/first.mp4', sample('e2e-clip.mp4', `${video('640x360', 6)} ${encoding}`));
}

/** 24 seconds of video: its pod runs long enough for a test to disrupt it. */
export async function putLongClip(): Promise<string> {
  return put('clips/long.mp4', sample('e2e-longer.mp4', `${video('640x360', 24)} ${encoding}`));
}

export async function putImage(): Promise<string> {
  const recipe = '-f lavfi -i testsrc2=size=1200x800:rate=1:duration=1 -frames:v 1 -q:v 3';
  return put('images/first.jpg', sample('e2e-image.jpg', recipe));
}

function video(size: string, durationSec: number): string {
  return `-f lavfi -i testsrc2=size=${size}:rate=25:duration=${durationSec} ${tone}:duration=${durationSec}`;
}

async function put(key: string, path: Promise<string>): Promise<string> {
  await putSource(key, await path);
  return key;
}

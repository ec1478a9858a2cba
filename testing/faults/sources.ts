import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { sample } from '../media.ts';

/** The key of a source that is no video. */
export const brokenSource = 'broken';

const tone = (seconds: number) => `sine=f=440:r=48000:d=${seconds}`;

function videoOf(seconds: number): string {
  const video = `testsrc2=s=192x108:r=10:d=${seconds}`;
  return `-f lavfi -i ${video} -f lavfi -i ${tone(seconds)} -c:v libx264 -g 20 -pix_fmt yuv420p -c:a aac`;
}

interface SourceWorld {
  readonly addSource: (key: string, file: string) => Promise<void>;
}

/** Small sources: `clip`, `long` (several chunks), `image` and one that is broken. */
export async function addSources(world: SourceWorld, folder: string): Promise<void> {
  await world.addSource('clip', await shortClip());
  await world.addSource('long', await sample('faults-long.mp4', videoOf(19)));
  await world.addSource('image', await smallImage());
  await writeFile(join(folder, brokenSource), 'no video');
  await world.addSource(brokenSource, join(folder, brokenSource));
}

export function smallImage(): Promise<string> {
  return sample('faults.png', '-f lavfi -i testsrc2=s=320x240 -frames:v 1');
}

export function shortClip(): Promise<string> {
  return sample('faults.mp4', videoOf(3));
}

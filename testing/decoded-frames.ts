import { randomUUID } from 'node:crypto';
import { readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from './media.ts';

const width = 64;
const height = 36;
const frameBytes = width * height * 3;

/** The frames of a video as ffmpeg decodes them, small and in RGB, with their times in seconds. */
export interface DecodedFrames {
  readonly timesSec: readonly number[];
  readonly frames: readonly Buffer[];
}

/** Decodes the first video stream of a file, without repeating or leaving out a frame. */
export async function decodedFrames(path: string): Promise<DecodedFrames> {
  const file = join(tmpdir(), `reelwright-frames-${randomUUID()}`);
  const printed = 'metadata=mode=add:key=decoded:value=1,metadata=mode=print:key=decoded:file=-';
  const filters = `scale=${width}:${height}:flags=area,format=rgb24,${printed}`;
  const output = ['-map', '0:v:0', '-fps_mode', 'passthrough', '-vf', filters, '-f', 'rawvideo', file];
  try {
    const log = await runTool('ffmpeg', ['-v', 'error', '-nostdin', '-y', '-i', path, ...output]);
    const bytes = await readFile(file);
    return {
      timesSec: [...log.matchAll(/pts_time:(-?[\d.]+)/g)].map((match) => Number(match[1])),
      frames: Array.from({ length: bytes.length / frameBytes }, (_, index) =>
        bytes.subarray(index * frameBytes, (index + 1) * frameBytes),
      ),
    };
  } finally {
    await rm(file, { force: true });
  }
}

/** The mean difference of two frames, 0–255. */
export function differenceOf(one: Buffer, other: Buffer): number {
  let sum = 0;
  for (let at = 0; at < one.length; at += 1) sum += Math.abs((one[at] ?? 0) - (other[at] ?? 0));
  return sum / one.length;
}

/** Encoding and scaling alone come to about 3. */
const differenceMax = 4;

/**
 * The frames of `made` that do not show the frame of `source` that `indexOf` names, as `frame: difference`.
 *
 * @param indexOf the index in the source of a frame of the output
 */
export function wrongFrames(
  made: DecodedFrames,
  source: DecodedFrames,
  indexOf: (frame: number) => number = (frame) => frame,
): string[] {
  return made.frames.flatMap((frame, index) => {
    const expected = source.frames[Math.max(0, Math.min(indexOf(index), source.frames.length - 1))];
    const difference = expected === undefined ? 255 : differenceOf(frame, expected);
    return difference > differenceMax ? [`${index}: ${difference.toFixed(1)}`] : [];
  });
}

/** For `wrongFrames`: the frame of the source that is shown amid each frame of the output. */
export function shownAt({ timesSec }: DecodedFrames, framesPerSec: number): (frame: number) => number {
  return (frame) => timesSec.findLastIndex((time) => time <= (frame + 0.5) / framesPerSec);
}

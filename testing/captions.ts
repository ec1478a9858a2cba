import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { runTool } from './media.ts';

// CEA-608 captions (ANSI/CTA-608-E), which no program of the tests writes: pairs of bytes, one for each frame of 29.97
// a second, in the frames of an H.264 video (ATSC A/53 Part 4) or in a Scenarist file.

/** A caption that pops on and off, at most 32 ASCII characters. */
export interface Caption {
  readonly atSec: number;
  readonly untilSec: number;
  readonly text: string;
}

const frameRate = 30_000 / 1001;
type Pair = readonly [number, number];
const control = {
  load: [0x14, 0x20],
  erase: [0x14, 0x2e],
  row15: [0x14, 0x70],
  show: [0x14, 0x2f],
  hide: [0x14, 0x2c],
} as const;

/** The pairs of every caption by the number of their first frame; codes are sent twice. */
function pairsOf(captions: readonly Caption[]): Map<number, Pair[]> {
  const found = new Map<number, Pair[]>();
  for (const { atSec, untilSec, text } of captions) {
    const letters = Buffer.from(text.padEnd(text.length + (text.length % 2), ' '), 'latin1');
    const words = Array.from(
      { length: letters.length / 2 },
      (_, at) => [letters[2 * at] ?? 0, letters[2 * at + 1] ?? 0] as const,
    );
    const { load, erase, row15, show, hide } = control;
    const shown: Pair[] = [load, load, erase, erase, row15, row15, ...words, show, show];
    found.set(Math.round(atSec * frameRate) - shown.length + 1, shown);
    found.set(Math.round(untilSec * frameRate), [hide, hide]);
  }
  return found;
}

/** Bit 7 makes the number of ones odd. */
function withParity(byte: number): number {
  const ones = byte.toString(2).replaceAll('0', '').length;
  return ones % 2 === 0 ? byte | 0x80 : byte;
}

const two = (value: number) => String(Math.floor(value)).padStart(2, '0');

/** A file of Scenarist. */
export function sccOf(captions: readonly Caption[]): string {
  const lines = [...pairsOf(captions)].map(([frame, pairs]) => {
    const sec = frame / frameRate;
    const words = pairs.map((pair) => Buffer.from(pair.map(withParity)).toString('hex'));
    return `00:${two(sec / 60)}:${two(sec % 60)}:${two((sec % 1) * 30)}\t${words.join(' ')}\n`;
  });
  return `Scenarist_SCC V1.0\n\n${lines.join('\n')}`;
}

/** The message of a frame (ITU-T H.264, D.1.6) with one pair of the first field. */
function captionNal(pair: Pair): Buffer {
  const data = [0x47, 0x41, 0x39, 0x34, 0x03, 0xc1, 0xff, 0xfc, ...pair.map(withParity), 0xff];
  const payload = [0xb5, 0x00, 0x31, ...data];
  return Buffer.from([0, 0, 0, 1, 6, 4, payload.length, ...payload, 0x80]);
}

/** Adds captions to H.264 in Annex B with one slice for each frame, in the order of showing. */
function withCaptions(h264: Buffer, captions: readonly Caption[]): Buffer {
  const pairs = new Map<number, Pair>();
  for (const [first, list] of pairsOf(captions)) for (const [at, pair] of list.entries()) pairs.set(first + at, pair);
  const parts: Buffer[] = [];
  let [frame, from] = [0, 0];
  for (let at = h264.indexOf('\0\0\x01', 0, 'latin1'); at >= 0; at = h264.indexOf('\0\0\x01', at + 3, 'latin1')) {
    const type = (h264[at + 3] ?? 0) & 0x1f;
    if (type !== 1 && type !== 5) continue;
    parts.push(h264.subarray(from, at), captionNal(pairs.get(frame) ?? [0, 0]));
    [frame, from] = [frame + 1, at];
  }
  return Buffer.concat([...parts, h264.subarray(from)]);
}

const ffmpeg = (line: string, cwd: string) => runTool('ffmpeg', ['-v', 'error', '-y', ...line.split(' ')], cwd);

/**
 * A video of 128 × 72 with captions inside of its frames, `args` (codecs and name) as ffmpeg takes them, in `folder`.
 */
export async function captionedVideo(folder: string, captions: readonly Caption[], seconds: number, args: string) {
  const work = await mkdtemp(join(tmpdir(), 'reelwright-captions-'));
  try {
    const encoder = '-c:v libx264 -preset ultrafast -x264-params threads=1 -pix_fmt yuv420p';
    await ffmpeg(`-f lavfi -i testsrc2=s=128x72:r=30000/1001:d=${seconds} ${encoder} plain.h264`, work);
    await writeFile(join(work, 'cc.h264'), withCaptions(await readFile(join(work, 'plain.h264')), captions));
    const tone = `-f lavfi -i sine=r=48000:d=${seconds}`;
    await ffmpeg(`-r 30000/1001 -i ${join(work, 'cc.h264')} ${tone} -map 0 -map 1 ${args}`, folder);
  } finally {
    await rm(work, { recursive: true });
  }
}

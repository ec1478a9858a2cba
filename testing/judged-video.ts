import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect } from 'vitest';
import { runTool } from './media.ts';
import { wholeTrack } from './runner.ts';
import { refusal, transcode } from './transcode.ts';
import type { CorpusVideo, Quarter } from './video-corpus.ts';

// Sources of the corpus through the real runner, judged by decoded frames and samples.

const sampleRate = 8000;

/** The quarter's colour, by the channels that are lit. */
function colourOf([red = 0, green = 0, blue = 0]: readonly number[]): Quarter | 'black' | 'another' {
  const lit = [red, green, blue].map((value) => (value > 90 ? 1 : 0)).join('');
  const names: Record<string, Quarter | 'black'> = {
    '000': 'black',
    '100': 'red',
    '010': 'green',
    '001': 'blue',
    '111': 'white',
  };
  return names[lit] ?? 'another';
}

/** The quarters of each frame. */
async function framesOf(path: string, dir: string): Promise<(Quarter | 'black' | 'another')[][]> {
  const file = join(dir, 'frames.rgb');
  // In RGB first: a frame of 2 × 2 has one colour in 4:2:0.
  const filters = 'format=rgb24,scale=2:2:flags=area';
  await runTool('ffmpeg', ['-v', 'error', '-nostdin', '-y', '-i', path, '-vf', filters, '-f', 'rawvideo', file]);
  const bytes = await readFile(file);
  return Array.from({ length: bytes.length / 12 }, (_, frame) =>
    [0, 1, 2, 3].map((quarter) =>
      colourOf([...bytes.subarray(frame * 12 + quarter * 3, frame * 12 + quarter * 3 + 3)]),
    ),
  );
}

/** Seconds until the first loud sample. */
async function audioBegins(path: string, dir: string): Promise<number> {
  const file = join(dir, 'audio.pcm');
  const format = ['-ac', '1', '-ar', String(sampleRate), '-f', 's16le'];
  await runTool('ffmpeg', ['-v', 'error', '-nostdin', '-y', '-i', path, ...format, file]);
  const bytes = await readFile(file);
  const samples = new Int16Array(bytes.buffer, bytes.byteOffset, bytes.length >> 1);
  return samples.findIndex((value) => Math.abs(value) > 800) / sampleRate;
}

/** Transcodes a source of the corpus; the stream must be what is expected of it. */
export async function expectVideo({ make, expected }: Pick<CorpusVideo, 'make' | 'expected'>): Promise<void> {
  const source = await make();
  if ('code' in expected) {
    expect(await refusal(source)).toEqual([10, expected.code, false]);
    return;
  }
  const { rig, results, path, stream, warnings } = await transcode(source);
  const { width, height, rate, frames, tracks, corners, beginsAtSec } = expected;
  const found = await framesOf(path, rig.dir);
  expect({
    width: stream.width,
    height: stream.height,
    rate: stream.r_frame_rate,
    tracks: results.audio_tracks.length,
    warnings,
    corners: corners === null ? null : found.at(-1),
  }).toEqual({ width, height, rate, tracks, warnings: expected.warnings, corners });
  // Whatever the source is like, browsers play the stream, and as it is meant.
  expect(stream).toMatchObject({
    pix_fmt: 'yuv420p',
    sample_aspect_ratio: '1:1',
    color_range: 'tv',
    color_space: 'bt709',
    color_transfer: 'bt709',
    color_primaries: 'bt709',
    start_time: '0.000000',
  });
  expect(stream.side_data_list ?? []).toEqual([]);
  expect(Math.abs(found.length - frames), `${found.length} frames`).toBeLessThanOrEqual(1);
  if (beginsAtSec === null) return;
  const [num = 0, den = 1] = rate.split('/').map(Number);
  const video = (found.findIndex(([first]) => first !== 'black') * den) / num;
  const [track] = results.audio_tracks;
  const audio = track === undefined ? -1 : await audioBegins(await wholeTrack(rig, track), rig.dir);
  // Audio that is encoded may begin before the video, whose first frame is then held for that long.
  expect(Math.abs(video - beginsAtSec.video), `video at ${video}`).toBeLessThanOrEqual(0.081);
  const apart = audio - video - (beginsAtSec.audio - beginsAtSec.video);
  expect(Math.abs(apart), `audio at ${audio}`).toBeLessThanOrEqual(0.041);
}

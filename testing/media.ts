import { createHash, randomUUID } from 'node:crypto';
import { copyFile, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { extname, join, parse } from 'node:path';
import { findProgram, type ToolName } from '#platform/commands/find-program.ts';
import { runCommand } from '#platform/commands/run-command.ts';
import { madeOnce, shelf } from './made-once.ts';

// Small media for tests, made by ffmpeg once; and measurements of media by ffprobe and ffmpeg.

/** Commands take seconds; one that takes as long as this hangs. */
const hangMs = 300_000;

/** Runs a tool to its end; its stdout. */
export async function runTool(tool: ToolName, args: readonly string[], cwd?: string): Promise<string> {
  const command = { program: findProgram(tool, process.env), args };
  const outcome = await runCommand(command, {
    timeoutMs: hangMs,
    env: { PATH: process.env['PATH'] ?? '' },
    cwd,
    stdoutBytesMax: 64 * 1024 * 1024,
  });
  if (outcome.exitCode !== 0) throw new Error(`${tool} ${args.join(' ')}: ${outcome.stderrTail}`);
  return outcome.stdout;
}

/** A file that ffmpeg writes; `args` without the output. The name's extension is the container. */
export async function sample(name: string, args: string): Promise<string> {
  // Samples of which it is made are named from the shelf, whose own path may have a space and does not matter.
  const from = args.replaceAll(`${shelf.folder}/`, '').split(' ');
  const make = async (folder: string) => {
    await runTool('ffmpeg', ['-v', 'error', '-nostdin', '-y', ...from, join(folder, name)], shelf.folder);
  };
  const recipe = { name: parse(name).name, from: [name, from], code: ['testing/media.ts'], tools: ['ffmpeg'] as const };
  return join(await madeOnce(recipe, make), name);
}

/** Writes a video with a moving pattern and a tone. */
export async function makeVideo(video: {
  path: string;
  seconds: number;
  width: number;
  height: number;
}): Promise<void> {
  const { path, seconds, width, height } = video;
  const pattern = `-f lavfi -i testsrc2=size=${width}x${height}:rate=25:duration=${seconds}`;
  const tone = `-f lavfi -i sine=frequency=440:sample_rate=48000:duration=${seconds}`;
  const codecs = '-c:v libx264 -preset ultrafast -pix_fmt yuv420p -c:a aac';
  await copyFile(await sample(`moving${extname(path)}`, `${pattern} ${tone} ${codecs}`), path);
}

/** A file made from another. */
export async function changedSample(name: string, from: string, change: (bytes: Buffer) => Buffer): Promise<string> {
  const bytes = change(await readFile(from));
  // Whatever code the change reaches: its outcome alone decides.
  const digest = createHash('sha256').update(bytes).digest('hex');
  const recipe = { name: parse(name).name, from: [name, digest], code: [] };
  return join(await madeOnce(recipe, (folder) => writeFile(join(folder, name), bytes)), name);
}

/** Turns an MP4 a quarter clockwise by the matrix of its first track, as phones do; works with every ffmpeg. */
export function rotatedMp4(bytes: Buffer): Buffer {
  return orientedMp4(bytes, [0, 1, -1, 0]);
}

/** Gives an MP4 the matrix `a b c d` for its first track (x' = a·x + c·y, y' = b·x + d·y). */
export function orientedMp4(bytes: Buffer, [a, b, c, d]: readonly [number, number, number, number]): Buffer {
  const turned = Buffer.from(bytes);
  const type = turned.indexOf('tkhd', 0, 'latin1');
  // ISO 14496-12, section 8.3.2: version 0 has 40 bytes between the type and the matrix.
  const matrix = [a, b, 0, c, d, 0, 0, 0, 0x4000];
  for (const [index, value] of matrix.entries()) turned.writeInt32BE(value * 0x1_0000, type + 44 + 4 * index);
  return turned;
}

export interface ProbedStream {
  readonly codec_type: string;
  readonly codec_name: string;
  readonly profile: string;
  readonly width: number;
  readonly height: number;
  readonly pix_fmt: string;
  readonly r_frame_rate: string;
  readonly sample_aspect_ratio: string;
  readonly field_order: string;
  readonly color_space: string;
  readonly color_transfer: string;
  readonly color_primaries: string;
  readonly color_range: string;
  readonly start_time: string;
  readonly channels: number;
  readonly sample_rate: string;
  readonly nb_read_packets: string;
  readonly side_data_list?: readonly { readonly side_data_type: string }[];
}

/** The streams of a file, with their packets counted. */
export async function probeStreams(path: string): Promise<ProbedStream[]> {
  const args = ['-v', 'error', '-count_packets', '-show_streams', '-of', 'json', path];
  return (JSON.parse(await runTool('ffprobe', args)) as { streams: ProbedStream[] }).streams;
}

/** Presentation times of a file's first stream, in order, in seconds. */
export async function packetTimes(path: string): Promise<number[]> {
  const args = ['-v', 'error', '-select_streams', '0', '-show_entries', 'packet=pts_time', '-of', 'csv=p=0', path];
  const times = (await runTool('ffprobe', args)).split('\n').map(Number.parseFloat);
  return times.filter(Number.isFinite).toSorted((a, b) => a - b);
}

/**
 * How alike two videos, or images, are: 1 for equal. Frames are compared by their number, so a frame too many or too
 * few shows.
 *
 * @param filters applied to the reference, for its scale and its cut
 */
export async function similarity(path: string, reference: string, filters = 'null'): Promise<number> {
  const byNumber = 'format=yuv420p,settb=1/1000,setpts=N*40';
  const graph = `[1:v]${filters},${byNumber}[r];[0:v]${byNumber}[a];[a][r]ssim=stats_file=-`;
  const args = ['-v', 'error', '-nostdin', '-i', path, '-i', reference, '-lavfi', graph, '-f', 'null', '-'];
  const all = [...(await runTool('ffmpeg', args)).matchAll(/All:([\d.]+)/g)].map((match) => Number(match[1]));
  if (all.length === 0) throw new Error('no frame was compared');
  return all.reduce((sum, value) => sum + value, 0) / all.length;
}

/** The reference's frame of a number, from 0, as `similarity` takes it. */
export function frameNumber(number: number): string {
  return `select=eq(n\\,${number})`;
}

/** The errors that ffmpeg prints when it decodes a file; empty without errors. */
export async function decodingErrors(path: string): Promise<string> {
  const command = {
    program: findProgram('ffmpeg', process.env),
    args: ['-v', 'error', '-nostdin', '-i', path, '-f', 'null', '-'],
  };
  const { exitCode, stderrTail } = await runCommand(command, { timeoutMs: hangMs });
  return exitCode === 0 ? stderrTail : stderrTail || `exit ${exitCode}`;
}

/** The average colour of a part of an image or of a video's frame at `atSec`, `[red, green, blue]`. */
export async function colourAt(path: string, crop: string, atSec = 0): Promise<[number, number, number]> {
  const program = findProgram('ffmpeg', process.env);
  const args = ['-v', 'error', '-nostdin', '-ss', String(atSec), '-i', path, '-frames:v', '1'];
  const filters = ['-vf', `crop=${crop},scale=1:1:flags=area,format=rgb24`, '-f', 'rawvideo'];
  const out = join(tmpdir(), `reelwright-${randomUUID()}.rgb`);
  try {
    const outcome = await runCommand({ program, args: [...args, ...filters, out] }, { timeoutMs: hangMs });
    if (outcome.exitCode !== 0) throw new Error(outcome.stderrTail);
    const [red = 0, green = 0, blue = 0] = await readFile(out);
    return [red, green, blue];
  } finally {
    await rm(out, { force: true });
  }
}

/** Decrypts a CMAF track with the packager, as ffmpeg 5 cannot (cbcs). */
export async function decrypt(
  input: string,
  output: string,
  key: { kid: string; key: string },
  kind: string,
): Promise<void> {
  const descriptor = `in=${input},stream=${kind},output=${output}`;
  const keys = `label=:key_id=${key.kid}:key=${key.key}`;
  await runTool('packager', [descriptor, '--enable_raw_key_decryption', '--keys', keys]);
}

/** The type of the first coded slice of a clear H.264 segment: 5 is an IDR. */
export function firstSliceType(segment: Buffer): number | null {
  const mdat = segment.indexOf('mdat', 0, 'latin1');
  for (let at = mdat + 4; at + 5 <= segment.length; at += 4 + segment.readUInt32BE(at)) {
    const type = (segment[at + 4] ?? 0) & 0x1f;
    if (type >= 1 && type <= 5) return type;
  }
  return null;
}

/** The level of each channel of a file between two times, in dB of a full sine. */
export async function channelLevels(path: string, fromSec = 0, toSec = 3600): Promise<number[]> {
  const filters = `atrim=${fromSec}:${toSec},astats=metadata=1:measure_overall=none:measure_perchannel=RMS_level,ametadata=print:file=-`;
  const args = ['-v', 'error', '-nostdin', '-i', path, '-af', filters, '-f', 'null', '-'];
  const last = new Map<number, number>();
  for (const [, channel, level] of (await runTool('ffmpeg', args)).matchAll(/astats\.(\d+)\.RMS_level=(\S+)/g))
    last.set(Number(channel), Number(level) + 3.01);
  return [...last.values()];
}

import { createHash, randomBytes } from 'node:crypto';
import { copyFile, link, mkdir, rename, rm, stat } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, extname, join, resolve } from 'node:path';
import { videoContainers } from '#domain/media/video-containers.ts';
import type { Command } from '#platform/commands/command.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { runCommand } from '#platform/commands/run-command.ts';

// Puts the demo's sources into the source bucket, which is a folder.

export interface VideoSample {
  readonly width: number;
  readonly height: number;
  readonly frameRate: number;
  readonly durationSec: number;
}

/** The keys hold a version, since an existing sample is kept: change it with the recipe. */
const demoVideo: VideoSample = { width: 1920, height: 1080, frameRate: 30, durationSec: 12 };
const videoKey = 'sample/video-v3.mp4';
const imageKey = 'sample/image-v1.jpg';

/** A source graph of ffmpeg (`-f lavfi`) for the video of a sample. */
type VideoGraph = (sample: VideoSample) => string;

/** Test bars with a timecode: every frame differs, for tests that compare frames. */
export const testBars: VideoGraph = ({ width, height, frameRate, durationSec }) =>
  `testsrc2=size=${width}x${height}:rate=${frameRate}:duration=${durationSec}`;

/** A flight into a fractal in drifting colours, computed at half the size, which takes a quarter of the time. */
const zoom: VideoGraph = ({ width, height, frameRate, durationSec }) => {
  const half = `size=${width / 2}x${height / 2}:rate=${frameRate}`;
  const frames = frameRate * durationSec;
  const colours = 'n=4:c0=0x0b1d3a:c1=0x7b3f8c:c2=0xf08a5d:c3=0x2a9d8f:seed=7:speed=0.02';
  return [
    `mandelbrot=${half}:start_scale=1.6:end_scale=0.08:end_pts=${frames}:maxiter=300,hue=s=0.5,format=yuv420p[fractal]`,
    `gradients=${half}:duration=${durationSec}:${colours},format=yuv420p[colours]`,
    '[colours][fractal]blend=all_mode=softlight:all_opacity=0.75:shortest=1,vignette=PI/5[blended]',
    `[blended]scale=${width}:${height}:flags=lanczos,fade=in:d=0.6,fade=out:st=${durationSec - 0.6}:d=0.6`,
  ].join(';');
};

const lavfi = (source: string) => ['-f', 'lavfi', '-i', source];

interface Captions {
  /** ISO 639-2. */
  readonly language: string;
  /** One after the other, each for four seconds. */
  readonly lines: readonly string[];
}

const demoCaptions: readonly Captions[] = [
  {
    language: 'eng',
    lines: ['Two audio languages …', '… and two of captions.', 'Move over the time line for previews.'],
  },
  { language: 'deu', lines: ['Ton in zwei Sprachen …', '… und Untertitel in zweien.', 'Die Zeitleiste zeigt Bilder.'] },
];

/** A time of SubRip under a minute. */
const captionTime = (sec: number) => `00:00:${String(sec).padStart(2, '0')},000`;

/** SubRip as an input of ffmpeg, without a file. */
function captionInput({ lines }: Captions): string[] {
  const cues = lines.map(
    (line, index) => `${index + 1}\n${captionTime(index * 4)} --> ${captionTime(index * 4 + 4)}\n${line}\n`,
  );
  return ['-f', 'srt', '-i', `data:text/plain;base64,${Buffer.from(cues.join('\n')).toString('base64')}`];
}

/**
 * A moving video and two audio tracks in two languages, each beeping once a second at its own pitch; and captions.
 */
export function videoCommand(
  ffmpeg: string,
  sample: VideoSample,
  graph: VideoGraph = zoom,
  captions: readonly Captions[] = [],
): Command {
  const { durationSec } = sample;
  return {
    program: ffmpeg,
    args: [
      ['-nostdin', '-v', 'error', '-y'],
      lavfi(graph(sample)),
      lavfi(`sine=frequency=220:beep_factor=4:sample_rate=48000:duration=${durationSec}`),
      lavfi(`sine=frequency=330:beep_factor=3:sample_rate=48000:duration=${durationSec}`),
      captions.flatMap(captionInput),
      ['-map', '0:v', '-map', '1:a', '-map', '2:a'],
      captions.flatMap(({ language }, index) => [
        '-map',
        `${3 + index}:s`,
        `-metadata:s:s:${index}`,
        `language=${language}`,
      ]),
      captions.length === 0 ? [] : ['-c:s', 'mov_text'],
      ['-c:v', 'libx264', '-preset', 'veryfast', '-crf', '17', '-pix_fmt', 'yuv420p'],
      ['-c:a', 'aac', '-b:a', '160k', '-ac', '2'],
      ['-metadata:s:a:0', 'language=eng', '-metadata:s:a:0', 'title=English'],
      ['-metadata:s:a:1', 'language=deu', '-metadata:s:a:1', 'title=Deutsch'],
      ['-disposition:a:0', 'default', '-disposition:a:1', '0'],
      ['-movflags', '+faststart', '-f', 'mp4'],
    ].flat(),
  };
}

/** An image with detail at every scale. */
function imageCommand(ffmpeg: string): Command {
  return {
    program: ffmpeg,
    args: [
      ['-nostdin', '-v', 'error', '-y'],
      ['-f', 'lavfi', '-i', 'mandelbrot=size=2400x1600:start_scale=1.2:maxiter=400', '-frames:v', '1'],
      ['-q:v', '3', '-pix_fmt', 'yuvj444p', '-f', 'image2', '-update', '1'],
    ].flat(),
  };
}

/** What is made of a source: a stream with cover and preview, a stream of audio alone, or images. */
export type SourceKind = 'video' | 'audio' | 'image';

/** Object keys of the sources, by their kind. */
export type Sources = Readonly<Partial<Record<SourceKind, string>>>;

interface MakeOptions {
  /** The folder of the source bucket. */
  readonly bucket: string;
  /** Path of the user's file, used instead of the sample of its kind. */
  readonly input: string | undefined;
  readonly env: NodeJS.ProcessEnv;
  readonly signal: AbortSignal;
  readonly say: (line: string) => void;
}

/** Puts the sources into the bucket. Existing samples are kept. */
export async function makeSources({ bucket, input, env, signal, say }: MakeOptions): Promise<Sources> {
  const ffmpeg = findProgram('ffmpeg', env);
  const make = async (key: string, command: Command, what: string) => {
    await makeSample({ file: join(bucket, key), command, signal, onStart: () => say(`making a sample ${what}`) });
    return key;
  };
  const { width, height, durationSec } = demoVideo;
  const madeImage = () => make(imageKey, imageCommand(ffmpeg), 'image: 2400×1600');
  if (input !== undefined && input !== '') {
    const { kind, key } = await takeInput(input, { bucket, env, signal });
    // A video shows what images are like too; a photo or a song is what its owner wants to see.
    return kind === 'video' ? { video: key, image: await madeImage() } : { [kind]: key };
  }
  return {
    video: await make(
      videoKey,
      videoCommand(ffmpeg, demoVideo, zoom, demoCaptions),
      `video: ${durationSec} s, ${width}×${height}, two languages`,
    ),
    image: await madeImage(),
  };
}

/** Makes `file` unless it exists: runs `command` with an output path appended, then renames the complete output. */
export async function makeSample(o: {
  readonly file: string;
  readonly command: Command;
  readonly signal: AbortSignal;
  readonly onStart?: () => void;
}): Promise<void> {
  if ((await stat(o.file).catch(() => null))?.isFile() === true) return;
  o.onStart?.();
  await mkdir(dirname(o.file), { recursive: true });
  const part = `${o.file}.${randomBytes(4).toString('hex')}.part`;
  try {
    const command = { ...o.command, args: [...o.command.args, part] };
    const outcome = await runCommand(command, { signal: o.signal, timeoutMs: 300_000 });
    if (outcome.exitCode !== 0) throw new Error(`ffmpeg could not make ${basename(o.file)}: ${outcome.stderrTail}`);
    await rename(part, o.file);
  } finally {
    await rm(part, { force: true });
  }
}

/**
 * Puts the user's file into the bucket, by a hard link or, across file systems, by a copy. The key keeps only the
 * extension of the file's name.
 *
 * @returns the object key, and what the file is
 */
async function takeInput(
  input: string,
  { bucket, env, signal }: Pick<MakeOptions, 'bucket' | 'env' | 'signal'>,
): Promise<{ kind: SourceKind; key: string }> {
  const path = resolve(input.startsWith('~/') ? join(homedir(), input.slice(2)) : input);
  const found = await stat(path).catch(() => null);
  if (found === null) throw new Error(`INPUT: the file ${path} does not exist`);
  if (!found.isFile() || found.size === 0) throw new Error(`INPUT: ${path} is empty or not a regular file`);
  const kind = await kindOf(path, findProgram('ffprobe', env), signal);
  const extension = /^\.[a-z0-9]{1,8}$/.exec(extname(path).toLowerCase())?.[0] ?? '.bin';
  const name = createHash('sha256').update(`${path}:${found.size}:${found.mtimeMs}`).digest('hex').slice(0, 16);
  const key = `input/${name}${extension}`;
  const file = join(bucket, key);
  await mkdir(dirname(file), { recursive: true });
  await rm(file, { force: true });
  await link(path, file).catch(() => copyFile(path, file));
  return { kind, key };
}

/** Files that are images by their names, also where ffprobe would see a video of one frame. */
const imageName = /\.(?:jpe?g|png|webp|avif|hei[cf]|tiff?|bmp|svg|jxl)$/i;

/** @throws Error that says what is wrong when the file has neither video nor audio that ffprobe can read */
async function kindOf(path: string, ffprobe: string, signal: AbortSignal): Promise<SourceKind> {
  if (imageName.test(path)) return 'image';
  const shown = ['-show_entries', 'stream=codec_type:stream_disposition=attached_pic', '-of', 'json'];
  const command = { program: ffprobe, args: ['-v', 'error', ...shown, path] };
  const { exitCode, stdout } = await runCommand(command, { signal, timeoutMs: 30_000 });
  if (exitCode !== 0) throw new Error(`INPUT: ${path} is not a media file. Supported containers: ${videoContainers}`);
  const { streams = [] } = JSON.parse(stdout) as { streams?: readonly ProbedStream[] };
  // The cover of a song is an attached image.
  if (streams.some(({ codec_type: type, disposition }) => type === 'video' && disposition?.attached_pic !== 1))
    return 'video';
  if (streams.some(({ codec_type: type }) => type === 'audio')) return 'audio';
  throw new Error(`INPUT: ${path} has no video, audio or image; give a file that has one of them`);
}

interface ProbedStream {
  readonly codec_type?: string;
  readonly disposition?: { readonly attached_pic?: number };
}

import { randomBytes } from 'node:crypto';
import { mkdir, rename, rm, stat } from 'node:fs/promises';
import { basename, dirname, join } from 'node:path';
import type { Command } from '#platform/commands/command.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import { runCommand } from '#platform/commands/run-command.ts';
import { type SourceKind, takeInput } from './input.ts';

// Puts the demo's sources into the source bucket, which is a folder.

export interface VideoSample {
  readonly width: number;
  readonly height: number;
  readonly frameRate: number;
  readonly durationSec: number;
}

/** The keys hold a version, since an existing sample is kept: change it with the recipe. */
const demoVideo: VideoSample = { width: 1280, height: 720, frameRate: 24, durationSec: 24 };
const videoKey = 'sample/video-v4.mp4';
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

/** The parts of a sample beside its video. */
export interface Extras {
  /** Sources of ffmpeg for the English and the German audio. */
  readonly audio?: readonly [string, string];
  readonly captions?: readonly Captions[];
  /** Titles of chapters of equal length. */
  readonly chapters?: readonly string[];
}

/** Four chords, each for six seconds, that swell and fade: one an octave below the other. */
const chords = (octave: number) => {
  const notes = [
    [220, 277.18, 329.63],
    [174.61, 220, 261.63],
    [130.81, 164.81, 196],
    [196, 246.94, 293.66],
  ];
  const waves = notes.map((tones, index) => {
    const from = index * 6;
    const chord = tones.map((tone) => `sin(2*PI*${tone * octave}*t)`).join('+');
    return `between(t,${from},${from + 6})*sin(PI*(t-${from})/6)*(${chord})`;
  });
  return `aevalsrc=exprs='0.15*(${waves.join('+')})':sample_rate=48000:duration=24`;
};

export const demoExtras: Extras = {
  audio: [chords(1), chords(0.5)],
  captions: [
    {
      language: 'eng',
      lines: [
        'Two audio languages …',
        '… and two of captions.',
        'Move over the time line for previews.',
        'It has three chapters.',
        'Kill a worker while it encodes:',
        'another one goes on.',
      ],
    },
    {
      language: 'deu',
      lines: [
        'Ton in zwei Sprachen …',
        '… und Untertitel in zweien.',
        'Die Zeitleiste zeigt Bilder.',
        'Es gibt drei Kapitel.',
        'Ein Worker endet beim Kodieren:',
        'ein anderer macht weiter.',
      ],
    },
  ],
  chapters: ['The coast', 'The bay', 'The spiral'],
};

/** A time of SubRip under a minute. */
const captionTime = (sec: number) => `00:00:${String(sec).padStart(2, '0')},000`;

/** SubRip as an input of ffmpeg, without a file. */
function captionInput({ lines }: Captions): string[] {
  const cues = lines.map(
    (line, index) => `${index + 1}\n${captionTime(index * 4)} --> ${captionTime(index * 4 + 4)}\n${line}\n`,
  );
  return ['-f', 'srt', '-i', textInput(cues.join('\n'))];
}

const textInput = (text: string) => `data:text/plain;base64,${Buffer.from(text).toString('base64')}`;

/** Chapters as an input of ffmpeg. */
function chapterInput(titles: readonly string[], durationSec: number): string[] {
  const startOf = (index: number) => Math.round((1000 * durationSec * index) / titles.length);
  const blocks = titles.map(
    (title, index) =>
      `[CHAPTER]\nTIMEBASE=1/1000\nSTART=${startOf(index)}\nEND=${startOf(index + 1)}\ntitle=${title}\n`,
  );
  return ['-f', 'ffmetadata', '-i', textInput(`;FFMETADATA1\n${blocks.join('')}`)];
}

const beeps = (frequency: number, factor: number, durationSec: number) =>
  `sine=frequency=${frequency}:beep_factor=${factor}:sample_rate=48000:duration=${durationSec}`;

/**
 * A moving video, captions, chapters, and two audio tracks in two languages, each by default beeping once a second at
 * its own pitch.
 */
export function videoCommand(
  ffmpeg: string,
  sample: VideoSample,
  graph: VideoGraph = zoom,
  { audio, captions = [], chapters = [] }: Extras = {},
): Command {
  const { durationSec } = sample;
  const [english, german] = audio ?? [beeps(220, 4, durationSec), beeps(330, 3, durationSec)];
  return {
    program: ffmpeg,
    args: [
      ['-nostdin', '-v', 'error', '-y'],
      lavfi(graph(sample)),
      lavfi(english),
      lavfi(german),
      captions.flatMap(captionInput),
      chapters.length === 0 ? [] : chapterInput(chapters, durationSec),
      ['-map', '0:v', '-map', '1:a', '-map', '2:a'],
      captions.flatMap(({ language }, index) => [
        '-map',
        `${3 + index}:s`,
        `-metadata:s:s:${index}`,
        `language=${language}`,
      ]),
      captions.length === 0 ? [] : ['-c:s', 'mov_text'],
      chapters.length === 0 ? [] : ['-map_chapters', String(3 + captions.length)],
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
      videoCommand(ffmpeg, demoVideo, zoom, demoExtras),
      `video: ${durationSec} s, ${width}×${height}, two languages, three chapters`,
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

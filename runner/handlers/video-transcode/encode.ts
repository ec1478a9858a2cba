import { mkdir, rm, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';
import { isJobProblem, KnownProblem } from '#domain/errors.ts';
import { sourceFoundSchema, type Warning, warningsSchema } from '#domain/job-types/shared-results.ts';
import { type AudioPlan, planAudio } from '#domain/media/audio-plan.ts';
import { audioSamplesFor, framesIn, framesSec, type Grid, gridOf } from '#domain/media/grid.ts';
import { inListingOrder, keepWorthwhile, planLadder, type Rung } from '#domain/media/ladder.ts';
import { places, type StepContext } from '../../context.ts';
import { type Source, sourceFound } from '../../source/examine.ts';
import { ProgressReader } from '../../tools/ffmpeg.ts';
import { runTool } from '../../tools/run-tool.ts';
import { encodeAudioCommand, encodeVideoCommand, tooManyErrorsExit } from './command.ts';

const size = z.int().positive();
const videoTrackSchema = z.object({
  id: z.string().regex(/^r\d+_h264$/),
  width: size,
  height: size,
  bitrateMax: size,
});
const audioTrackSchema = z.object({
  id: z.string().regex(/^audio_[A-Za-z0-9-]+_aac_2ch(_\d+)?$/),
  language: z.string().nullable(),
  name: z.string(),
  role: z.string(),
  isDefault: z.boolean(),
});

/** What encoding left in the workspace: a fragmented MP4 for each track, in the order in which it is listed. */
export const encodedSchema = z.object({
  video: z.array(videoTrackSchema).min(1),
  audio: z.array(audioTrackSchema),
  /** Frames of every rung, and the grid that they are on. */
  frames: size,
  grid: z.object({ rate: z.object({ num: size, den: size }), gopFrames: size, segmentFrames: size }),
  source: sourceFoundSchema,
  warnings: warningsSchema,
});
export type Encoded = z.infer<typeof encodedSchema>;

/** The file of a track in the workspace, before it is packaged. */
export function encodedPlace(kind: 'video' | 'audio', id: string): string {
  return join(places.made, kind, `${id}.mp4`);
}

/** An encoder that has written nothing for this long hangs; a slow one writes a line of progress all the same. */
const silenceMsMax = 5 * 60_000;
const timeoutMsBase = 15 * 60_000;
/** Real time a second of source may take: eight rungs' worth on a slow core. */
const timeoutMsPerSec = 60_000;
const videoShare = 0.9;
/** A stream may end this much before its container says; more is damage (media.md, "Odd sources"). */
const missingShareMax = 0.02;
const badFramesShareMax = 0.05;

const undecodable = { code: 'corrupt_input', message: 'The source is damaged: it cannot be decoded.' } as const;

/**
 * Encodes every rung and every audio track of a source into the workspace.
 *
 * @param onFraction called with how much is done, 0–1
 * @throws KnownProblem `corrupt_input`, `resource_exhausted`, `deadline_exceeded`, …
 */
export async function encodeStream(
  source: Source,
  context: StepContext,
  onFraction: (fraction: number) => void,
): Promise<Encoded> {
  for (const kind of ['video', 'audio'])
    await mkdir(context.workspace.at(join(places.made, kind)), { recursive: true });
  const grid = gridOf(source.video.rate, context.profile);
  const rungs = planLadder(source.video, context.profile);
  const video = await encodeVideo(source, grid, rungs, context, (fraction) => onFraction(fraction * videoShare));
  const audio = await encodeAudio(source, framesSec(video.frames, grid.rate), context, (fraction) =>
    onFraction(videoShare + fraction * (1 - videoShare)),
  );
  const kept = await dropCloseRungs(rungs, video.frames, grid, context);
  return {
    video: inListingOrder(kept, context.profile).map(({ id, width, height, bitrateMax }) => ({
      id,
      width,
      height,
      bitrateMax,
    })),
    audio: audio.tracks.map(({ id, language, name, role, isDefault }) => ({ id, language, name, role, isDefault })),
    frames: video.frames,
    grid,
    source: sourceFound(source),
    warnings: [...source.warnings, ...video.warnings, ...audio.warnings],
  };
}

/** Sound that outlasts the picture by more than this is heard to its end, over the last picture. */
const overhangSecMin = 0.1;

/** Frames that the last picture is held for sound that goes on after it. */
function heldFramesOf({ video, durationSec }: Source): number {
  const overhangSec = durationSec - video.endSec;
  return overhangSec > overhangSecMin ? framesIn(overhangSec, video.rate) : 0;
}

async function encodeVideo(
  source: Source,
  grid: Grid,
  rungs: readonly Rung[],
  context: StepContext,
  onFraction: (fraction: number) => void,
): Promise<{ frames: number; warnings: Warning[] }> {
  const outputs = rungs.map((track) => ({ track, path: encodedPlace('video', track.id) }));
  const { profile } = context;
  const heldFrames = heldFramesOf(source);
  const encode = { source, grid, heldFrames, rungs: outputs, profile };
  const progress = new ProgressReader((sec) => onFraction(source.durationSec > 0 ? sec / source.durationSec : 0));
  let badFrames = 0;
  await runTool(
    encodeVideoCommand(context.program('ffmpeg'), encode),
    {
      timeoutMs: timeoutMsBase + source.durationSec * timeoutMsPerSec,
      silenceMsMax,
      failure: undecodable,
      failureOfExit: { [tooManyErrorsExit]: undecodable },
      onStdoutLine: progress.line,
      onStderrLine: (line) => {
        // ffmpeg's one way to say that a frame was concealed.
        if (line.includes('corrupt decoded frame')) badFrames += 1;
      },
    },
    context,
  );
  const { frames } = progress;
  if (frames === 0) throw new KnownProblem(undecodable.code, undecodable.message);
  return { frames, warnings: damageWarnings({ source, frames, heldFrames, badFrames, grid }) };
}

/** What the frames that came out say of the source: warnings, or that it is beyond repair. */
function damageWarnings(found: {
  source: Source;
  frames: number;
  heldFrames: number;
  badFrames: number;
  grid: Grid;
}): Warning[] {
  const { source, frames, heldFrames, badFrames, grid } = found;
  const warnings: Warning[] = [];
  const expected = framesIn(source.video.endSec, grid.rate) + heldFrames;
  const missingShare = source.isDurationPromised ? 1 - frames / expected : 0;
  // A frame or two are a matter of rounding in a source that is short.
  if (missingShare > missingShareMax && expected - frames > 2) {
    const seconds = framesSec(expected - frames, grid.rate).toFixed(1);
    throw new KnownProblem('corrupt_input', `The source is cut off: ${seconds} s of its video are missing.`);
  }
  if (badFrames / frames > badFramesShareMax) {
    throw new KnownProblem('corrupt_input', `The source is damaged: ${badFrames} frames could not be decoded whole.`);
  }
  if (badFrames > 0) {
    warnings.push({ code: 'damaged_frames', message: `${badFrames} frames of the source are damaged.` });
  }
  if (missingShare > missingShareMax / 2 && expected - frames > 2) {
    warnings.push({ code: 'shorter_than_stated', message: 'The source ends before its container says.' });
  }
  return warnings;
}

async function encodeAudio(
  source: Source,
  durationSec: number,
  context: StepContext,
  onFraction: (fraction: number) => void,
): Promise<{ tracks: AudioPlan[]; warnings: Warning[] }> {
  const { tracksMax } = context.profile.audio;
  const planned = planAudio(source.audio, tracksMax);
  const warnings: Warning[] = [];
  if (source.audio.length > tracksMax) {
    const message = `The source has ${source.audio.length} audio tracks; the first ${tracksMax} were taken.`;
    warnings.push({ code: 'audio_tracks_dropped', message });
  }
  if (planned.length === 0) return { tracks: [], warnings };
  const encode = (tracks: readonly AudioPlan[]) => encodeAudioTracks(source, tracks, durationSec, context, onFraction);
  try {
    await encode(planned);
    return { tracks: planned, warnings };
  } catch (error) {
    if (!isJobProblem(error) || error.code !== undecodable.code) throw error;
    context.log.warn({ err: error }, 'audio is encoded track by track, since one of them cannot be decoded');
  }
  const usable: number[] = [];
  for (const track of planned) {
    try {
      await encode([track]);
      usable.push(track.streamIndex);
    } catch (error) {
      if (!isJobProblem(error) || error.code !== undecodable.code) throw error;
      const message = `Audio stream ${track.streamIndex} cannot be decoded and was left out.`;
      warnings.push({ code: 'audio_track_skipped', message });
    }
  }
  // Planned anew, so that there is one default among those that are left. Ids may change, and files with them.
  const left = planAudio(
    source.audio.filter(({ streamIndex }) => usable.includes(streamIndex)),
    tracksMax,
  );
  if (left.length > 0) await encode(left);
  return { tracks: left, warnings };
}

async function encodeAudioTracks(
  source: Source,
  tracks: readonly AudioPlan[],
  durationSec: number,
  context: StepContext,
  onFraction: (fraction: number) => void,
): Promise<void> {
  const { profile } = context;
  const samples = audioSamplesFor(durationSec, profile.audio.sampleRate);
  const outputs = tracks.map((track) => ({ track, path: encodedPlace('audio', track.id) }));
  const progress = new ProgressReader((sec) => onFraction(sec / durationSec));
  await runTool(
    encodeAudioCommand(context.program('ffmpeg'), { source, tracks: outputs, samples, profile }),
    {
      timeoutMs: timeoutMsBase + durationSec * timeoutMsPerSec,
      silenceMsMax,
      failure: undecodable,
      onStdoutLine: progress.line,
    },
    context,
  );
}

/** Measures what the rungs cost and removes those that cost nearly as much as the one above. */
async function dropCloseRungs(
  rungs: readonly Rung[],
  frames: number,
  grid: Grid,
  context: StepContext,
): Promise<Rung[]> {
  const durationSec = framesSec(frames, grid.rate);
  const measured: (Rung & { averageBitrate: number })[] = [];
  for (const rung of rungs) {
    const { size: bytes } = await stat(context.workspace.at(encodedPlace('video', rung.id)));
    measured.push({ ...rung, averageBitrate: (bytes * 8) / durationSec });
  }
  const kept = keepWorthwhile(measured);
  for (const rung of measured.filter((each) => !kept.includes(each))) {
    context.log.info(
      { rung: rung.id, averageBitrate: rung.averageBitrate },
      'rung dropped: it costs as much as the next',
    );
    await rm(context.workspace.at(encodedPlace('video', rung.id)));
  }
  return kept;
}

import { rm } from 'node:fs/promises';
import { isJobProblem } from '#domain/errors.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import { type AudioPlan, planAudio } from '#domain/media/audio-plan.ts';
import { audioSamplesFor } from '#domain/media/grid.ts';
import type { StepContext } from '../../context/step-context.ts';
import { ProgressReader } from '../../tools/ffmpeg.ts';
import { runTool } from '../../tools/run-tool.ts';
import { encodeAudioCommand, type AudioInput } from './audio-command.ts';
import { type AudioWork, makeSteady, tracksOfOtherLength } from './steady-audio.ts';
import { encodedFile, type MeasuredAudio } from './encoded.ts';
import { encodeTimeoutMs, silenceMsMax, undecodable } from './encoder-limits.ts';
import { gainsOf, loudnessWarnings, withLoudness } from './loudness.ts';

/** Encodes and measures the audio tracks of the source. One that cannot be decoded is left out, with a warning. */
export async function encodeAudio(
  work: AudioWork,
  context: StepContext,
): Promise<{ tracks: MeasuredAudio[]; warnings: Warning[] }> {
  const { tracks, warnings } = await encodeDecodable(work, context);
  const timeoutMs = encodeTimeoutMs(work.durationSec, work.packets.packets);
  const measured = await withLoudness(tracks, timeoutMs, context);
  return {
    tracks: measured,
    warnings: [...warnings, ...loudnessWarnings(measured, context.profile.audio.loudnessLufs)],
  };
}

async function encodeDecodable(
  work: AudioWork,
  context: StepContext,
): Promise<{ tracks: AudioPlan[]; warnings: Warning[] }> {
  const { audio } = work.source;
  const { tracksMax } = context.profile.audio;
  const planned = planAudio(audio, context.profile.audio);
  const warnings: Warning[] = [];
  if (audio.length > tracksMax) {
    const message = `The source has ${audio.length} audio tracks; the first ${tracksMax} were taken.`;
    warnings.push({ code: 'audio_tracks_dropped', message });
  }
  if (planned.length === 0) return { tracks: planned, warnings };
  const together = await tryEncode(planned, work, context);
  if (together !== null) return { tracks: planned, warnings: [...warnings, ...together] };
  // One stream may have failed the others, so each is tried by itself.
  const usable: number[] = [];
  for (const streamIndex of new Set(planned.map((track) => track.streamIndex))) {
    const ofStream = planned.filter((track) => track.streamIndex === streamIndex);
    if ((await tryEncode(ofStream, work, context)) !== null) {
      usable.push(streamIndex);
    } else {
      const message = `Audio stream ${streamIndex} cannot be decoded and was left out.`;
      warnings.push({ code: 'audio_track_skipped', message });
    }
  }
  // Planned again, so that one of the remaining tracks is the default. Ids may change, and file names with them.
  const left = planAudio(
    audio.filter(({ streamIndex }) => usable.includes(streamIndex)),
    context.profile.audio,
  );
  if (left.length > 0) warnings.push(...(await encodeTracks(left, work, context)));
  return { tracks: left, warnings };
}

/** Encodes `tracks`. @returns warnings; null when one of the tracks cannot be decoded */
async function tryEncode(
  tracks: readonly AudioPlan[],
  work: AudioWork,
  context: StepContext,
): Promise<Warning[] | null> {
  try {
    return await encodeTracks(tracks, work, context);
  } catch (error) {
    if (!isJobProblem(error) || error.code !== undecodable.code) throw error;
    context.log.warn({ err: error, streams: tracks.map(({ streamIndex }) => streamIndex) }, 'audio cannot be decoded');
    return null;
  }
}

/**
 * Encodes `tracks`, each as long as the video. A track that is not has changed its channels or its sample rate on the
 * way: then all are encoded again from a copy in which they do not.
 */
async function encodeTracks(tracks: readonly AudioPlan[], work: AudioWork, context: StepContext): Promise<Warning[]> {
  await encodeFrom(work.source, tracks, work, context);
  if ((await tracksOfOtherLength(tracks, work, context)).length === 0) return [];
  const steady = await makeSteady(tracks, work, context);
  await encodeFrom(steady.source, steady.tracks, work, context);
  await rm(context.workspace.at(steady.source.path));
  return (await tracksOfOtherLength(tracks, work, context)).map(({ id, sec }) => {
    const message = `The track ${id} is ${sec.toFixed(2)} s long and not ${work.durationSec.toFixed(2)}.`;
    return { code: 'audio_length_differs', message };
  });
}

async function encodeFrom(
  source: AudioInput,
  tracks: readonly AudioPlan[],
  { durationSec, packets, onFraction }: AudioWork,
  context: StepContext,
): Promise<void> {
  const { profile } = context;
  const samples = audioSamplesFor(durationSec, profile.audio.sampleRate);
  const timeoutMs = encodeTimeoutMs(durationSec, packets.packets);
  const gains = await gainsOf({ source, tracks, samples, timeoutMs }, context);
  const outputs = tracks.map((track, index) => ({
    track,
    path: encodedFile('audio', track.id),
    gainDb: gains[index] ?? 0,
  }));
  const progress = new ProgressReader((sec) => onFraction(Math.min(1, sec / durationSec)));
  await runTool(
    encodeAudioCommand(context.program('ffmpeg'), { source, tracks: outputs, samples, profile }),
    { timeoutMs, silenceMsMax, failure: undecodable, onStdoutLine: progress.line },
    context,
  );
}

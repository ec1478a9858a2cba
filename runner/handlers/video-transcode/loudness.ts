import type { Warning } from '#domain/job-types/shared-results.ts';
import type { Loudness } from '#domain/job-types/video-transcode.ts';
import type { AudioPlan } from '#domain/media/audio-plan.ts';
import type { StepContext } from '../../context/step-context.ts';
import { inputArgs, quietArgs } from '../../tools/ffmpeg.ts';
import { runTool } from '../../tools/run-tool.ts';
import { measureAudioCommand, measureName, measureOptions } from './audio-command.ts';
import { encodedFile, type MeasuredAudio } from './encoded.ts';
import { silenceMsMax, undecodable } from './encoder-limits.ts';

const failure = { code: 'internal', message: 'The loudness of a track could not be measured.' } as const;
/** The value that ebur128 prints of a track in which no block is louder than the gate of −70 LUFS. */
const gateLufs = -70;
/** Peaks that a gain may reach, in dB below full scale: EBU R 128 allows −1, and AAC adds a little. */
const peakDbMax = -1.5;
/** A track that misses the loudness of its profile by more has a warning. */
const toleranceLu = 1;

/** Measures the encoded audio tracks by EBU R 128. */
export async function withLoudness(
  tracks: readonly AudioPlan[],
  timeoutMs: number,
  context: StepContext,
): Promise<MeasuredAudio[]> {
  const measured = [];
  for (const track of tracks) measured.push({ ...track, loudness: await measure(track.id, timeoutMs, context) });
  return measured;
}

async function measure(trackId: string, timeoutMs: number, context: StepContext): Promise<Loudness | null> {
  const filter = `ebur128=${measureOptions}`;
  const args = [...quietArgs, '-loglevel', 'info', ...inputArgs(encodedFile('audio', trackId)), '-af', filter];
  const command = { program: context.program('ffmpeg'), args: [...args, '-f', 'null', '-'] };
  const { stderrTail } = await runTool(command, { timeoutMs, failure }, context);
  return parseLoudness(stderrTail);
}

interface UnencodedTracks extends Omit<Parameters<typeof measureAudioCommand>[1], 'profile'> {
  readonly timeoutMs: number;
}

/**
 * The gain in dB that brings each track to the loudness of its profile; 0 where the profile has none.
 *
 * @throws KnownProblem `corrupt_input` when a stream cannot be decoded, …
 */
export async function gainsOf({ timeoutMs, ...audio }: UnencodedTracks, context: StepContext): Promise<number[]> {
  const { profile } = context;
  const target = profile.audio.loudnessLufs;
  if (target === null) return audio.tracks.map(() => 0);
  const lines: string[] = [];
  await runTool(
    measureAudioCommand(context.program('ffmpeg'), { ...audio, profile }),
    { timeoutMs, silenceMsMax, failure: undecodable, onStderrLine: (line) => lines.push(line) },
    context,
  );
  const log = lines.join('\n');
  return audio.tracks.map((_, index) => gainFor(parseLoudness(log, measureName(index)), target));
}

/**
 * The gain in dB that brings a track to `target` LUFS, as far as its peaks allow: it is the same for the whole track,
 * so that quiet and loud parts keep their distance. Silence stays as it is.
 */
export function gainFor(loudness: Loudness | null, target: number): number {
  if (loudness === null) return 0;
  const wanted = target - loudness.integrated_lufs;
  const allowed = Math.max(0, peakDbMax - loudness.true_peak_dbtp);
  return Number(Math.min(wanted, allowed).toFixed(2));
}

/** Warns of tracks that are not as loud as their profile wants them, since their peaks allow no more. */
export function loudnessWarnings(tracks: readonly MeasuredAudio[], target: number | null): Warning[] {
  if (target === null) return [];
  return tracks.flatMap(({ id, loudness }) => {
    if (loudness === null || loudness.integrated_lufs >= target - toleranceLu) return [];
    const message = `The track ${id} has ${loudness.integrated_lufs} LUFS and not ${target}: its peaks allow no more.`;
    return [{ code: 'loudness_limited', message }];
  });
}

/** Reads the last summary of the filter `name`; ffmpeg prints one for each graph that it makes, also without audio. */
export function parseLoudness(log: string, name = 'Parsed_ebur128_0'): Loudness | null {
  const summaries = [...log.matchAll(new RegExp(String.raw`\[${name} @ [^\]]*\] Summary:([^[]*)`, 'g'))];
  const found = summaries.at(-1)?.[1] ?? '';
  const summaryValue = (field: string) =>
    Number(new RegExp(String.raw`\b${field}:\s+(-?[\d.]+|-?inf)`).exec(found)?.[1]);
  const [integrated, range, peak] = ['I', 'LRA', 'Peak'].map(summaryValue);
  if (integrated === undefined || range === undefined || peak === undefined) return null;
  if (![integrated, range, peak].every(Number.isFinite) || integrated <= gateLufs) return null;
  return { integrated_lufs: integrated, range_lu: range, true_peak_dbtp: peak };
}

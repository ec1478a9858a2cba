import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isJobProblem } from '#domain/errors.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import { tidyCues } from '#domain/media/cues.ts';
import { planSubtitles, type SubtitlePlan, subtitleTracksMax } from '#domain/media/subtitle-plan.ts';
import { type StepContext, workspaceFiles } from '../../context/step-context.ts';
import { findCaptions } from '../../source/captions.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import { runTool } from '../../tools/run-tool.ts';
import { isMade } from './clear-parts.ts';
import { copyCaptionsCommand, extractCaptionsCommand, extractSubtitlesCommand } from './command.ts';
import { encodedFile } from './encoded.ts';

/** A video's subtitles have about 100 kB. */
const sizeBytesMax = 8 * 1024 * 1024;

/** A copy of the video for its captions. Its name has no characters that a filter reads as syntax. */
const captionsFile = join(workspaceFiles.made, 'captions.nut');

const failure = { code: 'corrupt_input', message: 'The subtitles cannot be decoded.' } as const;

interface Extraction {
  readonly source: VideoSource;
  /** Of the video. */
  readonly durationSec: number;
  readonly timeoutMs: number;
}

/**
 * Writes the text subtitles of a source, and the captions inside of its frames, as WebVTT. One that cannot be read is
 * left out, with a warning. None are written where the profile leaves them out of the stream.
 */
export async function extractSubtitles(
  { source, durationSec, timeoutMs }: Extraction,
  context: StepContext,
): Promise<{ tracks: SubtitlePlan[]; warnings: Warning[] }> {
  if (!isMade(context.profile.captions, context.task)) return { tracks: [], warnings: [] };
  const tracks: SubtitlePlan[] = [];
  const warnings: Warning[] = [];
  const found = [...source.subtitles, ...(await findCaptions(source, context))];
  if (found.length > subtitleTracksMax) {
    const message = `The source has ${found.length} subtitle tracks; the first ${subtitleTracksMax} were taken.`;
    warnings.push({ code: 'subtitles_left_out', message });
  }
  const planned = planSubtitles(found);
  const isInFrames = ({ streamIndex }: SubtitlePlan) => streamIndex === source.video.streamIndex;
  const streams = planned.filter((track) => !isInFrames(track));
  const extraction = { source, durationSec, timeoutMs };
  // One pass for all of them. Where a stream cannot be decoded, each is tried by itself.
  const areWritten = streams.length > 0 && (await isExtracted(streams, extraction, context));
  for (const track of planned) {
    const path = context.workspace.at(encodedFile('text', track.id));
    if ((areWritten && !isInFrames(track)) || (await isExtracted([track], extraction, context))) {
      if (await hasCues(path)) tracks.push(track);
      else await rm(path);
    } else {
      const message = `Subtitle stream ${track.streamIndex} cannot be decoded and was left out.`;
      warnings.push({ code: 'subtitles_left_out', message });
    }
  }
  return { tracks, warnings };
}

/** Writes tracks as WebVTT, in one pass; false when one of them cannot be decoded. */
async function isExtracted(
  tracks: readonly SubtitlePlan[],
  { source, durationSec, timeoutMs }: Extraction,
  context: StepContext,
): Promise<boolean> {
  const program = context.program('ffmpeg');
  const outputs = tracks.map((track) => ({ track, path: encodedFile('text', track.id) }));
  const inFrames = outputs.find(({ track }) => track.streamIndex === source.video.streamIndex);
  const { startSec } = source;
  const commands =
    inFrames === undefined
      ? [extractSubtitlesCommand(program, { source, tracks: outputs, durationSec })]
      : [
          copyCaptionsCommand(program, { source, path: captionsFile }),
          extractCaptionsCommand(program, { input: captionsFile, startSec, path: inFrames.path, durationSec }),
        ];
  try {
    for (const command of commands) await runTool(command, { timeoutMs, failure }, context);
    return true;
  } catch (error) {
    if (!isJobProblem(error) || error.code !== failure.code) throw error;
    context.log.warn(
      { err: error, streams: tracks.map(({ streamIndex }) => streamIndex) },
      'subtitles cannot be decoded',
    );
    return false;
  } finally {
    await rm(context.workspace.at(captionsFile), { force: true });
  }
}

/** Tidies a written track. @returns whether it has cues */
async function hasCues(path: string): Promise<boolean> {
  const { size } = await stat(path);
  if (size > sizeBytesMax) return false;
  const text = tidyCues(await readFile(path, 'utf8'));
  await writeFile(path, text);
  return text.includes('-->');
}

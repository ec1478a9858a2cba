import { readFile, rm, stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { isJobProblem } from '#domain/errors.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import { mergedCues, tidyCues } from '#domain/media/cues.ts';
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
  /** The length of the video. */
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
  // One pass for all of them. Where a stream cannot be decoded, or its text is not UTF-8, each is tried by itself.
  const all = streams.length > 0 ? await extract(streams, extraction, context) : null;
  for (const track of planned) {
    const path = context.workspace.at(encodedFile('text', track.id));
    const isWhole = all?.unreadCues === 0 && !isInFrames(track);
    const written = isWhole ? all : await extract([track], extraction, context);
    if (written !== null) {
      if (written.unreadCues > 0) warnings.push(await readOtherwise(track, written.unreadCues, extraction, context));
      if (await hasCues(path)) tracks.push(track);
      else await rm(path);
    } else {
      const message = `Subtitle stream ${track.streamIndex} cannot be decoded and was left out.`;
      warnings.push({ code: 'subtitles_left_out', message });
    }
  }
  return { tracks, warnings };
}

/** The encoding that Windows writes where text is not UTF-8, by the name that ffmpeg knows. */
const otherEncoding = 'CP1252';

/**
 * Reads a track again whose text is not UTF-8 in some cues, and takes these from there. The track stays as it is where
 * that cannot be done.
 */
async function readOtherwise(
  track: SubtitlePlan,
  unreadCues: number,
  extraction: Extraction,
  context: StepContext,
): Promise<Warning> {
  const { streamIndex } = track;
  const path = context.workspace.at(encodedFile('text', track.id));
  const read = await readFile(path, 'utf8').catch(() => '');
  const isPlain = extraction.source.subtitles.some((each) => each.streamIndex === streamIndex && !each.hasLengths);
  const other = isPlain ? await extract([track], { ...extraction, encoding: otherEncoding }, context) : null;
  if (other?.unreadCues === 0) {
    await writeFile(path, mergedCues(read, await readFile(path, 'utf8')));
    const message = `${unreadCues} cues of subtitle stream ${streamIndex} are not UTF-8; they were read as Windows-1252.`;
    return { code: 'subtitles_recoded', message };
  }
  await writeFile(path, read);
  const message = `${unreadCues} cues of subtitle stream ${streamIndex} are not UTF-8 and were left out.`;
  return { code: 'subtitles_left_out', message };
}

/** The message of ffmpeg about a cue that it leaves out. */
const unreadCue = 'Invalid UTF-8 in decoded subtitles text';

/** Writes tracks as WebVTT, in one pass, and counts the cues that are not text; null when a track cannot be decoded. */
async function extract(
  tracks: readonly SubtitlePlan[],
  { source, durationSec, timeoutMs, encoding }: Extraction & { readonly encoding?: string },
  context: StepContext,
): Promise<{ readonly unreadCues: number } | null> {
  const program = context.program('ffmpeg');
  const outputs = tracks.map((track) => ({ track, path: encodedFile('text', track.id) }));
  const inFrames = outputs.find(({ track }) => track.streamIndex === source.video.streamIndex);
  const { startSec } = source;
  const commands =
    inFrames === undefined
      ? [extractSubtitlesCommand(program, { source, tracks: outputs, durationSec, ...(encoding && { encoding }) })]
      : [
          copyCaptionsCommand(program, { source, path: captionsFile }),
          extractCaptionsCommand(program, { input: captionsFile, startSec, path: inFrames.path, durationSec }),
        ];
  let unreadCues = 0;
  const onStderrLine = (line: string) => {
    if (line.includes(unreadCue)) unreadCues += 1;
  };
  try {
    for (const command of commands) await runTool(command, { timeoutMs, failure, onStderrLine }, context);
    return { unreadCues };
  } catch (error) {
    if (!isJobProblem(error) || error.code !== failure.code) throw error;
    // ffmpeg fails where it leaves out most cues of a track.
    if (unreadCues > 0) return { unreadCues };
    context.log.warn(
      { err: error, streams: tracks.map(({ streamIndex }) => streamIndex) },
      'subtitles cannot be decoded',
    );
    return null;
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

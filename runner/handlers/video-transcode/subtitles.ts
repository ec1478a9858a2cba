import { readFile, rm, stat } from 'node:fs/promises';
import { isJobProblem } from '#domain/errors.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import { planSubtitles, type SubtitlePlan, subtitleTracksMax } from '#domain/media/subtitle-plan.ts';
import type { StepContext } from '../../context/step-context.ts';
import type { VideoSource } from '../../source/examine-video.ts';
import { runTool } from '../../tools/run-tool.ts';
import { extractSubtitlesCommand } from './command.ts';
import { encodedFile } from './encoded.ts';

/** A film's subtitles have about 100 kB. */
const sizeBytesMax = 8 * 1024 * 1024;

const failure = { code: 'corrupt_input', message: 'The subtitles cannot be decoded.' } as const;

/** Writes the text subtitles of a source as WebVTT. One that cannot be read is left out, with a warning. */
export async function extractSubtitles(
  { source, durationSec, timeoutMs }: { source: VideoSource; durationSec: number; timeoutMs: number },
  context: StepContext,
): Promise<{ tracks: SubtitlePlan[]; warnings: Warning[] }> {
  const tracks: SubtitlePlan[] = [];
  const warnings: Warning[] = [];
  if (source.subtitles.length > subtitleTracksMax) {
    const message = `The source has ${source.subtitles.length} subtitle tracks; the first ${subtitleTracksMax} were taken.`;
    warnings.push({ code: 'subtitles_left_out', message });
  }
  for (const track of planSubtitles(source.subtitles)) {
    const path = encodedFile('text', track.id);
    const command = extractSubtitlesCommand(context.program('ffmpeg'), { source, track, path, durationSec });
    try {
      await runTool(command, { timeoutMs, failure }, context);
      if (await hasCues(context.workspace.at(path))) tracks.push(track);
      else await rm(context.workspace.at(path));
    } catch (error) {
      if (!isJobProblem(error) || error.code !== failure.code) throw error;
      context.log.warn({ err: error, stream: track.streamIndex }, 'subtitles cannot be decoded');
      const message = `Subtitle stream ${track.streamIndex} cannot be decoded and was left out.`;
      warnings.push({ code: 'subtitles_left_out', message });
    }
  }
  return { tracks, warnings };
}

async function hasCues(path: string): Promise<boolean> {
  const { size } = await stat(path);
  return size <= sizeBytesMax && (await readFile(path, 'utf8')).includes('-->');
}

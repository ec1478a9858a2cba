import { mkdir, readFile, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { planChapters } from '#domain/media/chapters.ts';
import type { ChunkSource } from '#domain/media/chunk-plan.ts';
import { framesSec } from '#domain/media/grid.ts';
import { sheetsFilledBy } from '#domain/media/storyboard.ts';
import { type StepContext, workspaceFiles } from '../../../context/step-context.ts';
import { together } from '../../../context/together.ts';
import { sourceFound, type VideoSource } from '../../../source/examine-video.ts';
import { probeTimeoutMs, runTool } from '../../../tools/run-tool.ts';
import { isMade } from '../clear-parts.ts';
import { encodeAudio } from '../encode-audio.ts';
import { makeEncodedFolders, type PlannedStream } from '../encode.ts';
import { audioTrackOf, textTrackOf, videoTrackOf } from '../encoded.ts';
import { encodeTimeoutMs } from '../encoder-limits.ts';
import { extractSubtitles } from '../subtitles.ts';
import { cutCommand, videoSec, parseFirstTime } from './commands.ts';
import { cutsOf, type EncodePlan, encodePlanSchema } from './plan.ts';

const sourcesFolder = join(workspaceFiles.made, 'sources');

/** The source of a chunk in the workspace of `split`. */
export function chunkSourceFile(chunk: number): string {
  return join(sourcesFolder, `${chunk}.nut`);
}

function firstPacketFile(chunk: number): string {
  return join(sourcesFolder, `${chunk}.first`);
}

const cutTimeoutMs = 30 * 60_000;
const unreadable = { code: 'corrupt_input', message: 'The source cannot be cut.' } as const;
/** The share of the work that is cutting; the rest is audio and text. */
const cutShare = 0.5;

/**
 * Cuts a long video into the sources of its chunks, without decoding it, encodes its audio, and extracts its subtitles.
 *
 * @returns the plan; null for a source that stays one piece
 * @throws KnownProblem `corrupt_input`, `resource_exhausted`, …
 */
export async function splitSource(stream: PlannedStream, context: StepContext): Promise<EncodePlan | null> {
  const { unit } = context.task;
  const cuts = 'chunk_sec' in unit ? cutsOf(stream, unit.chunk_sec) : null;
  if (cuts === null || !(await cutSources(stream.source, cuts.sources, context))) return null;
  await makeEncodedFolders(context);
  const { source, grid, rungs, packets, span } = stream;
  const onFraction = (fraction: number) => context.reporter.progress(cutShare + fraction * (1 - cutShare));
  const durationSec = framesSec(span.frames, grid.rate);
  const audio = await encodeAudio({ source, durationSec, packets, onFraction }, context);
  const timeoutMs = encodeTimeoutMs(durationSec, packets.packets);
  const text = await extractSubtitles({ source, durationSec, timeoutMs }, context);
  const { crf, preset } = context.profile;
  return {
    v: 1,
    video: rungs.map(videoTrackOf),
    audio: audio.tracks.map(audioTrackOf),
    text: text.tracks.map(textTrackOf),
    frames: span.frames,
    grid,
    // One chunk makes a whole sheet.
    hasStoryboard:
      isMade(context.profile.storyboard, context.task) && sheetsFilledBy(cuts.chunks[0]?.frames ?? 0, grid) !== null,
    chapters: planChapters(source.chapters, durationSec),
    source: sourceFound(source),
    warnings: [...source.warnings, ...audio.warnings, ...text.warnings],
    chunks: [...cuts.chunks],
    // Taken off the times of the frames.
    startSec: source.startSec - source.video.shiftSec,
    // The schema leaves out what the filters of a chunk need not know.
    frame: encodePlanSchema.shape.frame.parse(source.video),
    encoding: { crf, preset },
    tools: await toolVersions(context),
  };
}

const cutsAtOnce = Math.min(8, availableParallelism());
/**
 * One ffmpeg makes the sources of several chunks, since each reads the index of the source, a third of a second for an
 * MP4 of twelve hours; at most 16, since it has two threads for each. The same on every machine, so that a video always
 * has the same sources.
 */
const chunksPerCut = (chunks: number) => Math.min(16, Math.max(2, Math.ceil(chunks / 8)));

interface NumberedSource {
  readonly chunk: number;
  readonly cut: ChunkSource;
}

/** Cuts the sources of all chunks; false, with nothing left, when one does not begin where it must. */
async function cutSources(source: VideoSource, cuts: readonly ChunkSource[], context: StepContext): Promise<boolean> {
  const { workspace, reporter } = context;
  await mkdir(workspace.at(sourcesFolder), { recursive: true });
  const numbered = cuts.map((cut, chunk) => ({ chunk, cut }));
  const size = chunksPerCut(cuts.length);
  const runs = Array.from({ length: Math.ceil(cuts.length / size) }, (_, index) =>
    numbered.slice(index * size, (index + 1) * size),
  );
  const pending = runs.values();
  let [done, isMisplaced] = [0, false];
  const cutNext = async (stoppable: StepContext) => {
    for (const run of pending) {
      if (isMisplaced) return;
      if (!(await cutRun(source, run, stoppable))) isMisplaced = true;
      done += run.length;
      reporter.progress((done / cuts.length) * cutShare);
    }
  };
  await together(context, ...Array.from({ length: cutsAtOnce }, () => cutNext));
  if (isMisplaced) await rm(workspace.at(sourcesFolder), { recursive: true });
  return !isMisplaced;
}

/** Cuts the sources of neighbouring chunks; false when one does not begin where it must. */
async function cutRun(source: VideoSource, run: readonly NumberedSource[], context: StepContext): Promise<boolean> {
  const cuts = run.map(({ chunk, cut }) => ({
    cut,
    output: chunkSourceFile(chunk),
    firstPacket: firstPacketFile(chunk),
  }));
  const { streamIndex } = source.video;
  const command = cutCommand(context.program('ffmpeg'), { ...source, streamIndex, cuts });
  await runTool(command, { timeoutMs: cutTimeoutMs, failure: unreadable }, context);
  for (const each of run) {
    const misplaced = await misplacementOf(each, source.startSec, context);
    if (misplaced === null) continue;
    if (run.length === 1) {
      context.log.info(misplaced, 'source stays one piece: cut misplaced');
      return false;
    }
    // By itself, the source of a chunk is found by seeking.
    if (!(await cutRun(source, [each], context))) return false;
  }
  return true;
}

/** Null when a chunk's source begins where it must, else what to log. */
async function misplacementOf({ chunk, cut }: NumberedSource, startSec: number, { workspace }: StepContext) {
  const firstSec = parseFirstTime(await readFile(workspace.at(firstPacketFile(chunk)), 'utf8'));
  const beginsAtSec = firstSec === null ? null : videoSec(firstSec, startSec);
  if (beginsAtSec !== null && beginsAtSec <= (cut.fromSec ?? Number.POSITIVE_INFINITY) + 1) return null;
  return { chunk, expected_sec: cut.fromSec, found_sec: beginsAtSec };
}

const unknownVersion = { code: 'internal', message: 'A tool does not print its version.' } as const;

async function toolVersions(context: StepContext): Promise<string[]> {
  const versions = [];
  for (const [tool, argument] of [
    ['ffmpeg', '-version'],
    ['packager', '--version'],
  ] as const) {
    const command = { program: context.program(tool), args: [argument] };
    const run = { timeoutMs: probeTimeoutMs, failure: unknownVersion };
    versions.push((await runTool(command, run, context)).stdout.split('\n')[0] ?? '');
  }
  return versions;
}

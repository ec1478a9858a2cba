import { mkdir, rm, stat } from 'node:fs/promises';
import { planChapters } from '#domain/media/chapters.ts';
import { framesSec, type Grid, gridOf } from '#domain/media/grid.ts';
import { inListingOrder, keepWorthwhile, planLadder, type Rung } from '#domain/media/ladder.ts';
import type { EncodingProfile } from '#domain/media/encoding-profile.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import type { StepContext } from '../../context/step-context.ts';
import { together } from '../../context/together.ts';
import { refuseTooLong, sourceFound, type VideoSource } from '../../source/examine-video.ts';
import { isCutOff } from '../../source/file-end.ts';
import { type Mastering, readMastering } from '../../source/mastering.ts';
import { type PacketScan, scanPackets } from '../../source/packet-scan.ts';
import { ceilingWarnings } from './ceiling.ts';
import { encodeAudio } from './encode-audio.ts';
import { isMade } from './clear-parts.ts';
import { encodeVideo } from './encode-video.ts';
import { encodeTimeoutMs } from './encoder-limits.ts';
import { audioTrackOf, type Encoded, encodedFile, encodedFolder, textTrackOf, videoTrackOf } from './encoded.ts';
import { beginWarnings, type FrameSpan, planFrames, shorterWarnings, silentWarnings } from './frame-span.ts';
import { tuneRungs } from './quality/tune.ts';
import { extractSubtitles } from './subtitles.ts';
import { makeStoryboard } from './storyboard.ts';

/** The share of the work that is video. */
const videoShare = 0.9;

/** A source and what its stream will be. */
export interface PlannedStream {
  readonly source: VideoSource;
  readonly grid: Grid;
  /** From small to large in each codec. */
  readonly rungs: readonly Rung[];
  /** The mastering of rungs that keep HDR; null where the source says nothing of it. */
  readonly mastering: Mastering | null;
  readonly packets: PacketScan;
  readonly span: FrameSpan;
}

/**
 * Reads every packet of a source and plans its stream.
 *
 * @throws KnownProblem `corrupt_input`, `limit_exceeded`, …
 */
export async function planStream(source: VideoSource, context: StepContext): Promise<PlannedStream> {
  const { profile } = context;
  const packets = source.packets ?? (await scanPackets(source, context));
  const grid = gridOf(source.video.rate, profile);
  const span = planFrames(source, packets);
  refuseTooLong(span.durationSec);
  const shorter = await shorterWarnings(span, () =>
    isCutOff(context.workspace.at(source.path), source.container, span.missing.share),
  );
  const ladder = planLadder(source.video, profile, source.usableCodecs);
  const { rungs, warnings } = await tuneRungs({ source, grid, frames: span.frames, rungs: ladder }, context);
  const notWhole = [...shorter, ...beginWarnings(packets), ...silentWarnings(source, packets)];
  const leftOut = [...codecWarnings(rungs, profile), ...ceilingWarnings(source, ladder, profile)];
  return {
    source: {
      ...source,
      durationSec: span.durationSec,
      warnings: [...source.warnings, ...notWhole, ...leftOut, ...warnings],
    },
    grid,
    rungs,
    mastering: rungs.some(({ range }) => range !== 'sdr')
      ? await readMastering(source.path, source.video.streamIndex, context)
      : null,
    packets,
    span,
  };
}

/** Warns of the codecs of the profile that the stream lacks. */
function codecWarnings(rungs: readonly Rung[], profile: EncodingProfile): Warning[] {
  const missing = [...new Set(profile.rungs.map(({ codec }) => codec))].filter(
    (codec) => !rungs.some((rung) => rung.codec === codec),
  );
  return missing.map((codec) => ({
    code: 'codec_left_out',
    message: `The rungs of ${codec} were left out: this ffmpeg cannot encode it, or the video is too small.`,
  }));
}

/**
 * Encodes every rung and every audio track of a source into the workspace.
 *
 * @param onFraction called with the share of the work that is done, 0–1
 * @throws KnownProblem `corrupt_input`, `resource_exhausted`, `deadline_exceeded`, …
 */
export async function encodeStream(
  stream: PlannedStream,
  context: StepContext,
  onFraction: (fraction: number) => void,
): Promise<Encoded> {
  const { source, grid, rungs, packets, span } = stream;
  await makeEncodedFolders(context);
  const done = { video: 0, audio: 0 };
  const onPart = (part: keyof typeof done) => (fraction: number) => {
    done[part] = fraction;
    onFraction(done.video * videoShare + done.audio * (1 - videoShare));
  };
  const encodeTracks = (durationSec: number, part: StepContext) =>
    encodeAudio({ source, durationSec, packets, onFraction: onPart('audio') }, part);
  const [video, wholeAudio] = await together(
    context,
    (part) => encodeVideo({ ...stream, onFraction: onPart('video') }, part),
    (part) => encodeTracks(framesSec(span.frames, grid.rate), part),
  );
  const durationSec = framesSec(video.frames, grid.rate);
  // A few frames of a damaged source may be missing, and every track is as long as the video.
  const audio = video.frames === span.frames ? wholeAudio : await encodeTracks(durationSec, context);
  const timeoutMs = encodeTimeoutMs(durationSec, packets.packets);
  const text = await extractSubtitles({ source, durationSec, timeoutMs }, context);
  const kept = await dropCloseRungs(rungs, durationSec, context);
  const encoded = {
    video: inListingOrder(kept, context.profile).map(videoTrackOf),
    audio: audio.tracks.map(audioTrackOf),
    text: text.tracks.map(textTrackOf),
    frames: video.frames,
    grid,
    hasStoryboard: isMade(context.profile.storyboard, context.task) && kept.some(({ range }) => range === 'sdr'),
    chapters: planChapters(source.chapters, durationSec),
    source: sourceFound(source),
    warnings: [...source.warnings, ...video.warnings, ...audio.warnings, ...text.warnings],
  };
  if (encoded.hasStoryboard) await makeStoryboard(encoded, context);
  return encoded;
}

/** Makes the folders that encoded tracks are written to. */
export async function makeEncodedFolders({ workspace }: StepContext): Promise<void> {
  for (const kind of ['video', 'audio', 'text'] as const)
    await mkdir(workspace.at(encodedFolder(kind)), { recursive: true });
}

/** Measures the encoded rungs and removes those that cost nearly as much as the one above. */
async function dropCloseRungs(rungs: readonly Rung[], durationSec: number, context: StepContext): Promise<Rung[]> {
  const measured: (Rung & { averageBitrate: number })[] = [];
  for (const rung of rungs) {
    const { size: bytes } = await stat(context.workspace.at(encodedFile('video', rung.id)));
    measured.push({ ...rung, averageBitrate: (bytes * 8) / durationSec });
  }
  const kept = keepWorthwhile(measured);
  for (const rung of measured.filter((each) => !kept.includes(each))) {
    context.log.info({ rung: rung.id, averageBitrate: rung.averageBitrate }, 'rung dropped: close to the one above');
    await rm(context.workspace.at(encodedFile('video', rung.id)));
  }
  return kept;
}

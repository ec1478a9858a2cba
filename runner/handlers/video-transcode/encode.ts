import { mkdir, rm, stat } from 'node:fs/promises';
import { framesSec, gridOf } from '#domain/media/grid.ts';
import { inListingOrder, keepWorthwhile, planLadder, type Rung } from '#domain/media/ladder.ts';
import type { StepContext } from '../../context/step-context.ts';
import { sourceFound, type VideoSource } from '../../source/examine-video.ts';
import { scanPackets } from '../../source/packet-scan.ts';
import { encodeAudio } from './encode-audio.ts';
import { encodeVideo } from './encode-video.ts';
import { type Encoded, encodedFile, encodedFolder } from './encoded.ts';

/** The share of the work that is video. */
const videoShare = 0.9;

/**
 * Encodes every rung and every audio track of a source into the workspace.
 *
 * @param onFraction called with the share of the work that is done, 0–1
 * @throws KnownProblem `corrupt_input`, `resource_exhausted`, `deadline_exceeded`, …
 */
export async function encodeStream(
  source: VideoSource,
  context: StepContext,
  onFraction: (fraction: number) => void,
): Promise<Encoded> {
  for (const kind of ['video', 'audio'] as const) {
    await mkdir(context.workspace.at(encodedFolder(kind)), { recursive: true });
  }
  const grid = gridOf(source.video.rate, context.profile);
  const rungs = planLadder(source.video, context.profile);
  const packets = await scanPackets(source, context);
  const onVideo = (fraction: number) => onFraction(fraction * videoShare);
  const onAudio = (fraction: number) => onFraction(videoShare + fraction * (1 - videoShare));
  const video = await encodeVideo({ source, grid, rungs, packets, onFraction: onVideo }, context);
  const durationSec = framesSec(video.frames, grid.rate);
  const audio = await encodeAudio({ source, durationSec, packets, onFraction: onAudio }, context);
  const kept = await dropCloseRungs(rungs, durationSec, context);
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

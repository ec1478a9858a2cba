import { join } from 'node:path';
import type { AudioPlan } from '#domain/media/audio-plan.ts';
import { audioSamplesFor } from '#domain/media/grid.ts';
import type { PacketTotals } from '#domain/media/packet-timeline.ts';
import { type StepContext, workspaceFiles } from '../../context/step-context.ts';
import { parsePacketTime, streamPacketsCommand } from '../../tools/ffprobe.ts';
import { runTool } from '../../tools/run-tool.ts';
import { type AudioInput, steadyAudioCommand } from './audio-command.ts';
import { encodedFile } from './encoded.ts';
import { encodeTimeoutMs, silenceMsMax, undecodable } from './encoder-limits.ts';

export interface AudioWork {
  readonly source: AudioInput;
  /** The length of the video, or else of the longest track: every track gets it. */
  readonly durationSec: number;
  readonly packets: PacketTotals;
  readonly onFraction: (fraction: number) => void;
}

const steadyFile = join(workspaceFiles.made, 'steady-audio.nut');

/**
 * Writes a copy of the tracks that has the same channels and sample rate from its beginning to its end.
 *
 * @throws KnownProblem `corrupt_input`, `resource_exhausted`, …
 */
export async function makeSteady(
  tracks: readonly AudioPlan[],
  { source, durationSec, packets }: AudioWork,
  context: StepContext,
): Promise<{ source: AudioInput; tracks: AudioPlan[] }> {
  const { profile } = context;
  await runTool(
    steadyAudioCommand(context.program('ffmpeg'), { source, tracks, profile, path: steadyFile }),
    { timeoutMs: encodeTimeoutMs(durationSec, packets.packets), silenceMsMax, failure: undecodable },
    context,
  );
  return {
    source: { path: steadyFile, video: null, audio: [], isSteady: true },
    tracks: tracks.map((track, streamIndex) => ({
      ...track,
      streamIndex,
      channels: track.outputChannels,
      channelLayout: track.outputChannels === 2 ? 'stereo' : '5.1',
    })),
  };
}

const aacFrameSamples = 1024;
const unreadable = { code: 'internal', message: 'An encoded track cannot be read.' } as const;

/**
 * The encoded tracks whose length differs from the video's, with their length in seconds. Their frames are counted,
 * since the times of filters that begin at 0 once more overlap.
 */
export async function tracksOfOtherLength(
  tracks: readonly AudioPlan[],
  { durationSec, packets }: AudioWork,
  context: StepContext,
): Promise<{ id: string; sec: number }[]> {
  const { sampleRate } = context.profile.audio;
  // The encoder puts a frame before the first.
  const expected = 1 + audioSamplesFor(durationSec, sampleRate) / aacFrameSamples;
  const timeoutMs = encodeTimeoutMs(durationSec, packets.packets);
  const found = [];
  for (const { id } of tracks) {
    let frames = 0;
    const onStdoutLine = (line: string) => {
      if (parsePacketTime(line) !== null) frames += 1;
    };
    const command = streamPacketsCommand(context.program('ffprobe'), encodedFile('audio', id));
    await runTool(command, { timeoutMs, failure: unreadable, onStdoutLine, stdoutBytesMax: 0 }, context);
    if (Math.abs(frames - expected) > 1) found.push({ id, sec: (frames * aacFrameSamples) / sampleRate });
  }
  return found;
}

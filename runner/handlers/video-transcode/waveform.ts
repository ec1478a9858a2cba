import { join } from 'node:path';
import { waveformPath } from '#domain/media/revision-layout.ts';
import type { Command } from '#platform/commands/command.ts';
import { type StepContext, workspaceFiles } from '../../context/step-context.ts';
import { inputArgs, quietArgs } from '../../tools/ffmpeg.ts';
import { runTool } from '../../tools/run-tool.ts';
import { encodedFile } from './encoded.ts';
import { encodeTimeoutMs } from './encoder-limits.ts';

/** The image of an audio-only stream, in pixels: time from left to right, loud parts tall, on a transparent ground. */
export const waveformSize = { width: 1280, height: 240 } as const;
const color = '0x4a7dff';

/** The waveform in the workspace. */
export const waveformFile = join(workspaceFiles.made, waveformPath);

const failure = { code: 'internal', message: 'The waveform could not be drawn.' } as const;

/** Draws the waveform of an encoded stereo track. */
export async function drawWaveform(
  { trackId, durationSec, packets }: { trackId: string; durationSec: number; packets: number },
  context: StepContext,
): Promise<void> {
  const command = waveformCommand(context.program('ffmpeg'), { input: encodedFile('audio', trackId), durationSec });
  await runTool(command, { timeoutMs: encodeTimeoutMs(durationSec, packets), failure }, context);
}

/** Enough for a column; each divides the audio's rate. */
const samplesPerColumn = 8;
const envelopeRates = [200, 1600, 12_000] as const;

/**
 * ffmpeg's filter stores all its input in memory: 17 GB for 12 hours of stereo. So it gets the envelope of the audio at
 * few samples a second, 17 MB.
 */
export function waveformCommand(
  program: string,
  { input, durationSec }: { readonly input: string; readonly durationSec: number },
): Command {
  const { width, height } = waveformSize;
  const rate = envelopeRates.find((each) => each * durationSec >= width * samplesPerColumn);
  const filters = [
    'aeval=exprs=(abs(val(0))+abs(val(1)))/2:channel_layout=mono',
    ...(rate === undefined ? [] : [`aresample=${rate}`]),
    'aformat=sample_fmts=s16:channel_layouts=mono',
    'asetnsamples=n=1024:pad=0',
    `showwavespic=size=${width}x${height}:colors=${color}:scale=sqrt`,
    'format=bgra',
  ];
  const encoder = ['-c:v', 'libwebp_anim', '-lossless', '1', '-f', 'webp'];
  return {
    program,
    args: [
      ...quietArgs,
      ...inputArgs(input),
      '-filter_complex',
      `[0:a]${filters.join(',')}[out]`,
      '-map',
      '[out]',
      '-frames:v',
      '1',
      ...encoder,
      waveformFile,
    ],
  };
}

import { open, stat } from 'node:fs/promises';
import { KnownProblem } from '#domain/errors.ts';
import type { SourceFound, Warning } from '#domain/job-types/shared-results.ts';
import { planFrameRate } from '#domain/media/frame-rate.ts';
import { languageTag } from '#domain/media/languages.ts';
import { type Rational, valueOf } from '#domain/media/rational.ts';
import type { Command } from '#platform/commands/command.ts';
import { places, type StepContext } from '../context.ts';
import { type Abilities, abilityCommands, canMapTones, parseAbilities, refuseLacking } from '../tools/abilities.ts';
import { describeCommand, packetTimesCommand, parsePacketTime } from '../tools/ffprobe.ts';
import { runTool } from '../tools/run-tool.ts';
import { containerOf } from './containers.ts';
import { detectInterlacing, type FieldOrder } from './interlacing.ts';
import {
  parseProbe,
  type ProbeDocument,
  type ProbedAudio,
  type ProbedSource,
  type ProbedVideo,
  readSource,
} from './probe.ts';

/** What is known of a video source once it has been looked at; times in seconds from the start of the file. */
export interface Source {
  /** As tools are given it. */
  readonly path: string;
  readonly sizeBytes: number;
  readonly container: string;
  readonly video: ProbedVideo & {
    readonly endSec: number;
    readonly rate: Rational;
    readonly fieldOrder: FieldOrder;
    readonly toneMap: 'pq' | 'hlg' | null;
  };
  readonly audio: readonly ProbedAudio[];
  readonly durationSec: number;
  /** Whether the end is what a header promised, so that less is damage. */
  readonly isDurationPromised: boolean;
  readonly warnings: readonly Warning[];
}

const durationSecMax = 12 * 3600;
const probeTimeoutMs = 2 * 60_000;
/** Demuxing reads the whole file, from a disk that may be slow. */
const countTimeoutMs = 30 * 60_000;
const packetsSampled = 240;
/** A sample from the middle tells a source whose rate changes. */
const middleFromSec = 30;
const headBytes = 4096;

/** Containers whose header states a length; the others' is reckoned from what is there. */
const promising = ['mov', 'matroska', 'avi', 'asf', 'flv', 'mxf'];

const unreadable = { code: 'corrupt_input', message: 'The source is damaged: its packets cannot be read.' } as const;

/**
 * Looks at the downloaded source without decoding more than a few samples.
 *
 * @throws KnownProblem `unsupported_media`, `corrupt_input`, `no_video_stream`, `limit_exceeded`, …
 */
export async function examineSource(context: StepContext): Promise<Source> {
  const { size: sizeBytes } = await stat(context.workspace.at(places.source));
  const [document, abilities] = await Promise.all([describe(context), readAbilities(context)]);
  refuseLacking(abilities);
  const probed = readSource(document);
  if (probed.video.hdr === 'dolby_vision') {
    throw new KnownProblem('unsupported_media', 'Dolby Vision profile 5 cannot be shown as anything else.');
  }
  refuseTooLong(probed.durationSec ?? 0);
  const times = await videoTimes(probed, context);
  const plan = planFrameRate({ average: probed.video.averageRate, runs: times.runs }, context.profile.frameRateMax);
  const endSec = probed.video.endSec ?? times.endSec ?? probed.durationSec ?? 0;
  const durationSec = Math.max(endSec, ...probed.audio.map((audio) => audio.endSec ?? 0));
  refuseTooLong(durationSec);
  const fieldOrder = await detectInterlacing(probed.video, endSec, context);
  const toneMap = toneMapOf(probed.video, abilities);
  const warnings = [...probed.warnings];
  if (toneMap === null && probed.video.hdr !== 'none') {
    const message = 'The source is HDR, and this ffmpeg has no zscale to map it to SDR; its colours are off.';
    warnings.push({ code: 'hdr_not_mapped', message });
  }
  if (plan.isVariable) {
    const message = `The frame rate varies; the stream has a constant ${valueOf(plan.rate).toFixed(3)} frames a second.`;
    warnings.push({ code: 'variable_frame_rate', message });
  }
  return {
    path: places.source,
    sizeBytes,
    container: probed.container,
    video: { ...probed.video, endSec, rate: plan.rate, fieldOrder, toneMap },
    audio: probed.audio,
    durationSec,
    isDurationPromised: promising.includes(probed.container) && times.endSec === null,
    warnings,
  };
}

async function readAbilities(context: StepContext): Promise<Abilities> {
  const { filters, encoders } = abilityCommands(context.program('ffmpeg'));
  const failure = { code: 'internal', message: 'ffmpeg does not tell what it can do.' } as const;
  const run = async (command: Command) =>
    (await runTool(command, { timeoutMs: probeTimeoutMs, failure }, context)).stdout;
  return parseAbilities({ filters: await run(filters), encoders: await run(encoders) });
}

/** How the picture is brought to SDR, as far as this ffmpeg can. */
function toneMapOf({ hdr }: ProbedVideo, abilities: Abilities): 'pq' | 'hlg' | null {
  return (hdr === 'pq' || hdr === 'hlg') && canMapTones(abilities) ? hdr : null;
}

function refuseTooLong(durationSec: number): void {
  if (durationSec > durationSecMax) {
    throw new KnownProblem('limit_exceeded', `The source is longer than ${durationSecMax / 3600} hours.`);
  }
}

async function describe(context: StepContext): Promise<ProbeDocument> {
  const container = containerOf(await readHead(context.workspace.at(places.source)));
  const failure =
    container === null
      ? ({ code: 'unsupported_media', message: 'The source is in no container that is supported.' } as const)
      : ({ code: 'corrupt_input', message: `The source is damaged: it cannot be read as ${container}.` } as const);
  const command = describeCommand(context.program('ffprobe'), places.source);
  const run = { timeoutMs: probeTimeoutMs, failure, stdoutBytesMax: 16 * 1024 * 1024 };
  const { stdout, stderrTail: logTail } = await runTool(command, run, context);
  try {
    return parseProbe(stdout);
  } catch (cause) {
    throw new KnownProblem(failure.code, failure.message, { logTail, cause });
  }
}

async function readHead(path: string): Promise<Buffer> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(headBytes), 0, headBytes, 0);
  return buffer.subarray(0, bytesRead);
}

/** Times of neighbouring frames; with no end in any header all of them, so that the end is counted. */
async function videoTimes(
  probed: ProbedSource,
  context: StepContext,
): Promise<{ runs: number[][]; endSec: number | null }> {
  const { video } = probed;
  const isEndKnown = video.endSec !== null || probed.durationSec !== null;
  if (!isEndKnown) return countAll(video.streamIndex, context);
  const endSec = video.endSec ?? probed.durationSec ?? 0;
  const starts = endSec > 2 * middleFromSec ? [0, endSec / 2] : [0];
  const runs: number[][] = [];
  for (const fromSec of starts) runs.push(await sampleTimes(video.streamIndex, fromSec, context));
  return { runs, endSec: null };
}

async function sampleTimes(streamIndex: number, fromSec: number, context: StepContext): Promise<number[]> {
  const times: number[] = [];
  const interval = { streamIndex, fromSec, packetsMax: packetsSampled };
  const command = packetTimesCommand(context.program('ffprobe'), places.source, interval);
  const onStdoutLine = (line: string) => {
    const packet = parsePacketTime(line);
    if (packet !== null) times.push(packet.timeSec);
  };
  await runTool(command, { timeoutMs: probeTimeoutMs, failure: unreadable, onStdoutLine }, context);
  // The last packets of a run lack neighbours that are presented before them but stored after.
  const reordered = times.length === packetsSampled ? 16 : 0;
  return times.toSorted((a, b) => a - b).slice(0, times.length - reordered);
}

async function countAll(streamIndex: number, context: StepContext): Promise<{ runs: number[][]; endSec: number }> {
  const first: number[] = [];
  let startSec = Number.POSITIVE_INFINITY;
  let endSec = 0;
  const command = packetTimesCommand(context.program('ffprobe'), places.source, {
    streamIndex,
    fromSec: 0,
    packetsMax: null,
  });
  const onStdoutLine = (line: string) => {
    const packet = parsePacketTime(line);
    if (packet === null) return;
    if (first.length < packetsSampled) first.push(packet.timeSec);
    startSec = Math.min(startSec, packet.timeSec);
    endSec = Math.max(endSec, packet.timeSec + packet.durationSec);
  };
  await runTool(command, { timeoutMs: countTimeoutMs, failure: unreadable, onStdoutLine, stdoutBytesMax: 0 }, context);
  if (!Number.isFinite(startSec)) throw new KnownProblem(unreadable.code, unreadable.message);
  return { runs: [first.toSorted((a, b) => a - b).slice(0, -16)], endSec: Math.max(0, endSec - startSec) };
}

/** The part of the results that says what was found. */
export function sourceFound({ container, sizeBytes, durationSec, video, audio }: Source): SourceFound {
  return {
    container,
    size: sizeBytes,
    duration_sec: Number(durationSec.toFixed(3)),
    video: {
      codec: video.codec,
      width: video.width,
      height: video.height,
      frame_rate: Number(valueOf(video.rate).toFixed(3)),
      rotation: video.rotation,
      hdr: video.hdr,
      pixel_format: video.pixelFormat,
      interlaced: video.fieldOrder !== 'progressive',
    },
    audio: audio.map(({ codec, channels, sampleRate, language }) => ({
      codec,
      channels,
      sample_rate: sampleRate,
      language: languageTag(language) ?? 'und',
    })),
  };
}

import { open, stat } from 'node:fs/promises';
import { isJobProblem, type JobErrorCode, KnownProblem } from '#domain/errors.ts';
import { videoContainers } from '#domain/media/video-containers.ts';
import { imageKindOf } from '#platform/images/image-kinds.ts';
import { type StepContext, workspaceFiles } from '../context/step-context.ts';
import { describeCommand, parsePacketTime, streamPacketsCommand } from '../tools/ffprobe.ts';
import { probeTimeoutMs, runTool } from '../tools/run-tool.ts';
import { replaceAnimatedWebp } from './animated-webp.ts';
import { containerOf } from '#domain/media/containers.ts';
import { type FfprobeDocument, parseFfprobe } from './ffprobe-document.ts';
import { type ProbedStreams, readStreams } from './streams.ts';
import { movingStreams, type VideoExtents } from './video-choice.ts';

/** A source of any kind, known by its headers alone. */
export interface ProbedSource extends ProbedStreams {
  /** As tools get it. */
  readonly path: string;
  readonly sizeBytes: number;
}

const headBytes = 4096;

/**
 * Reads the headers of the downloaded source: its container and its streams, which may be audio alone.
 *
 * @throws KnownProblem `unsupported_media`, `corrupt_input`, `limit_exceeded`, …
 */
export async function probeSource(context: StepContext): Promise<ProbedSource> {
  const webpBytes = await replaceAnimatedWebp(context);
  const { size } = await stat(context.workspace.at(workspaceFiles.source));
  const document = await describe(context);
  const streams = readStreams(document, await measureVideos(document, context));
  const source = { ...streams, path: workspaceFiles.source, sizeBytes: size };
  if (webpBytes === null || streams.video === null) return source;
  return { ...source, container: 'webp', sizeBytes: webpBytes, video: { ...streams.video, codec_name: 'webp' } };
}

async function describe(context: StepContext): Promise<FfprobeDocument> {
  const failure = probeFailure(await readHead(context.workspace.at(workspaceFiles.source), headBytes));
  const command = describeCommand(context.program('ffprobe'), workspaceFiles.source);
  const run = { timeoutMs: probeTimeoutMs, failure, stdoutBytesMax: 16 * 1024 * 1024, readsHeaders: true };
  const { stdout, stderrTail: logTail } = await runTool(command, run, context).catch((error: unknown) => {
    throw unfinishedProblem(error) ?? error;
  });
  try {
    return parseFfprobe(stdout);
  } catch (cause) {
    throw new KnownProblem(failure.code, failure.message, { logTail, cause });
  }
}

const scanTimeoutMs = 30 * 60_000;
const unreadable = { code: 'corrupt_input', message: 'The source is damaged: its packets cannot be read.' } as const;

/** Reads the times of all packets where a source has several videos, since headers often do not state their lengths. */
async function measureVideos({ streams }: FfprobeDocument, context: StepContext): Promise<VideoExtents> {
  const indexes = movingStreams(streams).map(({ index }) => index);
  if (indexes.length < 2) return new Map();
  const spans = new Map<number, { frames: number; fromSec: number; toSec: number }>();
  const onStdoutLine = (line: string) => {
    const packet = parsePacketTime(line);
    if (packet === null || !indexes.includes(packet.streamIndex)) return;
    const { timeSec } = packet;
    const span = spans.get(packet.streamIndex) ?? { frames: 0, fromSec: timeSec, toSec: timeSec };
    span.frames += 1;
    span.fromSec = Math.min(span.fromSec, timeSec);
    span.toSec = Math.max(span.toSec, timeSec);
    spans.set(packet.streamIndex, span);
  };
  const command = streamPacketsCommand(context.program('ffprobe'), workspaceFiles.source);
  const run = { timeoutMs: scanTimeoutMs, failure: unreadable, onStdoutLine, stdoutBytesMax: 0 };
  await runTool(command, run, context);
  return new Map(
    [...spans].map(([index, { frames, fromSec, toSec }]) => [index, { frames, lengthSec: toSec - fromSec }]),
  );
}

/** The problem of a source that ffprobe cannot read, from its first bytes. */
function probeFailure(head: Buffer): { readonly code: JobErrorCode; readonly message: string } {
  const image = imageKindOf(head);
  const container = containerOf(head);
  if (image !== null && container !== image.name) {
    return { code: 'unsupported_media', message: `The source is an image (${image.name}) and not a supported video.` };
  }
  if (head.length === 0) return { code: 'unsupported_media', message: 'The source is empty.' };
  if (container === null) {
    return { code: 'unsupported_media', message: `The source is in no supported container: ${videoContainers}.` };
  }
  return { code: 'corrupt_input', message: `The source is damaged: it cannot be read as ${container}.` };
}

/** The problem of an MP4 file whose index, which is often its end, was not written or not copied; else null. */
function unfinishedProblem(error: unknown): KnownProblem<JobErrorCode> | null {
  if (!isJobProblem(error) || error.code !== 'corrupt_input') return null;
  const { logTail = '' } = error.details;
  if (!logTail.includes('moov atom not found')) return null;
  const message = 'The source was cut off or its recording was not finished: its index (`moov`) is missing.';
  return new KnownProblem('corrupt_input', message, { logTail, cause: error });
}

/** The first bytes of a file, at most `bytesMax`. */
async function readHead(path: string, bytesMax: number): Promise<Buffer> {
  await using file = await open(path);
  const { buffer, bytesRead } = await file.read(Buffer.alloc(bytesMax), 0, bytesMax, 0);
  return buffer.subarray(0, bytesRead);
}

import { isJobProblem } from '#domain/errors.ts';
import type { Command } from '#platform/commands/command.ts';
import { places, type StepContext } from '../context.ts';
import { inputArgs, quietArgs } from '../tools/ffmpeg.ts';
import { runTool } from '../tools/run-tool.ts';
import type { ProbedVideo } from './probe.ts';

/** Which field of an interlaced frame comes first. */
export type FieldOrder = 'progressive' | 'tff' | 'bff';

const framesSampled = 60;
const samplePlaces = [0.1, 0.6];
const sampleTimeoutMs = 60_000;
/** Nobody interlaces a larger picture. */
const heightMax = 1088;
const neverInterlaced = ['vp8', 'vp9', 'av1', 'mjpeg', 'gif', 'png'];

const nothingThere = { code: 'corrupt_input', message: 'No frames could be decoded at one place.' } as const;

interface FieldCount {
  readonly tff: number;
  readonly bff: number;
  readonly progressive: number;
}

/** Looks at `framesSampled` frames with `idet`, whose counts stand in the frames' metadata. */
export function idetCommand(program: string, source: string, at: { streamIndex: number; fromSec: number }): Command {
  return {
    program,
    args: [
      ...quietArgs,
      ...inputArgs(source, at.fromSec),
      '-map',
      `0:${at.streamIndex}`,
      '-frames:v',
      String(framesSampled),
      '-vf',
      'idet,metadata=mode=print:file=-',
      '-f',
      'null',
      '-',
    ],
  };
}

/** The last counts in what `idetCommand` wrote to stdout. */
export function parseIdet(stdout: string): FieldCount {
  const last = (kind: string) => {
    const found = stdout.matchAll(new RegExp(`lavfi\\.idet\\.multiple\\.${kind}=(\\d+(?:\\.\\d+)?)`, 'g'));
    return Number([...found].at(-1)?.[1] ?? 0);
  };
  return { tff: last('tff'), bff: last('bff'), progressive: last('progressive') };
}

/** How much of what was decided must be fields of one order, and how much of the other order is a mistake. */
const agreementMin = { flagged: 0.5, unflagged: 0.85 } as const;
const contradictionMax = 0.1;
const framesDecidedMin = 10;

/**
 * The order of fields that the counts speak for. Real fields agree with each other, while the edges of a moving drawing
 * look like fields of either order. Where most frames show no movement, the file's own flag tips the scale; without it
 * nearly every frame must show the same order.
 */
export function fieldOrderOf(counts: readonly FieldCount[], isFlagged: boolean): FieldOrder {
  const sum = (kind: keyof FieldCount) => counts.reduce((total, count) => total + count[kind], 0);
  const decided = sum('tff') + sum('bff') + sum('progressive');
  const [order, other] = sum('bff') > sum('tff') ? (['bff', 'tff'] as const) : (['tff', 'bff'] as const);
  const agreement = sum(order) / Math.max(1, decided);
  const isInterlaced =
    decided >= framesDecidedMin &&
    agreement >= agreementMin[isFlagged ? 'flagged' : 'unflagged'] &&
    sum(other) <= sum(order) * contradictionMax;
  return isInterlaced ? order : 'progressive';
}

/** Whether a source is interlaced, told from its frames and not from its flag alone (media.md, "Odd sources"). */
export async function detectInterlacing(video: ProbedVideo, endSec: number, context: StepContext): Promise<FieldOrder> {
  const lines = video.rotation % 180 === 0 ? video.height : video.width;
  if (neverInterlaced.includes(video.codec) || lines > heightMax) return 'progressive';
  const counts: FieldCount[] = [];
  for (const place of samplePlaces) {
    const at = { streamIndex: video.streamIndex, fromSec: endSec * place };
    const command = idetCommand(context.program('ffmpeg'), places.source, at);
    try {
      const { stdout } = await runTool(command, { timeoutMs: sampleTimeoutMs, failure: nothingThere }, context);
      counts.push(parseIdet(stdout));
    } catch (error) {
      // Damage at one place; what is left of the source is found out when all of it is decoded.
      if (!isJobProblem(error) || error.code !== nothingThere.code) throw error;
    }
  }
  return fieldOrderOf(counts, video.isFlaggedInterlaced);
}

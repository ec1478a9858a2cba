import { z } from 'zod';
import type { StepContext } from '../context/step-context.ts';
import { firstFrameCommand } from '../tools/ffprobe.ts';
import { probeTimeoutMs, runTool } from '../tools/run-tool.ts';

type Pair = readonly [number, number];

/** The metadata of HDR; a source may have either part without the other. */
export interface Mastering {
  readonly display: MasteringDisplay | null;
  /** The brightest pixel and the brightest average of a frame, in cd/m² (CTA-861.3); 0 is unknown. */
  readonly contentLight: Pair | null;
}

/** The display that HDR was mastered on (SMPTE ST 2086). */
export interface MasteringDisplay {
  /** Chromaticities in CIE 1931. */
  readonly red: Pair;
  readonly green: Pair;
  readonly blue: Pair;
  readonly white: Pair;
  /** The most and the least, in cd/m². */
  readonly luminance: Pair;
}

const ratio = z.string().transform((written, context) => {
  const [value = Number.NaN, by = 1] = written.split('/').map(Number);
  if (Number.isFinite(value / by) && value >= 0) return value / by;
  context.addIssue('must be a ratio');
  return z.NEVER;
});
const displaySchema = z.object({
  side_data_type: z.literal('Mastering display metadata'),
  red_x: ratio,
  red_y: ratio,
  green_x: ratio,
  green_y: ratio,
  blue_x: ratio,
  blue_y: ratio,
  white_point_x: ratio,
  white_point_y: ratio,
  min_luminance: ratio,
  max_luminance: ratio,
});
const lightSchema = z.object({
  side_data_type: z.literal('Content light level metadata'),
  max_content: z.int().nonnegative(),
  max_average: z.int().nonnegative(),
});
const documentSchema = z.object({
  frames: z.array(z.object({ side_data_list: z.array(z.unknown()).default([]) })).default([]),
});

const unreadable = {
  code: 'corrupt_input',
  message: 'The source is damaged: its first frame cannot be read.',
} as const;

/**
 * Reads the mastering metadata of an HDR stream's first frame; null without any, as is usual for HLG.
 *
 * @throws KnownProblem `corrupt_input`
 */
export async function readMastering(
  path: string,
  streamIndex: number,
  context: StepContext,
): Promise<Mastering | null> {
  const command = firstFrameCommand(context.program('ffprobe'), path, streamIndex);
  const { stdout } = await runTool(command, { timeoutMs: probeTimeoutMs, failure: unreadable }, context);
  return parseMastering(stdout);
}

/** Reads the output of `firstFrameCommand`. */
export function parseMastering(json: string): Mastering | null {
  const sideData = documentSchema.parse(JSON.parse(json)).frames[0]?.side_data_list ?? [];
  const display = sideData.flatMap((each) => displaySchema.safeParse(each).data ?? [])[0];
  const light = sideData.flatMap((each) => lightSchema.safeParse(each).data ?? [])[0];
  const contentLight = light === undefined ? null : ([light.max_content, light.max_average] as const);
  const isKnown = contentLight?.some((value) => value > 0) === true;
  if (display === undefined && !isKnown) return null;
  return { display: display === undefined ? null : displayOf(display), contentLight: isKnown ? contentLight : null };
}

function displayOf(stated: z.infer<typeof displaySchema>): MasteringDisplay {
  return {
    red: [stated.red_x, stated.red_y],
    green: [stated.green_x, stated.green_y],
    blue: [stated.blue_x, stated.blue_y],
    white: [stated.white_point_x, stated.white_point_y],
    luminance: [stated.max_luminance, stated.min_luminance],
  };
}

import { join } from 'node:path';
import type { FrameSize } from '#domain/media/frame-size.ts';
import { framesSec, type Grid } from '#domain/media/grid.ts';
import type { Rung } from '#domain/media/ladder.ts';
import type { EncodingProfile } from '#domain/media/encoding-profile.ts';
import type { QualityMeasure } from '#domain/media/quality.ts';
import { showRational } from '#domain/media/rational.ts';
import type { Command } from '#platform/commands/command.ts';
import { workspaceFiles } from '../../../context/step-context.ts';
import type { VideoSource } from '../../../source/examine-video.ts';
import { chunkGuardArgs, inputArgs, decodeArgs, quietArgs, sourceArgs } from '../../../tools/ffmpeg.ts';
import { deinterlaceFilters, firstFilters } from '../../../tools/video-filters.ts';
import { rungsGraph } from '../command.ts';
import { encoderArgs } from '../encoders.ts';

/** Everything about samples is in this folder of the workspace. */
export const samplesFolder = join(workspaceFiles.made, 'samples');

/** The samples of a rung before they are encoded, and after. */
function sampleFiles({ id }: Rung): { readonly reference: string; readonly encoded: string } {
  return { reference: join(samplesFolder, `${id}.nut`), encoded: join(samplesFolder, `${id}.mp4`) };
}

interface Sampling {
  readonly source: Pick<VideoSource, 'path' | 'video'>;
  readonly grid: Grid;
  /** The frames that the samples begin with. */
  readonly places: readonly number[];
  readonly rungs: readonly Rung[];
}

/** The source is read a little further than a sample is long: its own frames may be shown late. */
const marginSec = 0.5;

/** Writes the samples of each rung one after another, scaled as for the encode and without loss. */
export function sampleCommand(program: string, { source, grid, places, rungs }: Sampling): Command {
  const { video } = source;
  const rate = showRational(grid.rate);
  const frames = [
    ...firstFilters(video),
    ...deinterlaceFilters(video),
    `fps=fps=${rate}:start_time=0`,
    `trim=end_frame=${grid.gopFrames}`,
    'setpts=PTS-STARTPTS',
  ].join(',');
  const samples = places.map((_, index) => `[${index}:${video.streamIndex}]${frames}[sample${index}]`);
  const labels = places.map((_, index) => `[sample${index}]`).join('');
  const joined = places.length === 1 ? 'null' : `concat=n=${places.length},fps=fps=${rate}`;
  const outputs = rungs.map((track) => ({ track, path: sampleFiles(track).reference }));
  const limit = ['-t', (framesSec(grid.gopFrames, grid.rate) + marginSec).toFixed(6), ...decodeArgs(video)];
  return {
    program,
    args: [
      ...quietArgs,
      ...places.flatMap((frame) => inputArgs(source.path, framesSec(frame, grid.rate), limit)),
      '-filter_complex',
      [...samples, `${labels}${joined}[joined]`, rungsGraph('[joined]', [], { video, rungs: outputs })].join(';'),
      ...outputs.flatMap(({ path }, index) => [
        '-map',
        `[out${index}]`,
        '-c:v',
        'ffvhuff',
        '-fps_mode',
        'passthrough',
        '-f',
        'nut',
        path,
      ]),
    ],
  };
}

/** Encodes the samples of rungs as they would be encoded, each with the CRF of its `quality`. */
export function trialCommand(program: string, rungs: readonly Rung[], encoding: TrialEncoding): Command {
  return {
    program,
    args: [
      ...quietArgs,
      ...rungs.flatMap((rung) => [...chunkGuardArgs, '-i', sampleFiles(rung).reference]),
      ...rungs.flatMap((rung, index) => [
        '-map',
        `${index}:0`,
        ...encoderArgs(rung, { ...encoding, mastering: null, isEncrypted: false }),
        // With more threads x264 makes another stream each time, and a video would get another revision.
        ...(rung.codec === 'h264' ? ['-threads', '1'] : []),
        '-f',
        'mp4',
        sampleFiles(rung).encoded,
      ]),
    ],
  };
}

interface TrialEncoding {
  readonly grid: Grid;
  readonly profile: EncodingProfile;
}

/** A comparison of encoded samples with the source, at the size of the rung of the latter. */
export interface Comparison {
  readonly encoded: Rung;
  readonly reference: Rung;
}

/** The report of a comparison. */
export function scoreFile({ encoded, reference }: Comparison): string {
  return join(samplesFolder, `${encoded.id}-${reference.id}.score`);
}

/** VMAF of every third frame differs from VMAF of all by at most 0.1, at half the cost. */
const vmafEvery = 3;

/** Compares samples by a measure; each comparison writes its `scoreFile`. */
export function measureCommand(
  program: string,
  comparisons: readonly Comparison[],
  { measure, threads }: { readonly measure: QualityMeasure; readonly threads: number },
): Command {
  // Frames are compared by their order: the files count time by units of their own.
  const byOrder = 'settb=1/25,setpts=N';
  const filters: Record<QualityMeasure, string> = {
    vmaf: `libvmaf=n_threads=${threads}:n_subsample=${vmafEvery}:log_fmt=json:log_path=`,
    ssim: 'ssim=stats_file=',
  };
  const graph = comparisons.flatMap((comparison, index) => {
    const { encoded, reference } = comparison;
    const enlarged = encoded.id === reference.id ? '' : `,${enlargement(reference)}`;
    return [
      `[${2 * index}:0]${byOrder}${enlarged}[encoded${index}]`,
      `[${2 * index + 1}:0]${byOrder}[source${index}]`,
      `[encoded${index}][source${index}]${filters[measure]}${scoreFile(comparison)}[out${index}]`,
    ];
  });
  return {
    program,
    args: [
      ...quietArgs,
      ...comparisons.flatMap(({ encoded, reference }) => [
        ...sourceArgs,
        '-i',
        sampleFiles(encoded).encoded,
        ...chunkGuardArgs,
        '-i',
        sampleFiles(reference).reference,
      ]),
      '-filter_complex',
      graph.join(';'),
      ...comparisons.flatMap((_, index) => ['-map', `[out${index}]`]),
      '-f',
      'null',
      '-',
    ],
  };
}

/** As players enlarge a frame. */
function enlargement({ width, height }: FrameSize): string {
  return `scale=w=${width}:h=${height}:flags=bicubic`;
}

/** The score in a `scoreFile`, the mean of its frames; null where it has none, as for frames of a few pixels. */
export function parseScore(text: string, measure: QualityMeasure): number | null {
  const scores =
    measure === 'vmaf'
      ? [...text.matchAll(/"vmaf":\s*\{[^}]*"mean":\s*([\d.]+)/g)].map(([, mean]) => Number(mean))
      : [...text.matchAll(/All:([\d.]+)/g)].map(([, score]) => Number(score));
  if (scores.length === 0) return null;
  return scores.reduce((sum, score) => sum + score, 0) / scores.length;
}

import { mkdir, readFile, rm } from 'node:fs/promises';
import { availableParallelism } from 'node:os';
import { isJobProblem, KnownProblem } from '#domain/errors.ts';
import type { Warning } from '#domain/job-types/shared-results.ts';
import { framesSec, type Grid } from '#domain/media/grid.ts';
import type { Rung } from '#domain/media/ladder.ts';
import {
  addsNothing,
  nextCrf,
  qualityOfTrial,
  type QualityMeasure,
  type QualityTarget,
  type RungQuality,
  samplePlaces,
  settledQuality,
  ssimTargetOf,
  type Trial,
} from '#domain/media/quality.ts';
import type { EncodingProfile } from '#domain/media/encoding-profile.ts';
import type { Command } from '#platform/commands/command.ts';
import type { StepContext } from '../../../context/step-context.ts';
import type { VideoSource } from '../../../source/examine-video.ts';
import { canMeasureVmaf } from '../../../tools/abilities.ts';
import { runTool } from '../../../tools/run-tool.ts';
import { encodeTimeoutMs } from '../encoder-limits.ts';
import {
  type Comparison,
  measureCommand,
  parseScore,
  sampleCommand,
  samplesFolder,
  scoreFile,
  trialCommand,
} from './commands.ts';

interface Plan {
  readonly source: VideoSource;
  readonly grid: Grid;
  readonly frames: number;
  readonly rungs: readonly Rung[];
}

interface Tuned {
  readonly rungs: readonly Rung[];
  readonly warnings: readonly Warning[];
}

const unmeasurable = { code: 'corrupt_input', message: 'Samples of the source cannot be compared.' } as const;
const threadsMax = 8;

/**
 * Finds by sample encodes the CRF that brings each rung to the target of the profile, and leaves out rungs that add
 * nothing. HDR rungs stay as they are, since the measures do not know HDR.
 *
 * @throws KnownProblem `resource_exhausted`, `deadline_exceeded`
 */
export async function tuneRungs(plan: Plan, context: StepContext): Promise<Tuned> {
  const { quality } = context.profile;
  const rungs = plan.rungs.filter(({ range }) => range === 'sdr');
  if (quality === null || rungs.length === 0) return { rungs: plan.rungs, warnings: [] };
  const { measure, target, warnings } = await measureFor(quality.target, context);
  await mkdir(context.workspace.at(samplesFolder), { recursive: true });
  try {
    const tuner = new Tuner({ ...plan, rungs }, measure, context);
    const tuned = target === null ? await tuner.report() : await tuner.aim(target);
    const kept = plan.rungs.flatMap((rung) => (rungs.includes(rung) ? (tuned.get(rung) ?? []) : rung));
    return { rungs: kept, warnings };
  } catch (error) {
    // A source with damaged samples may be good enough as a whole, which the encode finds out.
    if (!isJobProblem(error) || error.code !== unmeasurable.code) throw error;
    const message = 'The quality was not measured: samples of the source cannot be decoded or compared.';
    return { rungs: plan.rungs, warnings: [{ code: 'quality_not_measured', message }] };
  } finally {
    await rm(context.workspace.at(samplesFolder), { recursive: true, force: true });
  }
}

/** The measure that the tools have: VMAF where it is not excluded, else SSIM, with an equivalent target. */
async function measureFor(
  target: QualityTarget | null,
  context: StepContext,
): Promise<{ measure: QualityMeasure; target: QualityTarget | null; warnings: Warning[] }> {
  if (target?.measure === 'ssim') return { measure: 'ssim', target, warnings: [] };
  if (await canMeasureVmaf(context)) return { measure: 'vmaf', target, warnings: [] };
  if (target === null) return { measure: 'ssim', target, warnings: [] };
  const instead = ssimTargetOf(target.score);
  const message = `No ffmpeg with libvmaf was found: an SSIM of ${instead.score} stands for a VMAF of ${target.score}.`;
  return { measure: 'ssim', target: instead, warnings: [{ code: 'quality_by_ssim', message }] };
}

class Tuner {
  readonly #plan: Plan;
  readonly #measure: QualityMeasure;
  readonly #context: StepContext;
  /** Three sample encodes take as long as the whole encode may. */
  readonly #timeoutMs: number;

  constructor(plan: Plan, measure: QualityMeasure, context: StepContext) {
    this.#plan = plan;
    this.#measure = measure;
    this.#context = context;
    this.#timeoutMs = encodeTimeoutMs(framesSec(plan.frames, plan.grid.rate), Number.POSITIVE_INFINITY);
  }

  /** Each rung with the score that it has by the CRF of the profile. */
  async report(): Promise<Map<Rung, Rung>> {
    await this.#takeSamples();
    const scores = await this.#encode(
      this.#plan.rungs.map((rung) => ({ rung, crf: profileCrf(rung, this.#context.profile) })),
    );
    return new Map(
      [...scores].map(([rung, trial]) => [rung, { ...rung, quality: qualityOfTrial(this.#measure, trial) }]),
    );
  }

  /** The rungs to keep, each with a CRF. */
  async aim(target: QualityTarget): Promise<Map<Rung, Rung>> {
    await this.#takeSamples();
    const trials = new Map<Rung, Trial[]>(this.#plan.rungs.map((rung) => [rung, []]));
    const searchOf = (rung: Rung) => ({ codec: rung.codec, target, trials: trials.get(rung) ?? [] });
    for (;;) {
      const pending = this.#plan.rungs.flatMap((rung) => {
        const crf = nextCrf(searchOf(rung), profileCrf(rung, this.#context.profile));
        return crf === null ? [] : { rung, crf };
      });
      if (pending.length === 0) break;
      for (const [rung, trial] of await this.#encode(pending)) trials.get(rung)?.push(trial);
    }
    return this.#withoutUseless(
      new Map([...trials.keys()].map((rung) => [rung, settledQuality(searchOf(rung))])),
      target,
    );
  }

  /** Leaves out each rung that scores no better than the one below it, enlarged. */
  async #withoutUseless(qualities: ReadonlyMap<Rung, RungQuality>, target: QualityTarget): Promise<Map<Rung, Rung>> {
    const kept = new Map<Rung, Rung>();
    for (const [rung, quality] of qualities) {
      const below = [...kept.keys()].findLast(({ codec }) => codec === rung.codec);
      const [score] = below === undefined ? [] : await this.#compare([{ encoded: below, reference: rung }]);
      if (score !== undefined && addsNothing(quality, target, score)) {
        this.#context.log.info({ rung: rung.id, score, quality }, 'rung dropped: the one below looks the same');
      } else kept.set(rung, { ...rung, quality });
    }
    return kept;
  }

  async #takeSamples(): Promise<void> {
    const { source, grid, frames, rungs } = this.#plan;
    const pixels = rungs.reduce((sum, { width, height }) => sum + width * height, 0);
    const places = samplePlaces({ frames, grid, pixels });
    await this.#run(sampleCommand(this.#context.program('ffmpeg'), { source, grid, places, rungs }));
  }

  /** Encodes the samples of rungs with a CRF each, and measures them. */
  async #encode(trials: readonly { readonly rung: Rung; readonly crf: number }[]): Promise<Map<Rung, Trial>> {
    const { grid } = this.#plan;
    const { profile, program } = this.#context;
    const rungs = trials.map(({ rung, crf }) => ({ ...rung, quality: { measure: this.#measure, score: 0, crf } }));
    await this.#run(trialCommand(program('ffmpeg'), rungs, { grid, profile }));
    const scores = await this.#compare(rungs.map((rung) => ({ encoded: rung, reference: rung })));
    return new Map(trials.map(({ rung, crf }, index) => [rung, { crf, score: scores[index] ?? 0 }]));
  }

  async #compare(comparisons: readonly Comparison[]): Promise<number[]> {
    const { program, workspace } = this.#context;
    const measure = this.#measure;
    const threads = Math.min(threadsMax, availableParallelism());
    await this.#run(measureCommand(program(measure === 'vmaf' ? 'vmaf' : 'ffmpeg'), comparisons, { measure, threads }));
    const reports = comparisons.map((comparison) => readFile(workspace.at(scoreFile(comparison)), 'utf8'));
    return (await Promise.all(reports)).map((report) => {
      const score = parseScore(report, measure);
      if (score === null) throw new KnownProblem(unmeasurable.code, unmeasurable.message);
      return score;
    });
  }

  async #run(command: Command): Promise<void> {
    await runTool(command, { timeoutMs: this.#timeoutMs, failure: unmeasurable }, this.#context);
  }
}

/** The CRF of a rung without a target. */
function profileCrf({ codec }: Rung, { crf, hevc, av1 }: EncodingProfile): number {
  return { h264: crf, hevc: hevc.crf, av1: av1.crf }[codec];
}

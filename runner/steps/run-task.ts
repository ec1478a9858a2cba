import { z } from 'zod';
import { isJobProblem } from '#domain/errors.ts';
import { exitCodeOf, exitCodes } from '#domain/exit-codes.ts';
import { toJobError } from '#domain/job-error.ts';
import { defaultEncoding, type EncodingProfile, encodingProfileOf } from '#domain/media/encoding-profile.ts';
import { x264Presets } from '#domain/media/profiles.ts';
import { asProblem } from '#domain/resource-problem.ts';
import { runnerVariables, type Step } from '#domain/work/steps.ts';
import type { Task } from '#domain/work/task.ts';
import { type UnitInput, unitAttributes, unitKindRow } from '#domain/work/unit.ts';
import type { StepRun } from '#domain/work/unit-run.ts';
import { findProgram } from '#platform/commands/find-program.ts';
import type { ProcessorMeter } from '#platform/commands/processor-time.ts';
import { readRepeatedly } from '#platform/commands/read-repeatedly.ts';
import type { Environment } from '#platform/config/variable.ts';
import type { BriefSpanSettings, BriefTracing } from '#platform/telemetry/brief-tracing.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { StepContext, Workspace } from '../context/step-context.ts';
import type { Stores } from '../context/stores.ts';
import type { PublishContext } from '../handlers/job-handler.ts';
import type { Reporter } from '../reports/reporter.ts';

/** The equipment of a runner's process, the same for every task. */
export interface RunnerProcess {
  readonly env: Environment;
  readonly log: Logger;
  readonly reporter: Reporter;
  readonly stores: Stores;
  readonly tracing: BriefTracing | null;
  readonly meter: ProcessorMeter;
  /** Its parent reads what it uses while it runs; otherwise it reports that, for the case that it is killed. */
  readonly isReadByParent: boolean;
  /** Aborts when the process must stop. */
  readonly signal: AbortSignal;
}

export interface TaskToRun {
  readonly task: Task;
  readonly workspace: Workspace;
  readonly steps: readonly Step[];
}

/** Runs steps of a task and reports their result; returns the exit code. `read` may throw, which fails the task. */
export async function runTask(read: () => TaskToRun, runner: RunnerProcess): Promise<number> {
  const { env, log, reporter, signal, tracing } = runner;
  let attempt = 1;
  const runs: StepRun[] = [];
  try {
    const { task, workspace, steps } = read();
    ({ attempt } = task);
    const program = (tool: Parameters<typeof findProgram>[0]) => findProgram(tool, env);
    const base = { task, workspace, profile: profileOf(task, env), program, reporter, signal };
    for (const step of steps) {
      const stepLog = log.child({ job_id: task.job_id, attempt, step });
      const run = () => measured(step, runs, runner, () => runStep(step, { ...base, log: stepLog }, runner));
      await (tracing === null ? run() : tracing.withSpan(`step ${step}`, spanOf(task), run));
      signal.throwIfAborted();
    }
    reporter.result(null, runs);
    return exitCodes.done;
  } catch (thrown) {
    if (signal.aborted) {
      log.info({ reason: String(signal.reason) }, 'step stopped');
      // What it has taken so far counts as usage.
      reporter.result(null, runs);
      return exitCodes.stopped;
    }
    const error = asProblem(thrown);
    log.error({ err: thrown, code: isJobProblem(error) ? error.code : 'internal' }, 'step failed');
    const jobError = toJobError(error, attempt);
    reporter.result(jobError, runs);
    return exitCodeOf(jobError.code);
  }
}

/** Adds to `runs` what a step took, whatever its end. The start of the process counts as part of its first step. */
async function measured(
  step: Step,
  runs: StepRun[],
  { meter, reporter, isReadByParent }: Pick<RunnerProcess, 'meter' | 'reporter' | 'isReadByParent'>,
  work: () => Promise<void>,
): Promise<void> {
  const [startedAt, startedMs] = [new Date(), performance.now()];
  const runOf = (processorMs: number | null, code: StepRun['code'] = null): StepRun => ({
    step,
    started_at: startedAt.toISOString(),
    duration_ms: Math.round(performance.now() - startedMs),
    processor_ms: processorMs,
    code,
  });
  const ended = new AbortController();
  const report = () => reporter.used([...runs, runOf(meter.soFarMs())]);
  if (!isReadByParent) void readRepeatedly(report, ended.signal);
  let code: StepRun['code'] = null;
  try {
    await work();
  } catch (thrown) {
    ({ code } = toJobError(asProblem(thrown), 1));
    throw thrown;
  } finally {
    ended.abort();
    runs.push(runOf(meter.lapMs(), code));
  }
}

/** Each step loads its own modules: the step that decodes untrusted bytes has no storage client. */
async function runStep(step: Step, context: StepContext, { env, stores }: RunnerProcess): Promise<void> {
  if (step === 'process') {
    const { processSource } = await import('./process.ts');
    await processSource(context);
  } else if (step === 'fetch') {
    const { input } = unitKindRow(context.task.unit.kind);
    const [{ fetchers }, store] = await Promise.all([import('./fetch.ts'), stores.open(storeOf[input])]);
    await fetchers[input](context, store);
  } else {
    const [{ publishResults }, media] = await Promise.all([import('./publish.ts'), stores.open('MEDIA')]);
    await publishResults({ ...context, media, encryption: readEncryption(env) });
  }
}

/** The bucket that a unit's input is in. */
const storeOf = { source: 'SOURCE', chunk_source: 'MEDIA', nothing: 'MEDIA' } as const satisfies Record<
  UnitInput,
  string
>;

function profileOf({ profile }: Task, env: Environment): EncodingProfile {
  // For demos and tests on slow machines: a faster preset costs quality at the same bitrate.
  const preset = z
    .enum(x264Presets)
    .optional()
    .parse(env['X264_PRESET'] === '' ? undefined : env['X264_PRESET']);
  return {
    ...(profile === null ? defaultEncoding : encodingProfileOf(profile)),
    ...(preset === undefined ? {} : { preset }),
  };
}

function readEncryption(env: Environment): PublishContext['encryption'] {
  const [given, endpoint] = [env[runnerVariables.contentKey], env[runnerVariables.keyEndpoint]];
  if (given === undefined || given === '') return null;
  const [, kid, key] = /^([0-9a-f]{32}):([0-9a-f]{32})$/i.exec(given) ?? [];
  if (kid === undefined || key === undefined) {
    throw new Error(`${runnerVariables.contentKey} must be <kid>:<key>, each 32 hex digits`);
  }
  if (endpoint === undefined || !URL.canParse(endpoint))
    throw new Error(`${runnerVariables.keyEndpoint} must be a URL`);
  return { contentKey: { kid: kid.toLowerCase(), key: Buffer.from(key, 'hex') }, keyEndpoint: endpoint };
}

/** The span of a step in the trace of its attempt. */
function spanOf({ job_id: id, attempt, type, trace, unit }: Task): BriefSpanSettings {
  return {
    parent: trace,
    attributes: { 'job.id': id, 'job.type': type, 'job.attempt': attempt, ...unitAttributes(unit) },
  };
}

import { availableParallelism } from 'node:os';
import { Readable } from 'node:stream';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import type { Job, TraceContext } from '#domain/jobs/job.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import { keyEndpoint } from '#domain/playback/endpoints.ts';
import { exitCodes } from '#domain/exit-codes.ts';
import { accessOf, type StepAccess, stepVariables } from '#domain/work/access.ts';
import type { Split } from '#domain/work/split.ts';
import { runnerVariables, type StepName } from '#domain/work/steps.ts';
import { type Task, taskOf } from '#domain/work/task.ts';
import { type Unit, unitAttributes, unitKindRow } from '#domain/work/unit.ts';
import { boundedRuns, type StepRun, type UnitRun } from '#domain/work/unit-run.ts';
import type { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import { BriefTracing } from '#platform/telemetry/brief-tracing.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { CommandTime } from '#platform/commands/command-time.ts';
import { type Isolation, runIsolated } from '#platform/commands/isolation.ts';
import { readRepeatedly } from '#platform/commands/read-repeatedly.ts';
import type { RunOptions } from '#platform/commands/run-command.ts';
import type { TaskOutcome, TaskWatch } from './warm-runner.ts';
import type { WarmRunners } from './warm-runners.ts';
import { type ProgressOfReport, reportReader, showLogLine } from './step-output.ts';

export interface StepDependencies {
  readonly jobs: Pick<JobStore, 'report'>;
  readonly contentKeys: Pick<ContentKeyStore, 'findOrCreate'>;
  readonly log: Logger;
  /** Node and the runner's main file. */
  readonly runner: { readonly program: string; readonly script: string };
  /** Variables that every step's environment holds. */
  readonly base: Readonly<Record<string, string>>;
  readonly storage: {
    readonly source: Readonly<Record<string, string>>;
    readonly media: Readonly<Record<string, string>>;
  };
  /** For the step `process`; null where this machine has none. */
  readonly isolation: Isolation | null;
  /** They run the step `all`. */
  readonly warmRunners: Pick<WarmRunners, 'run'>;
  readonly baseUrl: string;
  readonly maxFileSizeBytes: number;
  /** A step that takes longer than this is stopped, and its attempt fails. */
  readonly stepTimeoutMs: number;
  readonly clock: () => Date;
}

type StepOutcome = Pick<TaskOutcome, 'exitCode' | 'signal' | 'timedOut'>;

export interface AttemptToRun {
  readonly job: Job;
  /** The span that the steps continue. */
  readonly trace: TraceContext;
  readonly workspace: string;
  /** Takes what a run of a unit has taken, again and again until it has ended; `run` is the same each time. */
  readonly onUnit: (unit: UnitRun, run: object) => void;
  /** Aborts when the attempt is to stop; the exit codes of its processes do not count then. */
  readonly signal: AbortSignal;
}

export interface UnitToRun extends AttemptToRun {
  readonly unit: Unit;
  /** The pieces that the source was split into; null before. */
  readonly split: Split | null;
  /** The job's progress by a report of the unit; by default the unit's own. */
  readonly progress?: ProgressOfReport;
}

/** Runs the steps of a unit, one after another, up to the first that fails. */
export async function runSteps(unit: UnitToRun, dependencies: StepDependencies): Promise<AttemptEnd> {
  const runs = new Map<StepName, readonly StepRun[]>();
  const { kind } = unit.unit;
  const chunk = 'chunk' in unit.unit ? unit.unit.chunk : null;
  const onRuns = (step: StepName, of: readonly StepRun[]) => {
    runs.set(step, of);
    unit.onUnit({ unit: kind, chunk, pod: null, steps: [...runs.values()].flat() }, runs);
  };
  let end: AttemptEnd = { kind: 'done' };
  for (const step of unitKindRow(kind).steps) {
    end = await runStep(step, { ...unit, onRuns: (of) => onRuns(step, of) }, dependencies);
    if (end.kind !== 'done') break;
  }
  return end;
}

/** `onRuns` takes what the step has run so far. */
type StepToRun = UnitToRun & { readonly onRuns: (runs: readonly StepRun[]) => void };

async function runStep(step: StepName, attempt: StepToRun, dependencies: StepDependencies): Promise<AttemptEnd> {
  const { job, workspace, signal } = attempt;
  const { runner, isolation, stepTimeoutMs, clock, log } = dependencies;
  const reports = reportReader(job, dependencies, attempt.progress);
  const startedAt = clock();
  let processorMs: number | null = null;
  const noteRuns = () => {
    const seen = { ...observedRun(step, startedAt, clock()), processor_ms: processorMs };
    attempt.onRuns(boundedRuns(reports.steps(), seen, availableParallelism()));
  };
  const watch = {
    signal,
    timeoutMs: stepTimeoutMs,
    onReportLine: (line: string) => {
      reports.read(line);
      noteRuns();
    },
    onLogLine: (line: string) => showLogLine(line, { job, step, log }),
    onProcessorTime: (usedMs: number | null) => {
      processorMs = usedMs === null ? null : Math.round(usedMs);
      noteRuns();
    },
  };
  const run = async () => {
    if (step === 'all')
      return dependencies.warmRunners.run({ task: writtenTask(attempt, dependencies), workspace }, watch);
    const command = { program: runner.program, args: [runner.script, step] };
    return runMeasured(command, (step === 'process' ? isolation : null) ?? [], watch, {
      cwd: workspace,
      env: await environmentOf(step, attempt, dependencies),
    });
  };
  const ended = step === 'process' ? await traced(run, attempt, dependencies) : await run();
  await reports.end();
  noteRuns();
  if (signal.aborted) return { kind: 'disrupted' };
  if (ended.timedOut) {
    const error = jobErrorOf('deadline_exceeded', job.attempt);
    return { kind: 'failed', exitCode: exitCodes.transient, error: { ...error, stage: step } };
  }
  if (ended.exitCode === exitCodes.done) return { kind: 'done' };
  // Stopped, but not by this worker: the machine is shutting down and signals its processes one by one.
  if (ended.exitCode === exitCodes.stopped || ended.signal === 'SIGTERM') return { kind: 'disrupted' };
  const { exitCode } = ended;
  log.warn({ job_id: job.id, attempt: job.attempt, step, exit_code: exitCode, signal: ended.signal }, 'step failed');
  return { kind: 'failed', exitCode, error: reports.error() };
}

/** Runs the process of a step, and reads its processor time meanwhile and at its end, however it ends. */
async function runMeasured(
  command: Parameters<typeof runIsolated>[0],
  isolation: Isolation,
  watch: TaskWatch,
  options: Pick<RunOptions, 'cwd' | 'env'>,
): Promise<StepOutcome> {
  const time = new CommandTime();
  const reading = new AbortController();
  void readRepeatedly(() => watch.onProcessorTime(time.readMs()), reading.signal);
  try {
    return await runIsolated(command, isolation, {
      ...options,
      signal: watch.signal,
      timeoutMs: watch.timeoutMs,
      stdin: neverEnding(),
      onStdoutLine: watch.onReportLine,
      onStderrLine: watch.onLogLine,
      stdoutBytesMax: 0,
      time,
    });
  } finally {
    reading.abort();
    watch.onProcessorTime(time.readMs());
  }
}

/** A step as its parent sees it. */
function observedRun(step: StepName, startedAt: Date, endedAt: Date): StepRun {
  const durationMs = Math.max(0, endedAt.getTime() - startedAt.getTime());
  return { step, started_at: startedAt.toISOString(), duration_ms: durationMs, processor_ms: null, code: null };
}

/** The step `process` may reach no collector, so this process sends its span. */
async function traced(
  run: () => Promise<StepOutcome>,
  { job, trace, unit }: UnitToRun,
  { base }: StepDependencies,
): Promise<StepOutcome> {
  const endpoint = base[runnerVariables.otlpEndpoint];
  if (endpoint === undefined) return run();
  const tracing = new BriefTracing({ endpoint, serviceName: 'reelwright-runner' });
  const attributes = {
    'job.id': job.id,
    'job.type': job.type,
    'job.attempt': job.attempt,
    ...unitAttributes(unit),
  };
  const failure = new Error('the step failed');
  let ended: StepOutcome | undefined;
  const runAndFail = async () => {
    ended = await run();
    if (ended.exitCode !== exitCodes.done) throw failure;
  };
  await tracing.withSpan('step process', { parent: trace, attributes }, runAndFail).catch((error: unknown) => {
    if (error !== failure) throw error;
  });
  void tracing.send();
  return ended as StepOutcome;
}

function writtenTask({ job, trace, unit, split }: UnitToRun, { maxFileSizeBytes }: StepDependencies): Task {
  return taskOf({ job, unit, split, maxFileSizeBytes, trace }) as Task;
}

async function environmentOf(
  step: StepName,
  attempt: UnitToRun,
  dependencies: StepDependencies,
): Promise<Record<string, string>> {
  const { job, workspace } = attempt;
  const { storage, baseUrl } = dependencies;
  const { [runnerVariables.otlpEndpoint]: _collector, ...base } = dependencies.base;
  const access = accessOf(step, attempt.unit.kind, job);
  return {
    ...stepVariables({
      access,
      task: writtenTask(attempt, dependencies),
      workspace,
      base: step === 'process' ? base : dependencies.base,
      storage,
      keyEndpoint: keyEndpoint(baseUrl, job.hash),
    }),
    ...(await contentKeyVariable(access, job, dependencies)),
    ...endsWithParent,
  };
}

/** The runner ends once its standard input closes, so that a killed worker leaves no process behind. */
export const endsWithParent = { RUNNER_PARENT: 'stdin' };

/** The content key, for a step that may have it; its row is committed before packaging starts. */
async function contentKeyVariable(
  { hasContentKey }: StepAccess,
  job: Job,
  { contentKeys }: StepDependencies,
): Promise<Record<string, string>> {
  if (!hasContentKey) return {};
  const { kid, key } = await contentKeys.findOrCreate(job.hash);
  return { [runnerVariables.contentKey]: `${kid}:${key.toString('hex')}` };
}

/** A standard input that stays open as long as this process lives. */
function neverEnding(): Readable {
  return new Readable({ read() {} });
}

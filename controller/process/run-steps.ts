import { Readable } from 'node:stream';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import type { JobError } from '#domain/job-error.ts';
import type { Job, TraceContext } from '#domain/jobs/job.ts';
import { progressOf } from '#domain/jobs/progress.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import { keyEndpoint } from '#domain/playback/endpoints.ts';
import { exitCodes } from '#domain/exit-codes.ts';
import { parseReport } from '#domain/runner/report.ts';
import { runnerVariables } from '#domain/runner/steps.ts';
import { redact } from '#domain/redact.ts';
import { runCommand } from '#platform/commands/run-command.ts';
import type { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { runnerTaskOf } from '#jobs/runner-task.ts';
import { accessOf, type StepAccess, type StepName, stepsOf, stepVariables } from '#jobs/step-access.ts';

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
  readonly baseUrl: string;
  readonly maxFileSizeBytes: number;
  /** A step that takes longer than this is stopped, and its attempt fails. */
  readonly stepTimeoutMs: number;
}

export interface AttemptToRun {
  readonly job: Job;
  /** The span that the steps continue. */
  readonly trace: TraceContext;
  readonly workspace: string;
  /** Aborts when the attempt is to stop; the exit codes of its processes do not count then. */
  readonly signal: AbortSignal;
}

/** Runs the steps of an attempt one after another, up to the first that fails. */
export async function runSteps(attempt: AttemptToRun, dependencies: StepDependencies): Promise<AttemptEnd> {
  for (const step of stepsOf(attempt.job.type)) {
    const end = await runStep(step, attempt, dependencies);
    if (end.kind !== 'done') return end;
  }
  return { kind: 'done' };
}

async function runStep(
  step: StepName,
  { job, trace, workspace, signal }: AttemptToRun,
  dependencies: StepDependencies,
): Promise<AttemptEnd> {
  const { runner, base, storage, baseUrl, maxFileSizeBytes, stepTimeoutMs, log } = dependencies;
  const reports = reportReader(job, dependencies);
  const access = accessOf(step, job);
  const ended = await runCommand(
    { program: runner.program, args: [runner.script, step] },
    {
      signal,
      timeoutMs: stepTimeoutMs,
      cwd: workspace,
      env: {
        ...stepVariables({
          access,
          task: runnerTaskOf({ job, maxFileSizeBytes, trace }),
          workspace,
          base,
          storage,
          keyEndpoint: keyEndpoint(baseUrl, job.hash),
        }),
        ...(await contentKeyVariable(access, job, dependencies)),
        // The runner ends once its standard input closes, so that a killed worker leaves no process behind.
        RUNNER_PARENT: 'stdin',
      },
      stdin: neverEnding(),
      onStdoutLine: reports.read,
      onStderrLine: (line) => showLogLine(line, { job, step, log }),
      stdoutBytesMax: 0,
    },
  );
  await reports.written();
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

/** Reads a step's reports: its error, and its progress, of which the newest is written as fast as the database takes it. */
function reportReader(job: Job, { jobs, log }: StepDependencies) {
  let error: JobError | null = null;
  let newest: { phase: Parameters<typeof progressOf>[0]; progress: number } | null = null;
  let writing: Promise<void> | null = null;
  const write = async () => {
    while (newest !== null) {
      const { phase, progress } = newest;
      newest = null;
      await jobs.report({ jobId: job.id, attempt: job.attempt, phase, progress });
    }
  };
  return {
    read: (line: string) => {
      const report = parseReport(line);
      if (report?.type === 'result') error = report.error === null ? null : { ...report.error, attempt: job.attempt };
      if (report?.type === 'warning') log.info({ job_id: job.id, warning: report.warning }, 'runner warning');
      if (report?.type !== 'phase' && report?.type !== 'progress') return;
      const fraction = report.type === 'phase' ? 0 : report.fraction;
      newest = { phase: report.phase, progress: progressOf(report.phase, fraction) };
      writing ??= write()
        .catch((cause: unknown) => log.warn({ err: cause, job_id: job.id }, 'progress write failed'))
        .finally(() => (writing = null));
    },
    error: () => error,
    written: () => writing ?? Promise.resolve(),
  };
}

/** The runner's log lines are JSON; any other line on its standard error comes from a crash. */
function showLogLine(line: string, { job, step, log }: { job: Job; step: string; log: Logger }): void {
  if (line.trim() === '') return;
  const stepLog = log.child({ job_id: job.id, attempt: job.attempt, step });
  const entry = jsonObjectOf(line);
  if (entry === null) return stepLog.warn({ line: redact(line) }, 'runner output');
  const { level, msg, time: _time, name: _name, ...fields } = entry;
  const text = typeof msg === 'string' ? msg : '';
  if (level === 'error' || level === 'fatal') stepLog.error(fields, text);
  else if (level === 'warn') stepLog.warn(fields, text);
  else if (level === 'info') stepLog.info(fields, text);
  else stepLog.debug(fields, text);
}

function jsonObjectOf(line: string): Record<string, unknown> | null {
  if (!line.startsWith('{')) return null;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return null;
  }
}

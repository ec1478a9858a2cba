import type { JobError } from '#domain/job-error.ts';
import type { Job } from '#domain/jobs/job.ts';
import { progressOf } from '#domain/jobs/progress.ts';
import { redact } from '#domain/redact.ts';
import type { JobPhase } from '#domain/jobs/status.ts';
import { parseReport, type Report } from '#domain/work/report.ts';
import type { StepRun } from '#domain/work/unit-run.ts';
import { pause } from '#platform/lifecycle/backoff.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';

// The two outputs of a step's process: reports on standard output, log lines on standard error.

interface OutputDependencies {
  readonly jobs: Pick<JobStore, 'report'>;
  readonly log: Logger;
}

/** The wait before each write of progress: a brief step ends before its first one, which saves three writes. */
const progressPauseMs = 250;

/** The progress of the whole job by a report; null where the report says nothing of it. */
export type ProgressOfReport = (
  report: Extract<Report, { readonly phase: JobPhase }>,
) => { readonly phase: JobPhase; readonly progress: number } | null;

/** A step's progress is the job's. */
const ownProgress: ProgressOfReport = (report) => {
  const fraction = report.type === 'phase' ? 0 : report.fraction;
  return { phase: report.phase, progress: progressOf(report.phase, fraction) };
};

/** Reads a step's reports: its error, and its progress, of which the newest is written four times a second. */
export function reportReader(job: Job, { jobs, log }: OutputDependencies, progressIn: ProgressOfReport = ownProgress) {
  let error: JobError | null = null;
  let steps: readonly StepRun[] = [];
  let newest: ReturnType<ProgressOfReport> = null;
  let writing: Promise<void> | null = null;
  const ended = new AbortController();
  const write = async () => {
    while (newest !== null) {
      await pause(progressPauseMs, ended.signal);
      if (ended.signal.aborted) return;
      const { phase, progress } = newest;
      newest = null;
      await jobs.report({ jobId: job.id, attempt: job.attempt, phase, progress });
    }
  };
  return {
    read: (line: string) => {
      const report = parseReport(line);
      if (report?.type === 'result') {
        error = report.error === null ? null : { ...report.error, attempt: job.attempt };
        ({ steps } = report);
      }
      if (report?.type === 'used') ({ steps } = report);
      if (report?.type === 'warning') log.info({ job_id: job.id, warning: report.warning }, 'runner warning');
      if (report?.type !== 'phase' && report?.type !== 'progress') return;
      newest = progressIn(report) ?? newest;
      writing ??= write()
        .catch((cause: unknown) => log.warn({ err: cause, job_id: job.id }, 'progress write failed'))
        .finally(() => (writing = null));
    },
    error: () => error,
    /** The steps that its runner measured; of one that was killed, what it said last. */
    steps: () => steps,
    /** Ends the writes: what follows the step writes the row itself, or its next step reports. */
    async end() {
      ended.abort();
      await writing;
    },
  };
}

/**
 * Logs a line of the runner, with its fields under `runner`. The runner's lines are JSON; any other line on its
 * standard error comes from a crash.
 */
export function showLogLine(
  line: string,
  { job, step, log }: { job: Pick<Job, 'id' | 'attempt'>; step: string; log: Logger },
): void {
  if (line.trim() === '') return;
  const stepLog = log.child({ job_id: job.id, attempt: job.attempt, step });
  const entry = jsonObjectOf(line);
  if (entry === null) return stepLog.warn({ line: redact(line) }, 'runner output');
  const { level, msg, time: _time, name: _name, ...runner } = entry;
  const text = typeof msg === 'string' ? msg : '';
  if (level === 'error' || level === 'fatal') stepLog.error({ runner }, text);
  else if (level === 'warn') stepLog.warn({ runner }, text);
  else if (level === 'info') stepLog.info({ runner }, text);
  else stepLog.debug({ runner }, text);
}

function jsonObjectOf(line: string): Record<string, unknown> | null {
  if (!line.startsWith('{')) return null;
  try {
    return JSON.parse(line) as Record<string, unknown>;
  } catch {
    return null;
  }
}

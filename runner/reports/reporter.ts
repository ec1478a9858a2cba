import type { Warning } from '#domain/job-types/shared-results.ts';
import type { JobError } from '#domain/job-error.ts';
import type { JobPhase } from '#domain/jobs/status.ts';
import type { Report } from '#domain/work/report.ts';
import type { StepRun } from '#domain/work/unit-run.ts';

/** Reports the progress of a step to the parent process. */
export interface Reporter {
  phase(phase: JobPhase): void;
  /** `fraction` of the current phase, 0–1. */
  progress(fraction: number): void;
  warn(warning: Warning): void;
  /** What the steps have taken so far, the current one last. */
  used(steps: readonly StepRun[]): void;
  /** The last report of a step. */
  result(error: JobError | null, steps: readonly StepRun[]): void;
}

const progressStep = 0.01;
const progressEveryMs = 500;

/**
 * Passes reports to `write`. Progress is reported at most twice a second and only when it grew by a percent; it never
 * falls within a phase.
 */
export function createReporter(write: (report: Report) => void, now: () => number = Date.now): Reporter {
  let phase: JobPhase = 'probing';
  let fractionReported = 0;
  let reportedAt = 0;
  return {
    phase(next) {
      phase = next;
      fractionReported = 0;
      write({ type: 'phase', phase });
    },
    progress(fraction) {
      const clamped = Math.min(1, Math.max(0, fraction));
      if (!(clamped >= fractionReported + progressStep) || now() - reportedAt < progressEveryMs) return;
      fractionReported = clamped;
      reportedAt = now();
      write({ type: 'progress', phase, fraction: clamped });
    },
    warn(warning) {
      write({ type: 'warning', warning });
    },
    used(steps) {
      write({ type: 'used', steps: [...steps] });
    },
    result(error, steps) {
      write({ type: 'result', error, steps: [...steps] });
    },
  };
}

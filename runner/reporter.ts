import type { Warning } from '#domain/job-types/shared-results.ts';
import type { JobError } from '#domain/job-error.ts';
import type { JobPhase } from '#domain/jobs/status.ts';
import type { Report } from '#domain/runner/report.ts';

/** Tells the parent how the step is getting on. */
export interface Reporter {
  phase(phase: JobPhase): void;
  /** `fraction` of the current phase, 0–1. */
  progress(fraction: number): void;
  warn(warning: Warning): void;
  /** The last word of a step. */
  result(error: JobError | null): void;
}

const progressStep = 0.01;
const progressEveryMs = 500;

/**
 * Writes reports, each a line, through `write`. Progress goes out at most twice a second, when it has grown by a
 * percent; it never falls within a phase.
 */
export function createReporter(write: (report: Report) => void, now: () => number = Date.now): Reporter {
  let phase: JobPhase = 'probing';
  let fractionShown = 0;
  let shownAt = 0;
  return {
    phase(next) {
      phase = next;
      fractionShown = 0;
      write({ type: 'phase', phase });
    },
    progress(fraction) {
      const clamped = Math.min(1, Math.max(0, fraction));
      if (!(clamped >= fractionShown + progressStep) || now() - shownAt < progressEveryMs) return;
      fractionShown = clamped;
      shownAt = now();
      write({ type: 'progress', phase, fraction: clamped });
    },
    warn(warning) {
      write({ type: 'warning', warning });
    },
    result(error) {
      write({ type: 'result', error });
    },
  };
}

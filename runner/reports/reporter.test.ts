import { expect, it } from 'vitest';
import { parseReport, type Report } from '#domain/work/report.ts';
import { createReporter } from './reporter.ts';

const run = {
  step: 'fetch',
  started_at: '2026-11-24T08:00:00.000Z',
  duration_ms: 900,
  processor_ms: 310,
  code: null,
} as const;

function reporterAt(times: { ms: number }) {
  const reports: Report[] = [];
  return {
    reports,
    reporter: createReporter(
      (report) => reports.push(report),
      () => times.ms,
    ),
  };
}

it('progress is reported at most twice a second, in steps of at least a percent, and never falls', () => {
  const clock = { ms: 1000 };
  const { reports, reporter } = reporterAt(clock);
  reporter.phase('encoding');
  for (const [ms, fraction] of [
    [1000, 0.1],
    [1100, 0.2],
    [1600, 0.3],
    [2200, 0.305],
    [2300, 0.2],
    [2900, 7],
    [9000, Number.NaN],
  ] as const) {
    clock.ms = ms;
    reporter.progress(fraction);
  }
  expect(reports).toEqual([
    { type: 'phase', phase: 'encoding' },
    { type: 'progress', phase: 'encoding', fraction: 0.1 },
    { type: 'progress', phase: 'encoding', fraction: 0.3 },
    { type: 'progress', phase: 'encoding', fraction: 1 },
  ]);
});

it('progress starts at 0 in each phase, and every report can be parsed by the parent', () => {
  const { reports, reporter } = reporterAt({ ms: 5000 });
  reporter.phase('encoding');
  reporter.progress(0.9);
  reporter.phase('packaging');
  reporter.warn({ code: 'damaged_frames', message: 'Two frames are damaged.' });
  reporter.result(null, [run]);
  expect(reports.map((report) => parseReport(JSON.stringify(report)))).toEqual(reports);
});

import { parse } from 'yaml';
import { z } from 'zod';
import type { BenchLine } from './harness.ts';

// `expected.yaml` says what each line should be; here it is read, and lines are held against it.

const rangeSchema = z
  .strictObject({ min: z.number().optional(), max: z.number().optional() })
  .refine(({ min, max }) => (min ?? max) !== undefined && (min ?? -Infinity) <= (max ?? Infinity), {
    message: 'expected min, max, or both in order',
  });

/** What a line's value should be, both ends inclusive. */
export type Expected = z.infer<typeof rangeSchema>;

/** By the ids of lines. */
export type Expectations = Readonly<Record<string, Expected>>;

export interface Verdict {
  readonly line: BenchLine;
  /** Null when nothing is expected: the line is printed for information. */
  readonly expected: Expected | null;
  readonly verdict: 'met' | 'missed' | 'for information';
}

/** @throws Error that names the id and what is wrong with it */
export function readExpectations(text: string): Expectations {
  const read = z.record(z.string().regex(/^[a-z]+\.[a-z0-9-]+$/), rangeSchema).safeParse(parse(text) ?? {});
  if (read.success) return read.data;
  throw new Error(read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`).join('; '));
}

export function judge(lines: readonly BenchLine[], expectations: Expectations): Verdict[] {
  return lines.map((line) => {
    const expected = expectations[line.id] ?? null;
    if (expected === null) return { line, expected, verdict: 'for information' };
    // NaN lies in no range.
    const isMet = line.value >= (expected.min ?? -Infinity) && line.value <= (expected.max ?? Infinity);
    return { line, expected, verdict: isMet ? 'met' : 'missed' };
  });
}

/** The lines that the suites which ran should have given and did not. */
export function unmeasured(
  suites: readonly string[],
  lines: readonly BenchLine[],
  expectations: Expectations,
): string[] {
  const given = new Set(lines.map(({ id }) => id));
  return Object.keys(expectations).filter((id) => suites.includes(id.split('.', 1)[0] ?? '') && !given.has(id));
}

/** A table for people: a line each, columns aligned. */
export function renderTable(verdicts: readonly Verdict[]): string {
  const rows = verdicts.map(({ line, expected, verdict }) => [
    line.id,
    line.what,
    line.ours,
    line.peer,
    `${format(line.value)}${line.unit === 'ratio' ? '' : ` ${line.unit}`}`,
    expected === null ? '–' : renderExpected(expected),
    verdict,
  ]);
  const table = [['line', 'what', 'ours', 'peer', 'value', 'expected', ''], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  return table
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

function renderExpected({ min, max }: Expected): string {
  if (min === undefined) return `≤ ${max}`;
  return max === undefined ? `≥ ${min}` : `${min}–${max}`;
}

function format(value: number): string {
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(2);
}

import { createHash } from 'node:crypto';
import { durationOf, durationsSec } from '../durations.ts';

/** Part `part` of `of` parts, counted from 1. */
export interface Slice {
  readonly part: number;
  readonly of: number;
}

/** @throws Error when the text is not like `2/6` */
export function parseSlice(text: string): Slice {
  const [, part, of] = /^([1-9]\d*)\/([1-9]\d*)$/.exec(text) ?? [];
  if (Number(part) > Number(of) || of === undefined) throw new Error(`SLICE is "${text}"; it must be like 2/6 or auto`);
  return { part: Number(part), of: Number(of) };
}

/**
 * The files of a slice. Slices take about the same time by `testing/durations.json`: the longest file first, each to
 * the slice that has least. A file that is not listed there goes by the digest of its path: a new file moves no other.
 */
export function filesOfSlice(files: readonly string[], { part, of }: Slice): string[] {
  const listed = files.filter((file) => durationsSec.has(file));
  const longestFirst = listed.toSorted((one, other) => durationOf(other) - durationOf(one) || (one < other ? -1 : 1));
  const seconds = Array.from({ length: of }, () => 0);
  const slices = new Map(files.map((file) => [file, digestNumber(file) % of]));
  for (const file of longestFirst) {
    const least = seconds.indexOf(Math.min(...seconds));
    slices.set(file, least);
    seconds[least] = (seconds[least] ?? 0) + durationOf(file);
  }
  return files.filter((file) => slices.get(file) === part - 1);
}

/** The slice that a commit chooses: each commit one, all alike often. */
export function sliceOfCommit(hash: string, of: number): Slice {
  return { part: (Number.parseInt(hash.slice(0, 8), 16) % of) + 1, of };
}

function digestNumber(text: string): number {
  return createHash('sha256').update(text).digest().readUInt32BE();
}

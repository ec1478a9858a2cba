import { z } from 'zod';
import type { FirstUnit } from '../job-types/job-type.ts';
import type { StepName } from './steps.ts';

/*
 * A unit of work is what one run of the runner does. Most jobs are one unit. A long video is encoded in chunks, by
 * several units, in any order that `follows` allows, on any machines:
 *
 *   split ──▶ chunk 0 … chunk n ──▶ finish
 *
 * `split` examines the source, cuts it, and encodes the audio; a source that stays in one piece it encodes whole.
 * `chunk` encodes one chunk. `finish` writes the playlists and the result manifest. Units share no disk: what one hands
 * to another is below `work/<rev>/` in the media bucket, and a document of the job (`splitKey`) names that revision.
 *
 * Everything that depends on the kind of a unit is a column here. Code asks for the column and never for the kind.
 */

/** The object that `fetch` copies into the workspace. */
export type UnitInput = 'source' | 'chunk_source' | 'nothing';

/** A row of the table of unit kinds. */
export interface UnitKindRow {
  /** In order; each has the rights of `accessOf`. */
  readonly steps: readonly StepName[];
  readonly input: UnitInput;
  /** Whether it writes under a revision that other jobs and attempts share, instead of one of its attempt alone. */
  readonly isShared: boolean;
  /** Whether several run at once, each in a pod that may be replaced while its attempt goes on. */
  readonly isParallel: boolean;
  /** Whether its runner may do one after another, of any jobs. */
  readonly sharesRunner: boolean;
  /** How often one may fail by itself before its attempt does. */
  readonly retriesMax: number;
  /** Whether what `publish` packages is the output of the job, so that the job's phase is `packaging` meanwhile. */
  readonly packagesOutput: boolean;
  /** The kinds of units that may come after it in its attempt, in their order. */
  readonly follows: readonly UnitKind[];
  /** Ends the name of what runs it, so that each kind of an attempt has a name of its own; a first unit has none. */
  readonly nameSuffix: string;
}

const oneJob = {
  steps: ['fetch', 'process', 'publish'],
  input: 'source',
  isShared: false,
  isParallel: false,
  sharesRunner: false,
  retriesMax: 0,
  packagesOutput: true,
  follows: [],
  nameSuffix: '',
} as const;

/** The kinds of units. A new one is a row here, a schema in `unitSchema`, and a handler in `runner/handlers`. */
export const unitKinds = {
  /** A job in one piece. */
  whole: oneJob,
  /** An image job, whose decoding is bounded, so that one process may run all steps, of one job after another. */
  image: { ...oneJob, steps: ['all'], sharesRunner: true },
  split: { ...oneJob, packagesOutput: false, follows: ['chunk', 'finish'] },
  chunk: {
    ...oneJob,
    input: 'chunk_source',
    isShared: true,
    isParallel: true,
    retriesMax: 2,
    packagesOutput: false,
    follows: ['finish'],
    nameSuffix: '-c',
  },
  finish: { ...oneJob, steps: ['publish'], input: 'nothing', isShared: true, nameSuffix: '-f' },
} as const satisfies Readonly<Record<FirstUnit, unknown>> & Readonly<Record<string, unknown>>;

export type UnitKind = keyof typeof unitKinds;

/** The kinds of units that a job type may have whose first unit is `First`. */
export type UnitsFrom<First extends FirstUnit> = First | (typeof unitKinds)[First]['follows'][number];

/** The row of a kind, for code that treats all kinds alike. */
export function unitKindRow(kind: UnitKind): UnitKindRow {
  return unitKinds[kind];
}

/** A unit in the task document. */
export const unitSchema = z.discriminatedUnion('kind', [
  z.strictObject({ kind: z.literal('whole') }),
  z.strictObject({ kind: z.literal('image') }),
  z.strictObject({ kind: z.literal('split'), chunk_sec: z.number().positive() }),
  /** Chunks count from 0. */
  z.strictObject({ kind: z.literal('chunk'), chunk: z.int().nonnegative() }),
  z.strictObject({ kind: z.literal('finish') }),
]);
export type Unit = z.infer<typeof unitSchema>;

/** A unit of a kind: `split` cuts chunks of about `chunkSec` seconds, and a chunk has its index, from 0. */
export function unitOf(kind: UnitKind, { chunkSec, chunk = 0 }: { chunkSec: number; chunk?: number }): Unit {
  if (kind === 'split') return { kind, chunk_sec: chunkSec };
  return kind === 'chunk' ? { kind, chunk } : { kind };
}

/** The attributes of a unit's spans in the trace of its attempt. */
export function unitAttributes(unit: Unit): Readonly<Record<string, string | number>> {
  return { 'job.unit': unit.kind, ...('chunk' in unit ? { 'job.chunk': unit.chunk } : {}) };
}

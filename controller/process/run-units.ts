import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { delayAfter } from '#domain/backoff.ts';
import { exitCodes } from '#domain/exit-codes.ts';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import { progressOf } from '#domain/jobs/progress.ts';
import { encodedShare, type Split } from '#domain/work/split.ts';
import { type Unit, unitKindRow, unitOf } from '#domain/work/unit.ts';
import { type NextUnits, nextUnits } from '#jobs/completion/next-units.ts';
import { pause } from '#platform/lifecycle/backoff.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { type AttemptToRun, runSteps, type StepDependencies } from './run-steps.ts';
import type { ProgressOfReport } from './step-output.ts';

export interface UnitDependencies extends StepDependencies {
  readonly media: ObjectStore;
  /** `CHUNK_LENGTH`, in seconds. */
  readonly chunkSec: number;
  /** `WORKER_CHUNK_PARALLELISM`: how many chunks of a job are encoded at once. */
  readonly chunkParallelism: number;
}

/**
 * Runs the units of an attempt on this machine, up to the first that fails for good. What is finished in the media
 * bucket is not run again, so an attempt continues where the one before it stopped, on whatever machine that was.
 *
 * @throws KnownProblem `storage_error`
 */
export async function runUnits(attempt: AttemptToRun, dependencies: UnitDependencies): Promise<AttemptEnd> {
  const { media } = dependencies;
  let next = await nextUnits(attempt.job, null, media);
  while (next !== null) {
    const end = await runNext(next, attempt, dependencies);
    if (end.kind !== 'done') return end;
    next = await nextUnits(attempt.job, next.kind, media);
  }
  return { kind: 'done' };
}

/**
 * Runs units of one kind, a few at once where they may be, up to the first that fails; those that run then end first.
 */
async function runNext(next: NextUnits, attempt: AttemptToRun, dependencies: UnitDependencies): Promise<AttemptEnd> {
  const { kind, split, chunks } = next;
  const { chunkSec, chunkParallelism, log } = dependencies;
  const isParallel = split !== null && unitKindRow(kind).isParallel;
  const progress = isParallel ? chunkProgress(split, chunks) : null;
  if (isParallel) {
    const count = split.chunk_frames.length;
    const ids = { job_id: attempt.job.id, attempt: attempt.job.attempt };
    log.info({ ...ids, chunks: count, finished: count - chunks.length }, 'chunks to encode');
  }
  const pending = (isParallel ? chunks : [0]).values();
  let failure: AttemptEnd | null = null;
  const runPending = async (): Promise<void> => {
    for (const chunk of pending) {
      const unit = unitOf(kind, { chunkSec, chunk });
      const end = await withRetries(unit, attempt, log, () =>
        inFolder(isParallel ? `${kind}-${chunk}` : kind, attempt, (workspace) =>
          runSteps(
            { ...attempt, workspace, unit, split, ...(progress ? { progress: progress(chunk) } : {}) },
            dependencies,
          ),
        ),
      );
      if (end.kind !== 'done') failure ??= end;
      if (failure !== null) return;
    }
  };
  await Promise.all(Array.from({ length: isParallel ? chunkParallelism : 1 }, runPending));
  return failure ?? { kind: 'done' };
}

const retryBackoff = { baseMs: 2_000, maxMs: 60_000, factor: 4 };

/** Runs a unit again after a failure that need not last, as often as its kind may fail. */
async function withRetries(
  unit: Unit,
  { job, signal }: Pick<AttemptToRun, 'job' | 'signal'>,
  log: Logger,
  run: () => Promise<AttemptEnd>,
): Promise<AttemptEnd> {
  const { retriesMax } = unitKindRow(unit.kind);
  for (let failures = 1; ; failures += 1) {
    const end = await run();
    if (end.kind !== 'failed' || end.exitCode === exitCodes.permanent || failures > retriesMax) return end;
    log.warn({ job_id: job.id, attempt: job.attempt, unit, code: end.error?.code }, 'unit failed, trying again');
    await pause(delayAfter(failures, retryBackoff), signal);
    // Stopped in between: that costs no attempt.
    if (signal.aborted) return { kind: 'disrupted' };
  }
}

/** Gives a unit a folder of its own, so that scratch space is bounded by the units which run. */
async function inFolder(
  name: string,
  { workspace }: AttemptToRun,
  work: (folder: string) => Promise<AttemptEnd>,
): Promise<AttemptEnd> {
  const folder = join(workspace, name);
  await mkdir(folder);
  try {
    return await work(folder);
  } finally {
    await rm(folder, { recursive: true, force: true, maxRetries: 3 });
  }
}

/** Reads the reports of chunks: the job's progress is the share of its frames that is encoded. */
function chunkProgress(split: Split, pending: readonly number[]): (chunk: number) => ProgressOfReport {
  const fractions = new Map(pending.map((chunk) => [chunk, 0]));
  return (chunk) => (report) => {
    if (report.phase !== 'encoding') return null;
    fractions.set(chunk, report.type === 'progress' ? report.fraction : 0);
    const share = encodedShare(split, (each) => fractions.get(each) ?? 1);
    return { phase: 'encoding', progress: progressOf('encoding', share) };
  };
}

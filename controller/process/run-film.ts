import { mkdir, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { jobTypeRow } from '#domain/job-types/index.ts';
import type { AttemptEnd } from '#domain/jobs/attempts.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { type FilmWork, findFilmWork } from '#jobs/film.ts';
import { FilmProgress } from './film-progress.ts';
import { type AttemptToRun, runSteps, type StepDependencies } from './run-steps.ts';

/*
 * The work of an attempt on this machine. A long video is a film (domain/runner/film.ts): it is split, its chunks are
 * encoded, a few at once, and its playlists are written. The records in the media bucket say which chunks are finished,
 * so an attempt continues where the one before it stopped, on whatever machine that was.
 */

export interface FilmDependencies extends StepDependencies {
  readonly media: ObjectStore;
  /** `CHUNK_LENGTH`, in seconds. */
  readonly chunkSec: number;
  /** `WORKER_CHUNK_PARALLELISM`: how many chunks of a job are encoded at once. */
  readonly chunkParallelism: number;
}

/** Runs the work of an attempt: its steps, or the parts of a film. @throws KnownProblem `storage_error` */
export async function runWork(attempt: AttemptToRun, dependencies: FilmDependencies): Promise<AttemptEnd> {
  const { job } = attempt;
  if (!jobTypeRow(job.type).hasChunks) return runSteps(attempt, dependencies);
  // Only an attempt before this one can have split the source.
  let work = job.attempt === 1 ? null : await findFilmWork(job.id, dependencies.media);
  if (work?.hasSound !== true) {
    const part = { kind: 'split', chunk_sec: dependencies.chunkSec } as const;
    const end = await inFolder('split', attempt, (workspace) =>
      runSteps({ ...attempt, workspace, film: { part } }, dependencies),
    );
    if (end.kind !== 'done') return end;
    work = await findFilmWork(job.id, dependencies.media);
    if (work === null) return end;
  }
  const end = await encodeChunks(work, attempt, dependencies);
  if (end.kind !== 'done') return end;
  const finish = { part: { kind: 'finish' }, rev: work.film.rev } as const;
  return inFolder('finish', attempt, (workspace) => runSteps({ ...attempt, workspace, film: finish }, dependencies));
}

/** Encodes the chunks that are not finished, up to the first that fails; those that run by then are not stopped. */
async function encodeChunks(
  { film, finished }: FilmWork,
  attempt: AttemptToRun,
  dependencies: FilmDependencies,
): Promise<AttemptEnd> {
  const { job } = attempt;
  const { log, chunkParallelism } = dependencies;
  const progress = new FilmProgress(film, finished);
  const pending = film.chunk_frames.keys().filter((chunk) => !finished.has(chunk));
  log.info(
    { job_id: job.id, attempt: job.attempt, chunks: film.chunk_frames.length, finished: finished.size },
    'film split',
  );
  let failure: AttemptEnd | null = null;
  const encodeNext = async (): Promise<void> => {
    for (const chunk of pending) {
      const end = await inFolder(`chunk-${chunk}`, attempt, (workspace) => {
        const part = { part: { kind: 'encode', chunk }, rev: film.rev } as const;
        return runSteps({ ...attempt, workspace, film: part, progress: progress.of(chunk) }, dependencies);
      });
      if (end.kind !== 'done') failure ??= end;
      if (failure !== null) return;
    }
  };
  await Promise.all(Array.from({ length: chunkParallelism }, encodeNext));
  return failure ?? { kind: 'done' };
}

/** Gives a part of the work a folder of its own, so that scratch space is that of the parts which run. */
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

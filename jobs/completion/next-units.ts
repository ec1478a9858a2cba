import { jobTypeRow } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import {
  chunkedRoot,
  chunkResultKey,
  chunkSourceKey,
  encodePlanKey,
  resultManifestKey,
  splitImagesKey,
  splitKey,
} from '#domain/media/object-keys.ts';
import { parseSplit, parseSplitImages, type Split, splitBytesMax, type SplitImages } from '#domain/work/split.ts';
import { type UnitKind, unitKindRow } from '#domain/work/unit.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { listWithin, readText } from '#platform/storage/bounded-reads.ts';

/*
 * Which of an attempt's units are done, and which follow. Only the media bucket decides, so every worker and leader
 * finds the same answer: a document of the job (`splitKey`) names the shared revision, and the objects below
 * `work/<rev>/` say which chunks are finished.
 */

/** Units of one kind that can run now. */
export interface NextUnits {
  readonly kind: UnitKind;
  /** The split of the source; null before. */
  readonly split: Split | null;
  /** The chunks to encode; empty for a kind that has no chunks. */
  readonly chunks: readonly number[];
}

/**
 * The units that follow; null when the attempt's work is done.
 *
 * @param after the kind of unit that has ended with success; null at the beginning of an attempt
 * @throws KnownProblem `storage_error`
 */
export async function nextUnits(
  job: Pick<Job, 'id' | 'type' | 'attempt'>,
  after: UnitKind | null,
  media: ObjectStore,
): Promise<NextUnits | null> {
  const kind = jobTypeRow(job.type).firstUnit;
  const first: NextUnits = { kind, split: null, chunks: [] };
  const { follows } = unitKindRow(after ?? kind);
  const [following] = follows;
  if (following === undefined) return after === null ? first : null;
  // Only an earlier attempt of the job can have split its source.
  if (after === null && job.attempt === 1) return first;
  // Only units that run in parallel depend on what is finished.
  if (!follows.some((each) => unitKindRow(each).isParallel)) {
    const split = await readSplit(job.id, media);
    return split === null ? null : { kind: following, split, chunks: [] };
  }
  const work = await findSplitWork(job.id, media);
  if (work === null) return after === null ? first : null;
  // The source stays in one piece now, and the first unit has encoded it; an earlier attempt had split it.
  if (after === kind && (await media.head(resultManifestKey(job.id, job.attempt))) !== null) return null;
  // What is missing is made again by an attempt that begins; one that runs fails at the object that it misses.
  if (after === null && !work.isComplete) return first;
  const { split, finished } = work;
  const chunks = [...split.chunk_frames.keys()].filter((chunk) => !finished.has(chunk));
  const next = follows.find((each) => !unitKindRow(each).isParallel || chunks.length > 0);
  if (next === undefined) return null;
  return { kind: next, split, chunks: unitKindRow(next).isParallel ? chunks : [] };
}

/** The split of a job's source, and the chunks of it that are finished, by whichever job. */
export interface SplitWork {
  readonly split: Split;
  /** The chunks with a result, counted from 0. */
  readonly finished: ReadonlySet<number>;
  /** Whether everything that the rest of the work reads is there. */
  readonly isComplete: boolean;
}

/** Null when the job's source was not split. @throws KnownProblem `storage_error`, `limit_exceeded` */
export async function findSplitWork(jobId: string, media: ObjectStore): Promise<SplitWork | null> {
  const split = await readSplit(jobId, media);
  if (split === null) return null;
  const { rev } = split;
  const keys = new Set<string>();
  for await (const { key } of listWithin(media, `${chunkedRoot(rev)}/`)) keys.add(key);
  const finished = new Set<number>();
  let isComplete = keys.has(encodePlanKey(rev)) && keys.has(chunkResultKey(rev, 'audio'));
  for (const chunk of split.chunk_frames.keys()) {
    if (keys.has(chunkResultKey(rev, chunk))) finished.add(chunk);
    else isComplete &&= keys.has(chunkSourceKey(rev, chunk));
  }
  return { split, finished, isComplete };
}

/** The split of a job's source; null when it was not split. @throws KnownProblem `storage_error`, `limit_exceeded` */
export async function readSplit(jobId: string, media: ObjectStore, signal?: AbortSignal): Promise<Split | null> {
  const json = await readText(media, { key: splitKey(jobId), bytesMax: splitBytesMax, signal });
  return json === null ? null : parseSplit(json);
}

/** The revisions of the chunked encodes of a job; none when its source was not split. */
export async function splitRevs(jobId: string, media: ObjectStore): Promise<readonly string[]> {
  const split = await readSplit(jobId, media);
  return split === null ? [] : [split.rev, ...(split.earlier ?? [])];
}

const imagesBytesMax = 1024 * 1024;

/** The images that `split` of a job made; null where there are none. @throws KnownProblem `storage_error` */
export async function readSplitImages(jobId: string, media: ObjectStore): Promise<SplitImages | null> {
  const json = await readText(media, { key: splitImagesKey(jobId), bytesMax: imagesBytesMax });
  return json === null ? null : parseSplitImages(json);
}

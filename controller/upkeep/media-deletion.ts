import { KnownProblem } from '#domain/errors.ts';
import { jobTypeRow } from '#domain/job-types/index.ts';
import { mediaFolders, ObjectListDigest, receiptOf } from '#domain/library/deletion.ts';
import { chunkedRoot, masterKey, workRoot } from '#domain/media/object-keys.ts';
import { cancelJobsOf, deleteMedia, type DeleteMediaDependencies } from '#jobs/delete-media.ts';
import { withDigests } from '#jobs/completion/object-digests.ts';
import { splitRevs } from '#jobs/completion/next-units.ts';
import type { DeletionFence, LockedHash } from '#platform/postgres/deletion-fence.ts';
import { pause } from '#platform/lifecycle/backoff.ts';
import { FewAtOnce } from '#platform/concurrency/few-at-once.ts';
import { TokenBucket } from '#platform/concurrency/token-bucket.ts';
import type { DueDeletion, MediaDeletionStore, UnsweptJob } from '#platform/postgres/media-deletion-store.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';
import { workThrough } from './due-rows.ts';
import { removeUnused } from './remove-objects.ts';

/*
 * The deletion of media, after its row was written (jobs/delete-media.ts): cancel what runs, wait until nothing writes
 * and every server of delivery knows, list what is there for the receipt, remove it, and end the row. Each part can be
 * repeated: a crash leaves a row that is due again. Each page of objects is removed under the lock of the hash while
 * the row has not ended, so that a worker which was frozen meanwhile removes nothing of a media that was made again.
 */

export interface MediaDeletionDependencies extends Omit<DeleteMediaDependencies, 'deletions'> {
  readonly deletions: MediaDeletionStore;
  readonly media: ObjectStore;
  readonly fence: DeletionFence;
  /** `WEBHOOK_SECRET`, of which the key of receipts is derived. */
  readonly webhookSecret: string;
  /** `RECEIPT_RETENTION`; null: receipts are kept. */
  readonly receiptRetentionMs: number | null;
  readonly log: Logger;
  /** For tests; 6 s by default. */
  readonly quietMs?: number;
  /** For tests; 10 s by default. */
  readonly turnMs?: number;
}

/** Servers of delivery learn of a deletion within 2 s; steps of a cancelled job end within 3 s. */
const quietMsDefault = 6_000;
const retryMs = 1_000;
const failedRetryMs = 15_000;
/**
 * The share of the bucket that a worker takes, one media at a time and in small pages, so that players hardly notice.
 */
const rate = { perSecond: 2_100, burst: 150 };
const pageKeysMax = 50;
/** Then the media that has been due for longest has its turn. */
const turnMsDefault = 10_000;
const readsAtOnce = 16;

/** Deletes media that are expired or whose deletion was requested. */
export function mediaDeletionTask(dependencies: MediaDeletionDependencies): PeriodicTask {
  const { deletions, log, receiptRetentionMs } = dependencies;
  const bucket = new TokenBucket(rate);
  const work = async (signal: AbortSignal) => {
    for (const hash of await deletions.expired(100)) {
      try {
        const { isNew } = await deleteMedia(dependencies, { hash, reason: 'expiry' });
        if (isNew) log.info({ hash }, 'expired media is deleted');
      } catch (error) {
        // It was held, or its time was moved meanwhile, or it has no job any more: that stops no other.
        if (!(error instanceof KnownProblem)) throw error;
        if (error.code === 'not_found') await deletions.forgetOrphan(hash);
      }
    }
    if (receiptRetentionMs !== null) while ((await deletions.forgetReceipts(receiptRetentionMs)) === 1000);
    await workThrough({
      claim: (limit) => deletions.claim(limit),
      handle: async (due) => {
        await removeAll(due, { ...dependencies, bucket }, signal);
        return null;
      },
      // Due again soon, or in ten minutes when that cannot be written either.
      onFailure: ({ id, hash }, error) => {
        log.warn({ err: error, hash, deletion_id: id }, 'media deletion failed');
        return deletions.defer(id, failedRetryMs).catch(() => undefined);
      },
      pageSize: 1,
      signal,
    });
  };
  return { name: 'media deletion', work };
}

type PacedDependencies = MediaDeletionDependencies & { readonly bucket: TokenBucket };

async function removeAll(deletion: DueDeletion, dependencies: PacedDependencies, signal: AbortSignal) {
  const {
    deletions,
    media,
    fence,
    log,
    bucket,
    webhookSecret,
    quietMs = quietMsDefault,
    turnMs = turnMsDefault,
  } = dependencies;
  const { id, hash } = deletion;
  if (!(await cancelJobsOf(deletion, dependencies))) return deletions.defer(id, retryMs);
  if (deletion.quietMs < quietMs) return deletions.defer(id, quietMs - deletion.quietMs);
  const prefixes = await prefixesOf(hash, dependencies);
  if (deletion.objects === null) {
    const digest = new ObjectListDigest();
    for (const prefix of prefixes)
      for await (const object of withDigests(media, media.list(prefix))) digest.add(object);
    const { objects, bytes } = digest;
    await deletions.recordObjects(id, { objects, bytes, sha256: digest.end() });
  }
  const endsAtMs = performance.now() + turnMs;
  let hasEnded = false;
  const isUsed = async (locked: LockedHash) => hasEnded || !(await locked.isBeingDeleted(id));
  await fence.underLock(hash, async (locked) => {
    if (await isUsed(locked)) return;
    locked.assertHeld();
    await media.delete([masterKey(hash)]);
  });
  const pace = async (count: number) => {
    await pause(bucket.take(performance.now(), count), signal);
    signal.throwIfAborted();
  };
  const onRemoved = async (count: number) => {
    await deletions.countDeleted(id, count);
    hasEnded = performance.now() > endsAtMs;
  };
  for (const prefix of prefixes) {
    const removed = await removeUnused({ hash, prefix, isUsed, pageKeysMax, pace, onRemoved }, { fence, media });
    if (removed === null) return deletions.defer(id, 0);
  }
  const ended = await deletions.finish(deletion, ({ finishedAt, objects, bytes, objectsSha256, ...rest }) => {
    if (finishedAt === null || objects === null || bytes === null || objectsSha256 === null)
      throw new TypeError('a deletion ends after its objects were listed');
    return receiptOf({ ...rest, finishedAt, objects, bytes, objectsSha256 }, webhookSecret);
  });
  // It was asked for again, and its jobs are about to be cancelled.
  if (ended === null) return deletions.defer(id, retryMs);
  log.info({ hash, deletion_id: id, objects: ended.objects }, 'media deleted');
}

type PrefixDependencies = Pick<MediaDeletionDependencies, 'deletions' | 'media'>;

/** Where its objects lie: its folders, and the working objects of jobs that were not cleaned up. */
async function prefixesOf(hash: string, dependencies: PrefixDependencies): Promise<readonly string[]> {
  const { deletions } = dependencies;
  const prefixes = [...mediaFolders(hash)];
  for (let jobs = await deletions.unsweptJobs(hash); jobs.length > 0;) {
    // A chunked encode is shared by jobs of one hash alone: the hash is in the digest that names it.
    for (const rev of await chunkedRevsOf(jobs, dependencies)) prefixes.push(`${chunkedRoot(rev)}/`);
    for (const { id } of jobs) prefixes.push(`${workRoot(id)}/`);
    jobs = await deletions.unsweptJobs(hash, jobs.at(-1)?.id);
  }
  return [...new Set(prefixes)];
}

function isUnread({ type, chunkedRevs }: UnsweptJob): boolean {
  return chunkedRevs === null && jobTypeRow(type).firstUnit === 'split';
}

/** The revisions of the jobs' chunked encodes. They are noted before the documents that name them are removed. */
async function chunkedRevsOf(
  jobs: readonly UnsweptJob[],
  { deletions, media }: PrefixDependencies,
): Promise<readonly string[]> {
  const few = new FewAtOnce(readsAtOnce);
  const read = await Promise.all(
    jobs.filter(isUnread).map(({ id }) => few.run(async () => ({ id, revs: await splitRevs(id, media) }))),
  );
  if (read.length > 0) await deletions.noteChunked(read);
  return [...jobs.flatMap(({ chunkedRevs }) => chunkedRevs ?? []), ...read.flatMap(({ revs }) => revs)];
}

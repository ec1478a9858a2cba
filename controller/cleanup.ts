import { text } from 'node:stream/consumers';
import { revisionOfMaster } from '#domain/media/master-playlist.ts';
import { filmRoot, masterKey, resultManifestKey, revisionOf, videoKey, workRoot } from '#domain/media/object-keys.ts';
import { masterPath } from '#domain/media/revision-layout.ts';
import type { Film } from '#domain/runner/film.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import type { CleanupStore, JobToCleanUp } from '#platform/postgres/cleanup-store.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { periodicComponent } from './periodic-component.ts';
import { readFilm } from '#jobs/film.ts';
import { revisionRoots } from '#jobs/revision-roots.ts';

export interface CleanupDependencies {
  readonly cleanup: CleanupStore;
  readonly media: ObjectStore;
  readonly metrics: Pick<Metrics, 'cleanupBacklog'>;
  readonly log: Logger;
  readonly everyMs: number;
  /** A job is cleaned up this long after its end, when no worker can still be writing for it. */
  readonly graceMs: number;
}

const pageSize = 100;
/** Several at once, since most of the time goes into waiting for the bucket. */
const jobsAtOnce = 8;

/**
 * Removes what final jobs left in the media bucket: their working objects, and revisions that never became public.
 *
 * The rows name the attempts, each attempt has one revision, and a working object names that of the job's film, so the
 * bucket is not searched. A revision is kept when
 * the job's results or the top master playlist name it. It is also kept when its attempt wrote a result manifest: such a
 * revision was complete and may have been public for a moment, so a player may still have its playlist.
 *
 * A round goes on until no job is due. A job whose cleanup fails, or whose worker vanishes, is due again later, so it
 * delays no other job.
 */
export function cleanupComponent(dependencies: CleanupDependencies): Component {
  const { cleanup, metrics, everyMs, graceMs, log } = dependencies;
  const work = async (signal: AbortSignal) => {
    for (let isFull = true; isFull && !signal.aborted;) {
      const jobs = await cleanup.claim({ graceMs, limit: pageSize });
      isFull = jobs.length === pageSize;
      const cleanUpRest = async () => {
        for (let job = jobs.pop(); job !== undefined && !signal.aborted; job = jobs.pop())
          await cleanUp(job, dependencies);
      };
      await Promise.all(Array.from({ length: jobsAtOnce }, cleanUpRest));
      metrics.cleanupBacklog.set(await cleanup.backlog(graceMs));
    }
  };
  return periodicComponent({ name: 'cleanup', everyMs, log, work });
}

async function cleanUp(job: JobToCleanUp, { cleanup, media, log }: CleanupDependencies): Promise<void> {
  const { jobId, hash } = job;
  try {
    let removed = 0;
    const film = await readFilm(jobId, media);
    for (const rev of await unpublishedRevisions(job, film, media))
      for (const root of revisionRoots(hash, rev)) removed += await removeUnder(media, root);
    if (film !== null) removed += await removeUnder(media, `${filmRoot(film.rev)}/`);
    // Last: the manifests among them say which revisions were complete.
    removed += await removeUnder(media, `${workRoot(jobId)}/`);
    await cleanup.markSwept(jobId);
    log.debug({ job_id: jobId, objects: removed }, 'job cleaned up');
  } catch (error) {
    log.warn({ err: error, job_id: jobId }, 'job cleanup failed');
  }
}

async function unpublishedRevisions(job: JobToCleanUp, film: Film | null, media: ObjectStore): Promise<string[]> {
  const { jobId, hash, attempt: lastAttempt } = job;
  const named = JSON.stringify(job.results);
  const unpublished: string[] = [];
  for (let attempt = 1; attempt <= lastAttempt; attempt++) {
    const rev = revisionOf(jobId, attempt);
    if (named.includes(`/${rev}/`)) continue;
    if ((await media.head(resultManifestKey(jobId, attempt))) !== null) continue;
    unpublished.push(rev);
  }
  // A film is that of other jobs too: its master playlist, written last, says that one of them has finished it.
  const isFinished = film !== null && (await media.head(videoKey(hash, film.rev, masterPath))) !== null;
  if (film !== null && !isFinished) unpublished.push(film.rev);
  if (unpublished.length === 0) return [];
  const current = await currentRevision(hash, media);
  return unpublished.filter((rev) => rev !== current);
}

/** The revision that the top master playlist of `hash` names; null without one. */
export async function currentRevision(hash: string, media: ObjectStore): Promise<string | null> {
  const master = await media.get(masterKey(hash));
  return master === null ? null : revisionOfMaster(await text(master.body));
}

/** The most keys that S3 deletes in one request. */
const keysAtOnce = 1000;

/** Removes every object whose key begins with `prefix`; returns their number. */
export async function removeUnder(store: ObjectStore, prefix: string): Promise<number> {
  let keys: string[] = [];
  let removed = 0;
  const remove = async () => {
    if (keys.length > 0) await store.delete(keys);
    removed += keys.length;
    keys = [];
  };
  for await (const { key } of store.list(prefix)) {
    keys.push(key);
    if (keys.length === keysAtOnce) await remove();
  }
  await remove();
  return removed;
}

import { text } from 'node:stream/consumers';
import { revisionOfMaster } from '#domain/media/master-playlist.ts';
import { masterKey, resultManifestKey, revisionOf, workRoot } from '#domain/media/object-keys.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import type { Leftover, CleanupStore } from '#platform/postgres/cleanup-store.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { periodicComponent } from './periodic-component.ts';
import { revisionRoots } from '#jobs/revision-roots.ts';

export interface LeftoverDependencies {
  readonly leftovers: CleanupStore;
  readonly media: ObjectStore;
  readonly log: Logger;
  readonly clock: () => Date;
  readonly everyMs: number;
  /** A job is tidied up this long after its end, when nobody can be writing for it any more. */
  readonly graceMs: number;
}

const jobsAtOnce = 100;

/**
 * Removes what final jobs left in the media bucket: their working objects, and revisions that never became public.
 *
 * Nothing is looked for in the bucket: the rows say which attempts there were, and each has one revision. A revision
 * stays when the job's results or the top master playlist name it, and also when its attempt had written a result
 * manifest: then it was whole, and may have been public for a moment, so that a player may still have its playlist. A
 * crash in between leaves the job for the next round.
 */
export function cleanupComponent(d: LeftoverDependencies): Component {
  const work = async (signal: AbortSignal) => {
    const endedBefore = new Date(d.clock().getTime() - d.graceMs);
    for (const leftover of await d.leftovers.unswept({ endedBefore, limit: jobsAtOnce })) {
      if (signal.aborted) return;
      await tidyUp(leftover, d);
    }
  };
  return periodicComponent({ name: 'removal of leftovers', everyMs: d.everyMs, log: d.log, work });
}

async function tidyUp(leftover: Leftover, { leftovers, media, log, clock }: LeftoverDependencies): Promise<void> {
  const { jobId, hash } = leftover;
  let removed = 0;
  for (const rev of await unpublishedRevisions(leftover, media))
    for (const root of revisionRoots(hash, rev)) removed += await removeUnder(media, root);
  // Last, since the manifests in it say which revisions were whole.
  removed += await removeUnder(media, `${workRoot(jobId)}/`);
  await leftovers.markSwept(jobId, clock());
  log.debug({ job_id: jobId, objects: removed }, 'what a job left was removed');
}

async function unpublishedRevisions(leftover: Leftover, media: ObjectStore): Promise<string[]> {
  const { jobId, hash, attempt: lastAttempt } = leftover;
  const named = JSON.stringify(leftover.results);
  const unpublished: string[] = [];
  for (let attempt = 1; attempt <= lastAttempt; attempt++) {
    const rev = revisionOf(jobId, attempt);
    if (named.includes(`/${rev}/`)) continue;
    if ((await media.head(resultManifestKey(jobId, attempt))) !== null) continue;
    unpublished.push(rev);
  }
  if (unpublished.length === 0) return [];
  const current = await currentRevision(hash, media);
  return unpublished.filter((rev) => rev !== current);
}

async function currentRevision(hash: string, media: ObjectStore): Promise<string | null> {
  const master = await media.get(masterKey(hash));
  return master === null ? null : revisionOfMaster(await text(master.body));
}

/** As many keys as S3 deletes in one request. */
const keysAtOnce = 1000;

/** Removes every object whose key begins with `prefix`; how many there were. */
async function removeUnder(store: ObjectStore, prefix: string): Promise<number> {
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

import { KnownProblem } from '#domain/errors.ts';
import type { Job } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import { cancelJob } from '#jobs/cancel.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { jobs, type KubeObject, type MediaJob, type Resource } from '#platform/kubernetes/objects.ts';
import type { ClaimedJobs } from '../slots/claimed-jobs.ts';
import type { Caches } from '../cache/caches.ts';
import type { MediaJobDependencies } from '../dependencies.ts';
import { isOfRow, jobIdOf } from '../snapshots.ts';

const namespaces: Resource<KubeObject> = {
  apiVersion: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  isNamespaced: false,
};

interface GoneContext {
  readonly d: MediaJobDependencies;
  readonly client: KubeClient;
  readonly caches: Caches;
  readonly held: ClaimedJobs;
}

/** Deleting an active MediaJob cancels its job, unless the whole namespace goes: then the work is made again. */
export async function onMediaJobDeleted(gone: MediaJob, c: GoneContext): Promise<void> {
  const { d } = c;
  const row = await d.jobs.find(jobIdOf(gone));
  const isOwn = isOfRow(gone) || row?.id === gone.metadata?.uid;
  if (row === null || !isOwn || isFinal(row.status) || !(await isNamespaceThere(gone, c))) return;
  d.log.info({ job_id: row.id }, 'MediaJob deleted, cancelling its job');
  // It may have ended meanwhile: then there is nothing to cancel.
  await cancelJob(d, row.id).catch((error: unknown) => {
    if (!(error instanceof KnownProblem && error.code === 'conflict')) throw error;
  });
  c.held.remove(row.id);
  await deleteJobs(row, c);
}

/** The garbage collector would do so too, but later. */
async function deleteJobs(row: Job, { client, caches }: GoneContext): Promise<void> {
  for (const { metadata } of caches.jobsOf(row.id)) {
    const ref = { namespace: metadata.namespace, name: metadata.name ?? '' };
    await client.delete(jobs, ref).catch((error: unknown) => {
      if (!hasReason(error, 'NotFound')) throw error;
    });
  }
}

/**
 * Whether the namespace that a MediaJob was in is there and stays. One that was made after the MediaJob is another of
 * the same name. A refusal counts as no: the role that lets us ask goes with the namespace.
 */
async function isNamespaceThere(gone: MediaJob, { client, d }: GoneContext): Promise<boolean> {
  try {
    const { metadata } = await client.get(namespaces, { name: d.runnerNamespace });
    const isAnother =
      Date.parse(metadata?.creationTimestamp ?? '') > Date.parse(gone.metadata?.creationTimestamp ?? '');
    return metadata?.deletionTimestamp === undefined && !isAnother;
  } catch (error) {
    if (hasReason(error, 'NotFound', 'Forbidden')) return false;
    throw error;
  }
}

import { KnownProblem } from '#domain/errors.ts';
import { isFinal } from '#domain/jobs/status.ts';
import { cancelJob } from '#jobs/cancel.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { jobs, type KubeObject, type MediaJob, type Resource } from '#platform/kubernetes/objects.ts';
import type { LeaderContext } from '../leader-context.ts';
import { isOfApiJob, jobIdOf } from '../snapshots.ts';

const namespaces: Resource<KubeObject> = {
  apiVersion: 'v1',
  kind: 'Namespace',
  plural: 'namespaces',
  isNamespaced: false,
};

/**
 * Deleting an active MediaJob cancels its job, unless the whole namespace was deleted: then the job continues in a new
 * MediaJob.
 */
export async function onMediaJobDeleted(deleted: MediaJob, context: LeaderContext): Promise<void> {
  const { dependencies, slots } = context;
  const row = await dependencies.jobs.find(jobIdOf(deleted));
  const isOwn = isOfApiJob(deleted) || row?.id === deleted.metadata?.uid;
  if (row === null || !isOwn || isFinal(row.status) || !(await hasNamespace(deleted, context))) return;
  dependencies.log.info({ job_id: row.id }, 'MediaJob deleted, cancelling its job');
  // The job may have ended meanwhile.
  await cancelJob(dependencies, row.id).catch((error: unknown) => {
    if (!(error instanceof KnownProblem && error.code === 'conflict')) throw error;
  });
  slots.claimed.remove(row.id);
  await deleteJobs(row.id, context);
}

/** The garbage collector would do this too, but later. */
async function deleteJobs(jobId: string, { client, caches }: LeaderContext): Promise<void> {
  for (const { metadata } of caches.jobsOf(jobId)) {
    const ref = { namespace: metadata.namespace, name: metadata.name ?? '' };
    await client.delete(jobs, ref).catch((error: unknown) => {
      if (!hasReason(error, 'NotFound')) throw error;
    });
  }
}

/**
 * Whether the namespace of a deleted MediaJob still exists. A namespace that is younger than the MediaJob is another one
 * of the same name. A refusal counts as no: the role that allows the request is deleted with the namespace.
 */
async function hasNamespace(deleted: MediaJob, { client, dependencies }: LeaderContext): Promise<boolean> {
  try {
    const { metadata } = await client.get(namespaces, { name: dependencies.runnerNamespace });
    const isYounger =
      Date.parse(metadata?.creationTimestamp ?? '') > Date.parse(deleted.metadata?.creationTimestamp ?? '');
    return metadata?.deletionTimestamp === undefined && !isYounger;
  } catch (error) {
    if (hasReason(error, 'NotFound', 'Forbidden')) return false;
    throw error;
  }
}

import { KnownProblem } from '#domain/errors.ts';
import { isFinal } from '#domain/jobs/status.ts';
import { type CancelDependencies, cancelJob } from '#jobs/submission/cancel.ts';
import type { KubeClient } from '#platform/kubernetes/client.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { jobs, type KubeObject, type MediaJob, type Resource } from '#platform/kubernetes/objects.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Caches } from '../cache/caches.ts';
import type { ClaimedJobs } from '../slots/claimed-jobs.ts';
import { ownJobIdOf } from '../snapshots/media-job.ts';

interface NamespacePorts {
  readonly client: Pick<KubeClient, 'get'>;
  readonly runnerNamespace: string;
}

/** The ports that the deletion of a MediaJob needs. */
export type DeletionPorts = NamespacePorts &
  CancelDependencies & {
    readonly client: Pick<KubeClient, 'get' | 'delete'>;
    readonly jobs: Pick<JobStore, 'find'>;
    readonly caches: Pick<Caches, 'jobsOf'>;
    readonly slots: { readonly claimed: Pick<ClaimedJobs, 'remove'> };
    readonly log: Logger;
  };

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
export async function onMediaJobDeleted(deleted: MediaJob, ports: DeletionPorts): Promise<void> {
  const { jobs: rows, slots, log } = ports;
  // One that follows an equal job has no row of its own.
  const row = await rows.find(ownJobIdOf(deleted));
  if (row === null || isFinal(row.status) || !(await hasNamespace(deleted, ports))) return;
  log.info({ job_id: row.id }, 'MediaJob deleted, cancelling its job');
  // The job may have ended meanwhile.
  await cancelJob(ports, row.id).catch((error: unknown) => {
    if (!(error instanceof KnownProblem && error.code === 'conflict')) throw error;
  });
  slots.claimed.remove(row.id);
  await deleteJobs(row.id, ports);
}

/** The garbage collector would do this too, but later. */
async function deleteJobs(jobId: string, { client, caches }: DeletionPorts): Promise<void> {
  for (const { metadata } of caches.jobsOf(jobId)) {
    const ref = { namespace: metadata.namespace, name: metadata.name ?? '' };
    await client.delete(jobs, ref).catch((error: unknown) => {
      if (!hasReason(error, 'NotFound')) throw error;
    });
  }
}

/** Whether the namespace of a deleted MediaJob still exists; one that is younger is another one of the same name. */
async function hasNamespace(deleted: MediaJob, ports: DeletionPorts): Promise<boolean> {
  const createdMs = await aliveSinceMs(ports);
  return createdMs !== null && !(createdMs > Date.parse(deleted.metadata?.creationTimestamp ?? ''));
}

/**
 * When the runners' namespace was created; null once it is being deleted. A refusal counts as no: the role that allows
 * the request is deleted with the namespace.
 */
export async function aliveSinceMs({ client, runnerNamespace }: NamespacePorts): Promise<number | null> {
  try {
    const { metadata } = await client.get(namespaces, { name: runnerNamespace });
    return metadata?.deletionTimestamp === undefined ? Date.parse(metadata?.creationTimestamp ?? '') : null;
  } catch (error) {
    if (hasReason(error, 'NotFound', 'Forbidden')) return null;
    throw error;
  }
}

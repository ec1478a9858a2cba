import type { MediaJobStatus } from '#domain/kubernetes/media-job.ts';
import { hasReason } from '#platform/kubernetes/errors.ts';
import { type KubeObject, type MediaJob, mediaJobs, type ObjectRef } from '#platform/kubernetes/objects.ts';
import type { LeaderContext } from '../leader-context.ts';
import type { Observed } from './observed.ts';
import type { PodProblem } from './pod-problem.ts';

/** Writes the status of a MediaJob, unless it was deleted. */
export async function writeStatus(mediaJob: MediaJob, status: MediaJobStatus, context: LeaderContext): Promise<true> {
  const { client, ownWrites, now } = context;
  // With its UID: another object may have its name by now.
  const patch = { metadata: { uid: mediaJob.metadata?.uid }, status };
  try {
    const written = await client.mergePatch(mediaJobs, refOf(mediaJob), patch, { subresource: 'status' });
    ownWrites.written(written, now());
  } catch (error) {
    unlessDeleted(error);
  }
  return true;
}

/** Notes a problem for the status of the pool, and writes an Event of the MediaJob. */
export function recordProblem(
  { mediaJob, pool }: Pick<Observed, 'mediaJob' | 'pool'>,
  problem: PodProblem,
  context: LeaderContext,
): true {
  context.problems.note(pool.name, problem);
  warn(mediaJob, { action: 'Scheduling', reason: problem.reason, note: problem.message }, context);
  return true;
}

/** Writes a Warning Event of a MediaJob. */
export function warn(
  mediaJob: MediaJob,
  event: { readonly action: string; readonly reason: string; readonly note: string },
  { recorder }: LeaderContext,
): void {
  const { apiVersion, kind } = mediaJobs;
  recorder.record({ regarding: { ...mediaJob, apiVersion, kind }, type: 'Warning', ...event });
}

export function refOf({ metadata }: KubeObject): ObjectRef {
  return { namespace: metadata?.namespace, name: metadata?.name ?? '' };
}

/** Throws `error` unless the object was deleted, or its name belongs to another object. */
export function unlessDeleted(error: unknown): void {
  if (!hasReason(error, 'NotFound', 'Conflict')) throw error;
}

import { isJobProblem } from '#domain/errors.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import { adopt } from '#jobs/adopt.ts';
import { enqueue } from '#jobs/enqueue.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { isReservedName } from '../manifests/names.ts';
import type { LeaderContext } from '../leader-context.ts';
import { claimOf } from '../snapshots.ts';
import { notAdoptedReason, notAdoptedStatus, refusedStatus } from './status.ts';
import { warn, writeStatus } from './write-status.ts';

/** Makes the job of a MediaJob from kubectl; a MediaJob that no job can be made for is refused. */
export async function applyAdopt(mediaJob: MediaJob, context: LeaderContext): Promise<boolean> {
  const { dependencies, slots, now } = context;
  const isReserved = isReservedName(mediaJob.metadata?.name ?? '');
  const adopted = isReserved
    ? reservedRefusal
    : await adopt(mediaJob, dependencies).catch(async (error: unknown) => {
        await showFailure(mediaJob, error, context);
        throw error;
      });
  if ('refusal' in adopted) {
    const error = jobErrorOf(adopted.code, 1, adopted.refusal);
    warn(mediaJob, { action: 'Adopting', reason: 'Refused', note: adopted.refusal }, context);
    return writeStatus(mediaJob, refusedStatus(mediaJob, error, now()), context);
  }
  const { job } = adopted;
  // An equal live job exists: this MediaJob shows that job's id and state.
  if (job.id !== mediaJob.metadata?.uid) return writeStatus(mediaJob, { jobId: job.id }, context);
  if (job.status !== 'queued') return false;
  // The leader reads this queue anyway, so it claims directly.
  const claim = claimOf(mediaJob, job);
  const mayClaim = !dependencies.storageWatch.isAway && slots.freeForTickets(claim.pool) > 0;
  if (mayClaim && (await slots.claim(job, claim))) return false;
  if (claim.priority > 0 && !claim.isSuspended) slots.prefer(job, claim);
  await enqueue(dependencies, job);
  return false;
}

const reservedRefusal = {
  refusal: 'metadata.name: names of "mj-" and a job id are reserved for the controller; choose another name',
  code: 'internal',
} as const;

/** Shows once why the job cannot be made for now; the reconcile is retried with growing delays. */
async function showFailure(mediaJob: MediaJob, error: unknown, context: LeaderContext): Promise<void> {
  if (mediaJob.status?.conditions?.some(({ reason }) => reason === notAdoptedReason) === true) return;
  const message = isJobProblem(error) ? error.message : 'The database or the object storage does not answer.';
  warn(mediaJob, { action: 'Adopting', reason: notAdoptedReason, note: message }, context);
  await writeStatus(mediaJob, notAdoptedStatus({ mediaJob, message, nowMs: context.now() }), context);
}

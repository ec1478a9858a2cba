import { isJobProblem } from '#domain/errors.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import { readMediaProfile } from '#domain/kubernetes/media-profile.ts';
import { adopt } from '#jobs/adopt.ts';
import { enqueue } from '#jobs/enqueue.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import { isReservedName } from '../manifests/names.ts';
import type { LeaderContext } from '../leader-context.ts';
import { claimOf } from '../snapshots.ts';
import { notAdoptedStatus, refusedStatus } from './status.ts';
import { warn, writeStatus } from './write-status.ts';

/**
 * Makes the job of a MediaJob from kubectl; a MediaJob that no job can be made for is refused. One that names a profile
 * that does not exist waits for it.
 */
export async function applyAdopt(mediaJob: MediaJob, context: LeaderContext): Promise<boolean | 'waits'> {
  const { dependencies, slots, profileWaiters, now } = context;
  // Before the profiles are read: a profile that is published after that wakes it.
  if (mediaJob.spec.profile !== undefined) profileWaiters.add(keyOf(mediaJob));
  const isReserved = isReservedName(mediaJob.metadata?.name ?? '');
  const adopted = isReserved
    ? reservedRefusal
    : await adopt(mediaJob, dependencies).catch(async (error: unknown) => {
        await showFailure(mediaJob, error, context);
        throw error;
      });
  if ('knownProfiles' in adopted) {
    await showDelay(mediaJob, profileProblem(mediaJob, adopted.knownProfiles, context), context);
    return 'waits';
  }
  profileWaiters.delete(keyOf(mediaJob));
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
  const reason = 'AdoptionFailed';
  if (mediaJob.status?.conditions?.some((condition) => condition.reason === reason) === true) return;
  const message = isJobProblem(error) ? error.message : 'The database or the object storage does not answer.';
  await showDelay(mediaJob, { reason, message }, context);
}

type Delay = Pick<Parameters<typeof notAdoptedStatus>[0], 'reason' | 'message'>;

/** Shows why the job cannot be made for now, unless the status shows it already. */
async function showDelay(mediaJob: MediaJob, { reason, message }: Delay, context: LeaderContext): Promise<void> {
  const { conditions = [] } = mediaJob.status ?? {};
  if (conditions.some((shown) => shown.reason === reason && shown.message === message)) return;
  warn(mediaJob, { action: 'Adopting', reason, note: message }, context);
  await writeStatus(mediaJob, notAdoptedStatus({ mediaJob, reason, message, nowMs: context.now() }), context);
}

/** Why the profile that a MediaJob names cannot be used. */
function profileProblem({ metadata, spec }: MediaJob, known: readonly string[], { caches }: LeaderContext): Delay {
  const { profile: name = '' } = spec;
  const object = caches.profiles.get(metadata?.namespace, name);
  const read = object === undefined ? null : readMediaProfile(name, object.spec);
  if (read !== null && 'faults' in read)
    return { reason: 'ProfileInvalid', message: `spec.profile: the MediaProfile ${name} is not valid; see its status` };
  const message = `spec.profile: there is no profile ${name}; known are ${known.join(', ')}`;
  return { reason: 'ProfileNotFound', message };
}

import { isJobProblem } from '#domain/errors.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import { readMediaProfile } from '#domain/kubernetes/media-profile.ts';
import { adopt, type AdoptDependencies } from '#jobs/submission/adopt.ts';
import { enqueue } from '#jobs/submission/enqueue.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { keyOf } from '#platform/kubernetes/store.ts';
import { isReservedName } from '../snapshots/names.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { PoolTurns } from '../../execution/pool-turns.ts';
import type { Caches } from '../cache/caches.ts';
import type { PoolSlots } from '../slots/pool-slots.ts';
import { claimOf } from '../snapshots/routing.ts';
import { notAdoptedStatus, refusedStatus } from '../plan/status.ts';
import type { Outcome } from './outcome.ts';
import type { StatusWriter } from './status-writer.ts';

/** The ports that the adoption of a MediaJob needs. */
export type AdoptPorts = AdoptDependencies & {
  readonly queue: TicketQueue;
  readonly storageWatch: { readonly isAway: boolean; isOutage(): Promise<boolean> };
  readonly caches: Pick<Caches, 'profiles'>;
  readonly slots: Pick<PoolSlots, 'claim' | 'freeForImages' | 'freeForTickets' | 'prefer'>;
  readonly turns: Pick<PoolTurns, 'order'>;
  readonly statuses: StatusWriter;
  /** Keys of MediaJobs whose profiles may not exist: they are reconciled when profiles change. */
  readonly profileWaiters: Pick<Set<string>, 'add' | 'delete'>;
  readonly now: () => number;
};

/** Makes the job of a MediaJob from kubectl, or refuses it. One with an unknown profile waits for the profile. */
export async function applyAdopt(mediaJob: MediaJob, ports: AdoptPorts): Promise<Outcome> {
  const { storageWatch, slots, statuses, profileWaiters, now } = ports;
  // Before the profiles are read: a profile that is published after that wakes it.
  if (mediaJob.spec.profile !== undefined) profileWaiters.add(keyOf(mediaJob));
  const isReserved = isReservedName(mediaJob.metadata?.name ?? '');
  const adopted = isReserved
    ? reservedRefusal
    : await adopt(mediaJob, ports).catch(async (error: unknown) => {
        if (isJobProblem(error) && (await storageWatch.isOutage())) {
          const event = { action: 'Adopting', reason: 'StorageUnavailable', note: error.message };
          statuses.warn(mediaJob, event);
          return null;
        }
        await showFailure(mediaJob, error, ports);
        throw error;
      });
  // The plan says so, and asks again every few seconds.
  if (adopted === null) return 'observe_again';
  if ('knownProfiles' in adopted) {
    await showDelay(mediaJob, profileProblem(mediaJob, adopted.knownProfiles, ports), ports);
    return 'wait';
  }
  profileWaiters.delete(keyOf(mediaJob));
  if ('refusal' in adopted) {
    const error = jobErrorOf(adopted.code, 1, adopted.refusal);
    statuses.warn(mediaJob, { action: 'Adopting', reason: 'Refused', note: adopted.refusal });
    await statuses.write(mediaJob, refusedStatus(mediaJob, error, now()));
    return 'continue';
  }
  const { job } = adopted;
  // An equal live job exists: this MediaJob shows that job's id and state.
  if (job.id !== mediaJob.metadata?.uid) {
    await statuses.write(mediaJob, { jobId: job.id });
    return 'continue';
  }
  if (job.status !== 'queued') return 'observe_again';
  // The leader reads this queue anyway, so it claims directly where no other key waits.
  const claim = claimOf(mediaJob, job);
  const free = claim.isImage ? slots.freeForImages(claim.pool) : slots.freeForTickets(claim.pool);
  const isOnlyKey = async () => (await ports.turns.order(claim.pool)).every(({ key }) => key === (job.keyId ?? ''));
  const mayClaim = !storageWatch.isAway && free > 0 && (await isOnlyKey());
  if (mayClaim && (await slots.claim(job, claim))) return 'observe_again';
  if (claim.priority > 0 && !claim.isSuspended) slots.prefer(job, claim);
  await enqueue(ports, job);
  return 'observe_again';
}

const reservedRefusal = {
  refusal: 'metadata.name: names of "mj-" and a job id are reserved for the controller; choose another name',
  code: 'internal',
} as const;

/** Shows once why the job cannot be made for now; the reconcile is retried with growing delays. */
async function showFailure(mediaJob: MediaJob, error: unknown, ports: AdoptPorts): Promise<void> {
  const reason = 'AdoptionFailed';
  if (mediaJob.status?.conditions?.some((condition) => condition.reason === reason) === true) return;
  const message = isJobProblem(error) ? error.message : 'The database or the object storage does not answer.';
  await showDelay(mediaJob, { reason, message }, ports);
}

type Delay = Pick<Parameters<typeof notAdoptedStatus>[0], 'reason' | 'message'>;

/** Shows why the job cannot be made for now, unless the status shows it already. */
async function showDelay(mediaJob: MediaJob, { reason, message }: Delay, { statuses, now }: AdoptPorts): Promise<void> {
  const { conditions = [] } = mediaJob.status ?? {};
  if (conditions.some((shown) => shown.reason === reason && shown.message === message)) return;
  statuses.warn(mediaJob, { action: 'Adopting', reason, note: message });
  await statuses.write(mediaJob, notAdoptedStatus({ mediaJob, reason, message, nowMs: now() }));
}

/** Why the profile that a MediaJob names cannot be used. */
function profileProblem({ metadata, spec }: MediaJob, known: readonly string[], { caches }: AdoptPorts): Delay {
  const { profile: name = '' } = spec;
  const object = caches.profiles.get(metadata?.namespace, name);
  const read = object === undefined ? null : readMediaProfile(name, object.spec);
  if (read !== null && 'faults' in read)
    return { reason: 'ProfileInvalid', message: `spec.profile: the MediaProfile ${name} is not valid; see its status` };
  const message = `spec.profile: there is no profile ${name}; known are ${known.join(', ')}`;
  return { reason: 'ProfileNotFound', message };
}

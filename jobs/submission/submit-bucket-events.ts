import { type EventRule, ruleFor, submissionOf, titleOf } from '#domain/bucket-events/event-rules.ts';
import type { BucketEvent, UnreadableRecord } from '#domain/bucket-events/notification.ts';
import { KnownProblem } from '#domain/errors.ts';
import type { Job, TraceContext } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { BucketEventStore } from '#platform/postgres/bucket-event-store.ts';
import { isSourceChanged } from '../checks.ts';
import { rerunJob } from './rerun.ts';
import { submitJob } from './submit.ts';

type EventDependencies = Parameters<typeof submitJob>[0] & {
  readonly bucketEvents: BucketEventStore;
  readonly rules: readonly EventRule[];
  /** The name of the source bucket; null where it is a folder, which has none: events of every bucket count. */
  readonly sourceBucket: string | null;
};

/** The outcome of an event. */
export interface EventOutcome {
  readonly key: string;
  readonly version: string;
  /**
   * `submitted`: a new job, also a rerun for a new version. `existing`: an equal job was there. `duplicate`: this
   * version was submitted before. `ignored`: no rule matches, or it is no creation in the source bucket. `refused`: the
   * record or the submission is not valid.
   */
  readonly outcome: 'submitted' | 'existing' | 'duplicate' | 'ignored' | 'refused';
  readonly jobId: string | null;
  /** Why it was ignored or refused, or is a rerun. */
  readonly reason: string | null;
}

const eventsAtOnce = 8;

/**
 * Submits the events of a notification by the rules, each version of an object once. The version is noted after its job
 * was accepted: a crash in between makes the next notification of it find that job, since equal submissions make one.
 *
 * A record that cannot be read, and one whose version has to wait for the job of an earlier version, leave the others
 * alone.
 *
 * @throws KnownProblem when the storage, the database or the queue fails, and `busy` for a version that has to wait:
 * all others were submitted, and the sender repeats the whole notification
 */
export async function submitBucketEvents(
  dependencies: EventDependencies,
  events: readonly (BucketEvent | UnreadableRecord)[],
  trace: TraceContext | null,
): Promise<EventOutcome[]> {
  const outcomes: EventOutcome[] = [];
  const failures: unknown[] = [];
  const underWay = new Map<string, Promise<EventOutcome>>();
  const rest = events.entries();
  const submitRest = async () => {
    for (const [index, event] of rest) {
      if ('fault' in event) {
        outcomes[index] = { key: event.key, version: '', outcome: 'refused', jobId: null, reason: event.fault };
        continue;
      }
      const id = JSON.stringify([event.bucket, event.key, event.version, event.isCreation]);
      const earlier = underWay.get(id);
      const work = earlier?.then(asDuplicate) ?? submitEvent(dependencies, event, trace);
      if (earlier === undefined) underWay.set(id, work);
      try {
        outcomes[index] = await work;
      } catch (error) {
        failures.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: eventsAtOnce }, submitRest));
  if (failures.length > 0) throw failures[0];
  return outcomes;
}

function asDuplicate(outcome: EventOutcome): EventOutcome {
  return outcome.jobId === null ? outcome : { ...outcome, outcome: 'duplicate' };
}

async function submitEvent(
  dependencies: EventDependencies,
  event: BucketEvent,
  trace: TraceContext | null,
): Promise<EventOutcome> {
  const { rules, sourceBucket, bucketEvents } = dependencies;
  const { key, version } = event;
  const without = (outcome: 'ignored' | 'refused', reason: string) => ({ key, version, outcome, jobId: null, reason });
  if (!event.isCreation) return without('ignored', 'is no creation of an object');
  if (sourceBucket !== null && event.bucket !== sourceBucket) return without('ignored', 'is not of the source bucket');
  const rule = ruleFor(rules, key);
  if (rule === null) return without('ignored', 'no rule matches the key');
  const { submission, faults } = submissionOf(rule, event);
  if (faults !== undefined)
    return without('refused', faults.map(({ pointer, detail }) => `${pointer} ${detail}`).join('; '));
  const known = await bucketEvents.find(event);
  if (known !== null) return { key, version, outcome: 'duplicate', jobId: known, reason: null };
  try {
    const submitted = await submitJob(dependencies, submission, trace, {
      pool: rule.pool,
      title: (await bucketEvents.titleOf(key)) ?? titleOf(rule, event),
      isDefaultDescription: true,
    });
    const isKept = submitted.isNew || rule.new_version === 'keep';
    const answering: AnsweringJob = isKept
      ? submitted
      : await madeAgain(dependencies, submitted.job, { version, pool: rule.pool, trace });
    const { job, isNew, reason = null } = answering;
    await bucketEvents.note(event, job.id);
    return { key, version, outcome: isNew ? 'submitted' : 'existing', jobId: job.id, reason };
  } catch (error) {
    if (!(error instanceof KnownProblem) || !refusals.has(error.code)) throw error;
    const [fault] = error.details.faults ?? [];
    return without('refused', fault?.detail ?? error.message);
  }
}

interface Version {
  readonly version: string;
  readonly trace: TraceContext | null;
}

/** The job of an equal submission that answers an event. */
interface AnsweringJob {
  readonly job: Job;
  readonly isNew: boolean;
  readonly reason?: string;
}

/**
 * The rerun of a job whose source was replaced; the job itself where it was made of what is there now. The object in
 * the bucket decides and not the event's ETag, since events come late, twice and out of order. Of a type that measures
 * no source, every version that was not seen before counts as another.
 *
 * @throws KnownProblem `busy` while the job of an earlier version has not ended; `storage_error`
 */
async function madeAgain(
  dependencies: EventDependencies,
  job: Job,
  { version, pool, trace }: Pick<EventRule, 'pool'> & Version,
): Promise<AnsweringJob> {
  const isChanged = await isSourceChanged(dependencies.source, job);
  if (isChanged === undefined) throw new KnownProblem('storage_error', 'The source bucket does not answer.');
  if (isChanged === false || (isChanged === null && !isFinal(job.status))) return { job, isNew: false };
  if (!isFinal(job.status)) throw toWaitFor(job);
  const reason = `version ${version} of the source`.slice(0, reasonCharactersMax);
  const made = await rerunJob(dependencies, job.id, { rerun: { reason, pool }, trace }).catch((error: unknown) => {
    // Another request changed the job meanwhile.
    throw error instanceof KnownProblem && error.code === 'conflict' ? toWaitFor(job) : error;
  });
  // An equal rerun that was begun before this version came.
  if (!made.isNew && (await isSourceChanged(dependencies.source, made.job)) === true) throw toWaitFor(made.job);
  return { ...made, reason: made.isNew ? `is a new version: job ${job.id} is made again` : 'is being made already' };
}

/** As of every rerun. */
const reasonCharactersMax = 200;

function toWaitFor({ id }: Job): KnownProblem {
  return new KnownProblem('busy', `Job ${id} of an earlier version has not ended; send the notification again later.`);
}

/** The errors that lie in the object itself, and come again at the next try. */
const refusals: ReadonlySet<string> = new Set([
  'source_missing',
  'source_too_large',
  'invalid_request',
  'not_retryable',
]);

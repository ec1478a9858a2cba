import { type EventRule, ruleFor, submissionOf } from '#domain/bucket-events/event-rules.ts';
import type { BucketEvent } from '#domain/bucket-events/notification.ts';
import { KnownProblem } from '#domain/errors.ts';
import type { TraceContext } from '#domain/jobs/job.ts';
import type { BucketEventStore } from '#platform/postgres/bucket-event-store.ts';
import { submitJob } from './submit.ts';

type EventDependencies = Parameters<typeof submitJob>[0] & {
  readonly bucketEvents: BucketEventStore;
  readonly rules: readonly EventRule[];
  /** The name of the source bucket; null where it is a folder, which has none: events of every bucket count. */
  readonly sourceBucket: string | null;
};

/** What became of an event. */
export interface EventOutcome {
  readonly key: string;
  readonly version: string;
  /**
   * `submitted`: a new job. `existing`: an equal job was there. `duplicate`: this version was submitted before.
   * `ignored`: no rule matches, or it is no creation in the source bucket. `refused`: the submission is not valid.
   */
  readonly outcome: 'submitted' | 'existing' | 'duplicate' | 'ignored' | 'refused';
  readonly jobId: string | null;
  /** Why it was ignored or refused. */
  readonly reason: string | null;
}

const eventsAtOnce = 8;

/**
 * Submits the events of a notification by the rules, each version of an object once. The version is noted after its job
 * was accepted: a crash in between makes the next notification of it find that job, since equal submissions make one.
 *
 * @throws KnownProblem when the storage, the database or the queue fails: the sender repeats the whole notification
 */
export async function submitBucketEvents(
  dependencies: EventDependencies,
  events: readonly BucketEvent[],
  trace: TraceContext | null,
): Promise<EventOutcome[]> {
  const outcomes: EventOutcome[] = [];
  const underWay = new Map<string, Promise<EventOutcome>>();
  const rest = events.entries();
  const submitRest = async () => {
    for (const [index, event] of rest) {
      const id = JSON.stringify([event.bucket, event.key, event.version, event.isCreation]);
      const earlier = underWay.get(id);
      const work = earlier?.then(asDuplicate) ?? submitEvent(dependencies, event, trace);
      if (earlier === undefined) underWay.set(id, work);
      outcomes[index] = await work;
    }
  };
  await Promise.all(Array.from({ length: eventsAtOnce }, submitRest));
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
    const { job, isNew } = await submitJob(dependencies, submission, trace);
    await bucketEvents.note(event, job.id);
    return { key, version, outcome: isNew ? 'submitted' : 'existing', jobId: job.id, reason: null };
  } catch (error) {
    if (!(error instanceof KnownProblem) || !refusals.has(error.code)) throw error;
    const [fault] = error.details.faults ?? [];
    return without('refused', fault?.detail ?? error.message);
  }
}

/** What is wrong with the object itself, and the same at the next try. */
const refusals: ReadonlySet<string> = new Set(['source_missing', 'source_too_large', 'invalid_request']);

import { KnownProblem } from '#domain/errors.ts';
import { idempotencyKey } from '#domain/jobs/idempotency.ts';
import type { Job, TraceContext } from '#domain/jobs/job.ts';
import type { Notice } from '#domain/jobs/notice.ts';
import type { Submission } from '#domain/jobs/submission.ts';
import { saysSomething } from '#domain/media/description.ts';
import type { UsedQuota } from '#domain/keys/quotas.ts';
import type { NewJob } from '#platform/postgres/job-row.ts';
import { addReceiver, type EqualDependencies, noticeOf, repaired } from './equal-submission.ts';
import { type Choices, chosenFields, findChosen, refuseUnknownPool } from './choices.ts';
import { enqueue } from './enqueue.ts';
import { preflight, unknownProfile } from './preflight.ts';

/** A submission that was accepted, or that an equal job answers. */
export interface Submitted {
  readonly job: Job;
  readonly isNew: boolean;
  /** A notice to the caller about the job that answers. */
  readonly notice?: Notice | undefined;
  /** Whether the main object of a completed job is missing; undefined where it is not known. */
  readonly resultsMissing?: boolean | undefined;
  /** Quotas of the key that are near their limits with the new job. */
  readonly near?: readonly UsedQuota[] | undefined;
}

export type SubmissionOutcome = Submitted | { readonly error: unknown };

interface Context {
  readonly trace: TraceContext | null;
  readonly choices?: Choices;
}

/**
 * Accepts a job: first its row, then its ticket.
 *
 * The row is the acceptance. A crash, or a queue that refuses, between the two leaves a `queued` row without a ticket,
 * and the caller gets 500. The sweeper adds the missing ticket, and so does an equal submission before it answers;
 * equal tickets have one id. Deleting the row instead would race with equal submissions that were answered with it.
 */
export async function submitJob(
  dependencies: EqualDependencies,
  submission: Submission,
  trace: TraceContext | null,
  choices: Choices = {},
): Promise<Submitted> {
  const [outcome] = await submitJobs(dependencies, [submission], { trace, choices });
  if (outcome === undefined) throw new TypeError('a submission has an outcome');
  if ('error' in outcome) throw outcome.error;
  return outcome;
}

/** Looks at sources and results at the same time, of one request. */
const looksAtOnce = 16;

/**
 * Accepts any number of jobs, each by itself: what is wrong with one leaves the others alone. Their rows are inserted
 * together, and their tickets added together.
 */
export async function submitJobs(
  dependencies: EqualDependencies,
  submissions: readonly Submission[],
  { trace, choices = {} }: Context,
): Promise<SubmissionOutcome[]> {
  const prepared = await forEachOf(submissions, (submission) => prepare(dependencies, submission, { trace, choices }));
  // In one turn of the event loop, so that they share a statement.
  const accepted = await Promise.all(
    prepared.map(async (each): Promise<SubmissionOutcome> =>
      'error' in each || 'job' in each ? each : settled(dependencies.jobs.insertOrFind(each)),
    ),
  );
  const answered = await forEachOf(accepted, (outcome, index) =>
    'error' in outcome || outcome.isNew
      ? outcome
      : answerEqual(dependencies, outcome.job, submissions[index] as Submission, { trace, choices }),
  );
  const described = saysSomething(choices)
    ? await forEachOf<SubmissionOutcome, SubmissionOutcome>(answered, (outcome) =>
        'error' in outcome ? outcome : describe(dependencies, outcome, choices),
      )
    : answered;
  return Promise.all(
    described.map(async (outcome) =>
      'error' in outcome || outcome.job.status !== 'queued' ? outcome : settled(enqueued(dependencies, outcome)),
    ),
  );
}

/**
 * Gives the media the title and metadata that a submission says, of an equal one as well. A crash before it leaves a
 * job that an equal submission finds, which says them again.
 */
async function describe(
  { jobs }: Pick<EqualDependencies, 'jobs'>,
  outcome: Submitted,
  { title, metadata, isDefaultDescription: isDefault = false }: Choices,
): Promise<Submitted> {
  await jobs.describeMedia({ jobId: outcome.job.id, isNew: outcome.isNew, change: { title, metadata }, isDefault });
  return outcome;
}

/** The row to insert, or the equal job that answers although no job could be made now (C11.30). */
async function prepare(
  dependencies: EqualDependencies,
  { type, hash, source, options, callbackUrl }: Submission,
  { trace, choices = {} }: Context,
): Promise<NewJob | { readonly job: Job; readonly isNew: false }> {
  const key = idempotencyKey({ type, hash, source, options });
  try {
    const [measured, chosen] = await Promise.all([
      preflight(dependencies, { type, source }),
      findChosen(choices, dependencies),
      refuseUnknownPool(choices, dependencies),
    ]);
    if ('knownProfiles' in chosen) throw unknownProfile(chosen, '/X-Profile');
    return {
      id: dependencies.randomUuid(),
      type,
      hash,
      source,
      options,
      idempotencyKey: key,
      ...chosenFields(type, measured, chosen),
      callbackUrl,
      retryOfJobId: null,
      trace,
      keyId: choices.keyId ?? null,
      title: choices.title ?? null,
      metadata: choices.metadata ?? null,
      quotas: choices.quotas ?? null,
    };
  } catch (error) {
    const job = await dependencies.jobs.findLive(key);
    if (job !== null) return { job, isNew: false };
    throw error;
  }
}

/** The answer of a live job to an equal submission: it hears of a receiver, and says what the caller should know. */
async function answerEqual(
  dependencies: EqualDependencies,
  job: Job,
  submission: Submission,
  { trace, choices = {} }: Context,
): Promise<Submitted> {
  const answering =
    job.status === 'completed' ? await repaired(dependencies, job, { trace, choices }) : { job, isNew: false };
  const added = await addReceiver(dependencies.jobs, answering.job, submission.callbackUrl);
  // It has ended meanwhile: what it came to is the answer, or a new job that has the receiver.
  if (added === 'ended') return submitJob(dependencies, submission, trace, choices);
  return { ...answering, notice: noticeOf(answering.job, { profile: choices.profile, added }) };
}

/** @throws KnownProblem `internal_error` when the queue refuses */
async function enqueued(dependencies: Pick<EqualDependencies, 'queue'>, outcome: Submitted): Promise<Submitted> {
  try {
    await enqueue(dependencies, outcome.job);
    return outcome;
  } catch (cause) {
    const detail = 'The job is recorded but could not be queued yet. It will be; the same request again is safe.';
    throw new KnownProblem('internal_error', detail, { cause });
  }
}

/** Does `work` for each item, a few at a time; what one of them throws is its outcome. */
async function forEachOf<Item, Result>(
  items: readonly Item[],
  work: (item: Item, index: number) => Promise<Result> | Result,
): Promise<(Result | { readonly error: unknown })[]> {
  const results: (Result | { readonly error: unknown })[] = [];
  const pending = items.entries();
  const workRest = async () => {
    for (const [index, item] of pending) results[index] = await settled((async () => work(item, index))());
  };
  await Promise.all(Array.from({ length: Math.min(looksAtOnce, items.length) }, workRest));
  return results;
}

async function settled<Result>(promise: Promise<Result>): Promise<Result | { readonly error: unknown }> {
  try {
    return await promise;
  } catch (error) {
    return { error };
  }
}

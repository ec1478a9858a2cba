import { type Fault, type JobErrorCode, KnownProblem } from '#domain/errors.ts';
import { idempotencyKey } from '#domain/jobs/idempotency.ts';
import { poolOfQueue, type QueueName, queueNames } from '#domain/jobs/routing.ts';
import { parseSubmission } from '#domain/jobs/submission.ts';
import type { Job } from '#domain/jobs/job.ts';
import { isKnownToBeAllowed } from '#platform/outbound-http/callback-address.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { JobDependencies } from './dependencies.ts';
import { preflight, profileFor } from './preflight.ts';

export interface AdoptDependencies extends Pick<JobDependencies, 'source' | 'config'> {
  readonly jobs: Pick<JobStore, 'insertOrFind'>;
  /** Where webhooks may go beside public addresses. */
  readonly webhookCidrs: readonly string[];
}

/** Why no job can be made: for people, and as the code of a job's error. */
interface Refusal {
  readonly refusal: string;
  readonly code: JobErrorCode;
}

/**
 * Makes the row of a MediaJob that was applied with kubectl: a submission like any other, validated and measured again,
 * whose job has the object's UID. An equal live job is followed instead. The row has no ticket yet; should it never get
 * one, the sweeper adds it.
 *
 * @returns the job, or why there can be none
 */
export async function adopt(
  { metadata, spec }: MediaJob,
  dependencies: AdoptDependencies,
): Promise<{ readonly job: Job } | Refusal> {
  const { type, hash, source, options, callbackUrl } = spec;
  const body = { type, hash, source, ...(options === undefined ? {} : { options }) };
  const parsed = parseSubmission(callbackUrl === undefined ? body : { ...body, callback_url: callbackUrl }, (url) =>
    isKnownToBeAllowed(url, dependencies.webhookCidrs),
  );
  if (parsed.submission === undefined) return refusalOf(parsed.faults);
  const { submission } = parsed;
  const { byName } = dependencies.config.mediaProfiles;
  const named = spec.profile === undefined ? null : byName.get(spec.profile);
  if (named === undefined) return refusalOf([unknownProfile([...byName.keys()])]);
  try {
    const measured = await preflight(dependencies, submission);
    const profile = named === null ? measured.profile : profileFor(submission.type, named);
    const { job } = await dependencies.jobs.insertOrFind({
      ...submission,
      id: metadata?.uid ?? '',
      idempotencyKey: idempotencyKey({ ...submission, profile }),
      ...measured,
      profile,
      queue: queueOfPool(spec.pool) ?? measured.queue,
      pool: spec.pool ?? null,
      priority: spec.priority ?? 0,
      retryOfJobId: null,
      trace: null,
    });
    return { job };
  } catch (error) {
    if (error instanceof KnownProblem && error.details.faults !== undefined) return refusalOf(error.details.faults);
    throw error;
  }
}

const codeOfFault: Readonly<Record<string, JobErrorCode>> = {
  source_missing: 'source_not_found',
  source_too_large: 'limit_exceeded',
};

function unknownProfile(known: readonly string[]): Fault {
  return { pointer: '/profile', code: 'invalid_value', detail: `is no profile; known are ${known.join(', ')}` };
}

/** Every fault, with the fields named as in the object. */
function refusalOf(faults: readonly Fault[]): Refusal {
  const refusal = faults.map(({ pointer, detail }) => `${fieldOf(pointer)}: ${detail}`).join('; ');
  return { refusal, code: codeOfFault[faults[0]?.code ?? ''] ?? 'internal' };
}

/** The field of a MediaJob that a pointer into a submission means, as kubectl names fields. */
function fieldOf(pointer: string): string {
  return `spec${pointer.replace(/^\/callback_url$/, '/callbackUrl').replaceAll('/', '.')}`;
}

/** The queue that a pool serves; undefined for a pool that serves none, whose jobs wait in the queue of their size. */
function queueOfPool(pool: string | undefined): QueueName | undefined {
  return queueNames.find((queue) => poolOfQueue[queue] === pool);
}

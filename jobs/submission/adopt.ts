import { type Fault, type JobErrorCode, KnownProblem } from '#domain/errors.ts';
import { idempotencyKey } from '#domain/jobs/idempotency.ts';
import { parseSubmission } from '#domain/jobs/submission.ts';
import type { Job } from '#domain/jobs/job.ts';
import { titleSchema } from '#domain/media/description.ts';
import { isKnownToBeAllowed } from '#platform/outbound-http/callback-address.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import { chosenFields, findChosen } from './choices.ts';
import { addReceiver } from './equal-submission.ts';
import { type MissingProfile, preflight, type PreflightDependencies } from './preflight.ts';

export interface AdoptDependencies extends PreflightDependencies {
  readonly jobs: Pick<JobStore, 'insertOrFind' | 'findLive' | 'addCallback' | 'describeMedia'>;
  /** Where webhooks may go beside public addresses. */
  readonly webhookCidrs: readonly string[];
}

/** Why no job can be made: for people, and as the code of a job's error. */
interface Refusal {
  readonly refusal: string;
  readonly code: JobErrorCode;
}

/**
 * Makes the row of a MediaJob that was applied with kubectl. It is validated and measured like any submission, and the
 * job's id is the object's UID. An equal live job is followed instead, even where no job could be made now. The row has
 * no ticket yet; the sweeper adds a missing one.
 *
 * @returns the job, why there can be none, or that none can be made until a profile exists
 */
export async function adopt(
  { metadata, spec }: MediaJob,
  dependencies: AdoptDependencies,
): Promise<{ readonly job: Job } | Refusal | MissingProfile> {
  const { type, hash, source, options, callbackUrl, title } = spec;
  const called = titleSchema.optional().safeParse(title);
  if (!called.success) return refusalOf(called.error.issues.map(({ message }) => titleFault(message)));
  const body = { type, hash, source, ...(options === undefined ? {} : { options }) };
  const parsed = parseSubmission(callbackUrl === undefined ? body : { ...body, callback_url: callbackUrl }, (url) =>
    isKnownToBeAllowed(url, dependencies.webhookCidrs),
  );
  if (parsed.submission === undefined) return refusalOf(parsed.faults);
  const { submission } = parsed;
  const key = idempotencyKey(submission);
  const follow = async (job: Job) => {
    await addReceiver(dependencies.jobs, job, submission.callbackUrl);
    // Its own job says it by its own number, so that saying it again, as after a crash, changes nothing.
    const said = { jobId: job.id, isNew: job.id === metadata?.uid, change: { title } };
    if (title !== undefined) await dependencies.jobs.describeMedia(said);
    return { job };
  };
  const chosen = await findChosen(spec, dependencies);
  if ('knownProfiles' in chosen) {
    const job = await dependencies.jobs.findLive(key);
    return job === null ? chosen : follow(job);
  }
  try {
    const measured = await preflight(dependencies, submission);
    const { job } = await dependencies.jobs.insertOrFind({
      ...submission,
      id: metadata?.uid ?? '',
      idempotencyKey: key,
      ...chosenFields(submission.type, measured, chosen),
      retryOfJobId: null,
      trace: null,
      keyId: spec.key ?? null,
      title: title ?? null,
    });
    return await follow(job);
  } catch (error) {
    const job = await dependencies.jobs.findLive(key);
    if (job !== null) return follow(job);
    if (error instanceof KnownProblem && error.details.faults !== undefined) return refusalOf(error.details.faults);
    throw error;
  }
}

function titleFault(detail: string): Fault {
  return { pointer: '/title', code: 'invalid_value', detail };
}

const codeOfFault: Readonly<Record<string, JobErrorCode>> = {
  source_missing: 'source_not_found',
  source_empty: 'corrupt_input',
  source_unsupported: 'unsupported_media',
  source_too_large: 'limit_exceeded',
};

/** Every fault, with the fields named as in the object. */
function refusalOf(faults: readonly Fault[]): Refusal {
  const refusal = faults.map(({ pointer, detail }) => `${fieldOf(pointer)}: ${detail}`).join('; ');
  return { refusal, code: codeOfFault[faults[0]?.code ?? ''] ?? 'internal' };
}

/** The field of a MediaJob that a pointer into a submission means, as kubectl names fields. */
function fieldOf(pointer: string): string {
  return `spec${pointer.replace(/^\/callback_url$/, '/callbackUrl').replaceAll('/', '.')}`;
}

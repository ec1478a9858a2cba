import { KnownProblem } from '#domain/errors.ts';
import { jobTypeRow } from '#domain/job-types/index.ts';
import type { Job, TraceContext } from '#domain/jobs/job.ts';
import type { Notice } from '#domain/jobs/notice.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { Config } from '#platform/config/config.ts';
import type { CallbackAdded } from '#platform/postgres/job-callbacks.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { areResultsMissing } from '../checks.ts';
import type { Choices } from './choices.ts';
import type { JobDependencies } from '../dependencies.ts';
import type { PreflightDependencies } from './preflight.ts';
import { makeRerun } from './rerun.ts';

/** The dependencies of answering submissions. */
export interface EqualDependencies
  extends Pick<JobDependencies, 'jobs' | 'pools' | 'queue' | 'randomUuid' | 'log'>, PreflightDependencies {
  readonly media: Pick<ObjectStore, 'head'>;
  readonly config: PreflightDependencies['config'] & Pick<Config, 'repairMissing'>;
}

/** A completed job, or its rerun where its results are missing and `REPAIR_MISSING` is set. */
export async function repaired(
  dependencies: EqualDependencies,
  job: Job,
  { trace, choices = {} }: { readonly trace: TraceContext | null; readonly choices?: Choices },
): Promise<{ readonly job: Job; readonly isNew: boolean; readonly resultsMissing?: boolean | undefined }> {
  const resultsMissing = await areResultsMissing(dependencies.media, job);
  if (resultsMissing !== true || !dependencies.config.repairMissing) return { job, isNew: false, resultsMissing };
  try {
    const { profile, pool, priority, keyId, quotas } = choices;
    const rerun = { reason: 'its results are missing', profile, pool, priority, keyId, quotas };
    const { job: made, isNew } = await makeRerun(dependencies, job.id, { rerun, trace });
    return { job: made, isNew };
  } catch (error) {
    // Its source is not there any more, so the caller learns what is missing.
    if (error instanceof KnownProblem && error.code === 'not_retryable') return { job, isNew: false, resultsMissing };
    throw error;
  }
}

/** What became of the receiver of an equal submission. */
type ReceiverAdded = CallbackAdded | 'too_late';

/** Adds the receiver of an equal submission to an active job; undefined where there is nothing to add. */
export async function addReceiver(
  jobs: Pick<JobDependencies['jobs'], 'addCallback'>,
  job: Job,
  callbackUrl: string | null,
): Promise<ReceiverAdded | undefined> {
  if (callbackUrl === null || callbackUrl === job.callbackUrl) return undefined;
  return isFinal(job.status) ? 'too_late' : jobs.addCallback(job.id, callbackUrl);
}

/** The notice about an equal job: that the receiver is not called, else that its profile is another. */
export function noticeOf(
  job: Job,
  { profile, added }: { readonly profile: string | undefined; readonly added: ReceiverAdded | undefined },
): Notice | undefined {
  if (added === 'too_many')
    return {
      code: 'too_many_callbacks',
      detail: 'The job has nine receivers already; this callback_url is not called.',
    };
  if (added === 'too_late')
    return {
      code: 'callback_too_late',
      detail: 'The job had ended before; this callback_url is not called. The answer says what came of it.',
    };
  const used = job.profile?.name ?? 'default';
  if (profile === undefined || profile === used || !jobTypeRow(job.type).makesStream) return undefined;
  const advice = `POST /api/jobs/${job.id}/rerun makes it again by ${profile} once it has ended`;
  return { code: 'other_profile', detail: `An equal job has the profile ${used}; ${advice}.` };
}

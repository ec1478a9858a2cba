import { KnownProblem } from '#domain/errors.ts';
import type { ApiKey } from '#domain/keys/api-key.ts';
import type { JobType } from '#domain/job-types/index.ts';
import { idempotencyKey, rerunKey } from '#domain/jobs/idempotency.ts';
import type { Job, TraceContext } from '#domain/jobs/job.ts';
import { retriesOf } from '#domain/jobs/retries.ts';
import { choicesOf, chosenFields, requireKeptChoices } from './choices.ts';
import type { JobDependencies } from '../dependencies.ts';
import { enqueueOrLeave } from './enqueue.ts';
import { preflightAgain, type PreflightDependencies } from './preflight.ts';

const reasons = {
  not_found: new KnownProblem('not_found', 'There is no such job.'),
  not_failed: new KnownProblem('not_retryable', 'Only a failed job can be retried.'),
  retry_exists: new KnownProblem('conflict', 'A retry of this job exists already.'),
};

type RetryDependencies = Pick<JobDependencies, 'jobs' | 'queue' | 'randomUuid' | 'log'> & PreflightDependencies;

/**
 * Makes the jobs that retry a failed one. An equal job that is live or completed is returned in place of a new one. The
 * store locks the failed row while it looks and inserts, so of two equal requests one makes the jobs and the other is
 * refused. A ticket that cannot be added is left to the sweeper, since the same request again would be refused.
 *
 * @param key the API key of the request; null where none asks
 * @throws KnownProblem `not_found`, `not_retryable`, `conflict`; `forbidden` for a profile or priority that the key may
 * not choose; `rate_limited` beyond a quota of the key
 */
export async function retryJob(
  dependencies: RetryDependencies,
  jobId: string,
  trace: TraceContext | null,
  key: ApiKey | null = null,
): Promise<Job[]> {
  const failed = await dependencies.jobs.find(jobId);
  if (failed === null) throw reasons.not_found;
  // The store decides this under the row's lock; here it only spares the look at the source.
  if (failed.status !== 'failed') throw reasons.not_failed;
  const source = await preflightAgain(dependencies, failed);
  const chosen = await choicesOf(failed, source, dependencies);
  const fieldsFor = (type: JobType) => {
    const fields = chosenFields(type, source, chosen);
    requireKeptChoices(key, type, fields);
    return fields;
  };
  const outcome = await dependencies.jobs.createRetries({
    jobId,
    newJobs: (job) =>
      retriesOf(job).map(({ type, options }) => {
        const equalKey = idempotencyKey({ type, hash: job.hash, source: job.source, options });
        return {
          id: dependencies.randomUuid(),
          type,
          hash: job.hash,
          source: job.source,
          options,
          // The retry of a rerun is one too: else the job that is made again would answer in its place.
          idempotencyKey: job.rerunOfJobId === null ? equalKey : rerunKey(equalKey),
          ...fieldsFor(type),
          callbackUrl: job.callbackUrl,
          retryOfJobId: job.id,
          rerunOfJobId: job.rerunOfJobId,
          rerunReason: job.rerunReason,
          title: job.title,
          metadata: job.metadata,
          trace,
          keyId: key?.id ?? null,
          quotas: key?.quotas ?? null,
        };
      }),
  });
  if (outcome.outcome === 'not_allowed') throw new KnownProblem('not_retryable', outcome.reason);
  if (outcome.outcome !== 'created') throw reasons[outcome.outcome];
  for (const job of outcome.jobs.filter(({ status }) => status === 'queued')) {
    await enqueueOrLeave(dependencies, job);
  }
  return outcome.jobs;
}

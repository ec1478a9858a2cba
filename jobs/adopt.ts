import { idempotencyKey } from '#domain/jobs/idempotency.ts';
import { type QueueName, queueNames, queueOfSize, poolOfQueue } from '#domain/jobs/routing.ts';
import { parseSubmission, type Submission } from '#domain/jobs/submission.ts';
import { jobTypes } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import { isKnownToBeAllowed } from '#platform/outbound-http/callback-address.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';

export interface AdoptDependencies {
  readonly jobs: Pick<JobStore, 'insertOrFind'>;
  readonly source: Pick<ObjectStore, 'head'>;
  readonly maxFileSizeBytes: number;
  readonly largeVideoThresholdBytes: number;
  /** Where webhooks may go beside public addresses. */
  readonly webhookCidrs: readonly string[];
}

/**
 * Makes the row of a MediaJob that came by kubectl: a submission like any other, validated and measured again, whose
 * job has the object's UID. An equal job that is live already is followed instead (section 2, "Idempotency key").
 * The row has no ticket yet; should it never get one, the sweeper sees to that.
 *
 * @returns the job, or why there can be none
 */
export async function adopt(
  { metadata, spec }: MediaJob,
  d: AdoptDependencies,
): Promise<{ readonly job: Job } | { readonly refusal: string }> {
  const { type, hash, source, options, callbackUrl } = spec;
  const body = { type, hash, source, ...(options === undefined ? {} : { options }) };
  const parsed = parseSubmission(callbackUrl === undefined ? body : { ...body, callback_url: callbackUrl }, (url) =>
    isKnownToBeAllowed(url, d.webhookCidrs),
  );
  if (parsed.submission === undefined) {
    return { refusal: parsed.faults.map(({ pointer, detail }) => `${fieldOf(pointer)}: ${detail}`).join('; ') };
  }
  const found = await measured(parsed.submission, d);
  if (typeof found === 'string') return { refusal: found };
  const { submission } = parsed;
  const { job } = await d.jobs.insertOrFind({
    ...submission,
    id: metadata?.uid ?? '',
    idempotencyKey: idempotencyKey(submission),
    ...found,
    queue: queueOfPool(spec.pool) ?? found.queue,
    retryOfJobId: null,
    trace: null,
  });
  return { job };
}

/** The field of a MediaJob that a pointer into a submission means, as kubectl names fields. */
function fieldOf(pointer: string): string {
  return `spec${pointer.replace(/^\/callback_url$/, '/callbackUrl').replaceAll('/', '.')}`;
}

/** What preflight finds of the source, or why it refuses. */
async function measured({ type, source }: Submission, d: AdoptDependencies) {
  if (!jobTypes[type].hasPreflight) return { queue: 'default' as const, sourceSizeBytes: null, sourceEtag: null };
  const info = await d.source.head(source);
  if (info === null) return 'spec.source: does not exist in the source bucket';
  if (info.sizeBytes > d.maxFileSizeBytes) {
    return `spec.source: is ${info.sizeBytes} bytes; at most ${d.maxFileSizeBytes} are accepted`;
  }
  const queue = queueOfSize(info.sizeBytes, d.largeVideoThresholdBytes);
  return { queue, sourceSizeBytes: info.sizeBytes, sourceEtag: info.etag };
}

/** The queue that a pool serves; undefined for a pool that serves none, whose jobs wait in the queue of their size. */
function queueOfPool(pool: string | undefined): QueueName | undefined {
  return queueNames.find((queue) => poolOfQueue[queue] === pool);
}

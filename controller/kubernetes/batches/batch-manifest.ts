import type { Job } from '#domain/jobs/job.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import { runnerVariables } from '#domain/runner/steps.ts';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { activeDeadlineDefaultSeconds, jobManifest, type JobTemplate } from '../manifests/job-manifest.ts';
import { labels } from '../manifests/names.ts';
import type { OwnMark } from '../manifests/own-mark.ts';
import { batchLabel, batchPool, batchQueue } from './batch.ts';

interface BatchInput {
  readonly id: string;
  readonly mediaJob: MediaJob;
  readonly pool: { readonly name: string; readonly spec: RunnerPoolSpec };
  /** Where its runner asks for tasks, with what token. */
  readonly tasks: { readonly url: string; readonly token: string };
}

/** A batch takes no more tasks after this time, so that other jobs get its slot. */
export const batchMs = 5 * 60_000;

const notOfATask: readonly string[] = [runnerVariables.task, runnerVariables.reportUrl, runnerVariables.reportToken];

/**
 * The batch/v1 Job of a batch: that of an image job, but for where its tasks come from. Its deadline leaves the last
 * task as much time as a Job of its own would have.
 */
export function batchManifest({ id, mediaJob, pool, tasks }: BatchInput, template: JobTemplate) {
  const { activeDeadlineSeconds = activeDeadlineDefaultSeconds } = pool.spec;
  const longer = { ...pool.spec, activeDeadlineSeconds: activeDeadlineSeconds + batchMs / 1000 };
  const input = {
    job: standIn(id),
    mediaJob,
    pool: { ...pool, spec: longer },
    report: null,
    keyEndpoint: '',
    part: null,
  };
  const { metadata, spec } = jobManifest(input, template);
  const [container] = spec?.template.spec?.containers ?? [];
  if (spec === undefined || container === undefined) throw new TypeError('a Job has a container');
  container.args = ['batch'];
  container.env = [
    ...(container.env ?? []).filter(({ name }) => !notOfATask.includes(name)),
    { name: runnerVariables.tasksUrl, value: tasks.url },
    { name: runnerVariables.tasksToken, value: tasks.token },
  ];
  const pod = spec.template.metadata;
  spec.template.metadata = { ...pod, labels: { ...pod?.labels, ...labelOfBatch } };
  return { metadata: { ...metadata, labels: { ...metadata?.labels, ...labelOfBatch } }, spec };
}

const labelOfBatch = { [batchLabel]: 'images' };

/** The MediaJob of a batch. Its hash and source are names alone: the definition wants them of every MediaJob. */
export function batchMediaJob(id: string, namespace: string, mark: OwnMark): MediaJob {
  return {
    metadata: {
      namespace,
      name: `mj-${id}`,
      labels: { [labels.jobId]: id, [labels.pool]: batchPool, ...labelOfBatch },
      annotations: mark.annotationsFor(id),
    },
    spec: { type: 'image:thumbnail', hash: 'batch', source: 'batch', pool: batchPool },
  };
}

/** An image job as which the Job of a batch is made; its task is left out. */
function standIn(id: string): Job {
  return {
    id,
    type: 'image:thumbnail',
    hash: 'batch',
    source: 'batch',
    options: { outputs: [] },
    status: 'processing',
    phase: null,
    waitingReason: null,
    progress: 0,
    eta: null,
    attempt: 1,
    failures: 0,
    disruptions: 0,
    queue: batchQueue,
    pool: batchPool,
    priority: 0,
    sourceSizeBytes: null,
    sourceEtag: null,
    profile: null,
    callbackUrl: null,
    callbackStatus: null,
    retryOfJobId: null,
    error: null,
    results: null,
    trace: null,
    createdAt: new Date(0),
    updatedAt: new Date(0),
    startedAt: null,
    finishedAt: null,
  };
}

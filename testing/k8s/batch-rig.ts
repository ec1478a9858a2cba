import type { Task } from '#domain/work/task.ts';
import { freePort } from '../free-port.ts';
import { BatchRunner } from './batch-runner.ts';
import { until } from './cluster.ts';
import { openControllerRig } from './controller.ts';
import type { BatchJob } from './node.ts';
import { leaveThumbnail } from './workers.ts';

export const thumbnail = { options: { outputs: [{ variant: 'thumb', width: 100, format: 'webp' as const }] } };

/** The arguments of a Job's only container: `batch`, or the step of a single image job. */
const argsOf = (job: BatchJob) => job.spec?.template.spec?.containers[0]?.args;
export const isOfBatch = (job: BatchJob) => argsOf(job)?.[0] === 'batch';

/** A rig whose runners reach the worker, and whose image jobs share pods from three on. */
export async function openBatchRig(variables: Record<string, string> = {}) {
  const port = String(await freePort());
  const address = { WORKER_METRICS_PORT: port, HOST: '127.0.0.1', REPORT_URL: `http://127.0.0.1:${port}` };
  const rig = await openControllerRig({ ...address, WORKER_CONCURRENCY: '2', IMAGE_BATCH_MIN: '3', ...variables });
  const batches = async () => (await rig.node.jobs()).filter(isOfBatch);
  const firstJob = async () => {
    await until('a batch has a Job', async () => (await batches()).length > 0);
    const [job] = await batches();
    if (job === undefined) throw new Error('the batch has a Job');
    return job;
  };
  return {
    ...rig,
    batches,
    /** The Job of the first batch, once it is there. */
    firstJob,
    submitMany: (count: number, more: object = {}) =>
      Promise.all(Array.from({ length: count }, () => rig.submit('image:thumbnail', { ...thumbnail, ...more }))),
    /** The first batch that has a Job, with its pod running, and a runner. */
    async firstBatch() {
      const job = await firstJob();
      const pod = await rig.node.podOf(job);
      await rig.node.setStatus(pod, { phase: 'Running' });
      return { job, pod, id: job.metadata?.labels?.['reelwright.dev/batch-id'] ?? '', runner: new BatchRunner(job) };
    },
    work: ({ job_id: jobId, hash, attempt }: Task) => leaveThumbnail(rig.media, { jobId, hash, attempt }),
  };
}

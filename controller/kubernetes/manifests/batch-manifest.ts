import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import { warmRunnerAccess, warmRunnerVariables } from '#domain/work/access.ts';
import { runnerVariables } from '#domain/work/steps.ts';
import { batchJobName, labels } from '../snapshots/names.ts';
import { activeDeadlineSecondsOf, type JobTemplate } from './job-template.ts';
import { type RunnerJob, runnerJob, singlePodRules } from './runner-job.ts';
import { workspace } from './runner-pod.ts';

export interface BatchInput {
  readonly id: string;
  readonly namespace: string;
  readonly pool: { readonly name: string; readonly spec: RunnerPoolSpec };
  /** Where its runner asks for tasks, with what token. */
  readonly tasks: { readonly url: string; readonly token: string };
}

/** A batch takes no more tasks after this time, so that other jobs get its slot. */
export const batchMs = 5 * 60_000;

/**
 * The batch/v1 Job of a batch. Its deadline leaves the last task as much time as the pod of a job by itself would have.
 */
export function batchManifest({ id, namespace, pool, tasks }: BatchInput, template: JobTemplate): RunnerJob {
  const { base, storage } = template;
  const variables = {
    ...warmRunnerVariables({ workspace, base, storage }),
    [runnerVariables.workspace]: workspace,
    [runnerVariables.tasksUrl]: tasks.url,
    [runnerVariables.tasksToken]: tasks.token,
  };
  const pod = {
    labels: { [labels.batchId]: id, [labels.pool]: pool.name },
    annotations: {},
    pool: pool.spec,
    activeDeadlineSeconds: activeDeadlineSecondsOf(pool.spec) + batchMs / 1000,
    steps: [{ name: 'all' as const, args: ['batch'], access: warmRunnerAccess, variables, keySecret: null }],
  };
  const metadata = { namespace, name: batchJobName(id) };
  return runnerJob({ metadata, pod, rules: singlePodRules(pod, template) }, template);
}

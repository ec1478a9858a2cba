import { exitCodes } from '#domain/exit-codes.ts';
import type { jobs, ObjectMeta } from '#platform/kubernetes/objects.ts';
import { imageAnnotation, templateAnnotation } from '../snapshots/names.ts';
import { type JobTemplate, templateHash } from './job-template.ts';
import { type RunnerPod, runnerPod } from './runner-pod.ts';

/** A batch/v1 Job as it is on the wire. */
export type RunnerJob = NonNullable<(typeof jobs)['example']>;
type JobSpec = NonNullable<RunnerJob['spec']>;

/** The differences between Jobs of one template. */
export interface RunnerJobInput {
  /** The Job's metadata, without what its pod has too. */
  readonly metadata: ObjectMeta;
  readonly pod: RunnerPod;
  /** How many pods it has, and what follows the failure of one. */
  readonly rules: Partial<JobSpec>;
}

/** A Job of runner pods. */
export function runnerJob({ metadata, pod, rules }: RunnerJobInput, template: JobTemplate): RunnerJob {
  const { kueueQueue } = pod.pool;
  return {
    metadata: {
      ...metadata,
      labels: { ...pod.labels, ...(kueueQueue ? { 'kueue.x-k8s.io/queue-name': kueueQueue } : {}) },
      annotations: {
        ...pod.annotations,
        ...metadata.annotations,
        [templateAnnotation]: templateHash(pod.pool, template),
        [imageAnnotation]: template.image.name,
      },
    },
    spec: {
      ...rules,
      ttlSecondsAfterFinished: Math.max(1, Math.ceil(template.ttlMs / 1000)),
      template: runnerPod(pod, template),
    },
  };
}

/**
 * The Job of one pod, that is never replaced. An attempt writes under a revision of its own, and two pods of one Job
 * would write under the same; so whatever ends the pod ends the Job, and what follows (another attempt, counted or not)
 * is the controller's to say (docs/decisions/0020).
 */
export function singlePodRules(
  { activeDeadlineSeconds }: RunnerPod,
  { pendingDeadlineMs }: JobTemplate,
): Partial<JobSpec> {
  return {
    completions: 1,
    parallelism: 1,
    backoffLimit: 0,
    podReplacementPolicy: 'Failed',
    podFailurePolicy: {
      rules: [
        { action: 'FailJob', onExitCodes: { operator: 'In', values: [exitCodes.permanent] } },
        // The next attempt costs nothing then, but it is another Job, under another revision.
        { action: 'FailJob', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
      ],
    },
    // The pod has its own deadline, from its start; this one bounds what no pod begins.
    activeDeadlineSeconds: activeDeadlineSeconds + Math.ceil(pendingDeadlineMs / 1000) + 60,
  };
}

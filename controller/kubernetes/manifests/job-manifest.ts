import type { Job } from '#domain/jobs/job.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import { accessOf, stepVariables } from '#domain/work/access.ts';
import { runnerVariables, type StepName } from '#domain/work/steps.ts';
import { unitKindRow } from '#domain/work/unit.ts';
import { type MediaJob, mediaJobs, type ObjectMeta } from '#platform/kubernetes/objects.ts';
import {
  imageAnnotation,
  keySecretName,
  labels,
  mediaJobAnnotation,
  templateAnnotation,
  unitJobName,
} from '../snapshots/names.ts';
import { type BatchInput, batchManifest } from './batch-manifest.ts';
import { activeDeadlineSecondsOf, type JobTemplate, templateHash } from './job-template.ts';
import { type RunnerJob, runnerJob, singlePodRules } from './runner-job.ts';
import { type RunnerStep, workspace } from './runner-pod.ts';
import { parallelRules, unitAnnotations, type UnitsToRun, writtenTask } from './unit-job.ts';

interface JobInput {
  readonly job: Job;
  readonly mediaJob: MediaJob;
  readonly pool: { readonly name: string; readonly spec: RunnerPoolSpec };
  /** Where reports are POSTed, with what token; null: nowhere. */
  readonly report: { readonly url: string; readonly token: string } | null;
  readonly keyEndpoint: string;
  readonly units: UnitsToRun;
}

/** Makes Jobs from one template, and recognises Jobs of another. */
export interface JobManifests {
  manifestOf(input: JobInput): RunnerJob;
  batchOf(input: BatchInput): RunnerJob;
  /** Whether a Job was created from other settings of its pool or of the runner. */
  isOutdated(job: ObjectMeta, pool: RunnerPoolSpec | null): boolean;
  /** Whether a Job runs another image than this controller's, and so is of another version, as in an upgrade. */
  isOfOtherVersion(job: ObjectMeta): boolean;
}

/** The Jobs of a template. */
export function jobManifestsOf(template: JobTemplate): JobManifests {
  return {
    manifestOf: (input) => jobManifest(input, template),
    batchOf: (input) => batchManifest(input, template),
    isOutdated: ({ annotations }, pool) => {
      const hash = annotations?.[templateAnnotation];
      return hash !== undefined && hash !== templateHash(pool, template);
    },
    // Versions before this annotation have none.
    isOfOtherVersion: ({ annotations }) => annotations?.[imageAnnotation] !== template.image.name,
  };
}

/**
 * The batch/v1 Job of an attempt's units of one kind. `fetch` and `process` are init containers and `publish` is the
 * main one, so that each has its own environment: source credentials, nothing, media credentials and content key.
 */
export function jobManifest(input: JobInput, template: JobTemplate): RunnerJob {
  const { job, mediaJob, pool, units } = input;
  const { name = '', namespace = '', uid = '' } = mediaJob.metadata ?? {};
  const { apiVersion, kind } = mediaJobs;
  const row = unitKindRow(units.kind);
  const pod = {
    labels: {
      [labels.jobId]: job.id,
      [labels.attempt]: String(job.attempt),
      [labels.pool]: pool.name,
      [labels.unit]: units.kind,
      ...(job.keyId === null ? {} : { [labels.keyId]: job.keyId }),
    },
    annotations: { [mediaJobAnnotation]: name },
    pool: pool.spec,
    activeDeadlineSeconds: activeDeadlineSecondsOf(pool.spec),
    steps: row.steps.map((step) => stepOf(step, input, template)),
  };
  const metadata = {
    namespace,
    name: unitJobName(job, units.kind),
    annotations: unitAnnotations(units),
    ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
  };
  return runnerJob(
    { metadata, pod, rules: row.isParallel ? parallelRules(units) : singlePodRules(pod, template) },
    template,
  );
}

function stepOf(name: StepName, input: JobInput, template: JobTemplate): RunnerStep {
  const { job, keyEndpoint } = input;
  const { kind } = input.units;
  const { base, storage } = template;
  const access = accessOf(name, kind, job);
  // The Job shows the progress of several units.
  const report = unitKindRow(kind).isParallel ? null : input.report;
  const task = writtenTask(input, template);
  return {
    name,
    args: [name],
    access,
    variables: {
      ...stepVariables({ access, task, workspace, base, storage, keyEndpoint }),
      ...(report === null
        ? {}
        : { [runnerVariables.reportUrl]: report.url, [runnerVariables.reportToken]: report.token }),
    },
    keySecret: access.hasContentKey ? keySecretName(job) : null,
  };
}

import { createHash } from 'node:crypto';
import type { Job } from '#domain/jobs/job.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import { exitCodes } from '#domain/exit-codes.ts';
import { runnerVariables } from '#domain/runner/steps.ts';
import type { RunnerPodSettings } from '#platform/config/kubernetes-variables.ts';
import type { MediaJob, jobs } from '#platform/kubernetes/objects.ts';
import { mediaJobs } from '#platform/kubernetes/objects.ts';
import { accessOf, type StepName, stepsOf, stepVariables } from '#jobs/step-access.ts';
import { filmAnnotation } from '../film.ts';
import { chunkRules, filmPartOf, type PartToRun, taskOf } from './film-part.ts';
import { keySecretName, labels, mediaJobAnnotation, partJobName, templateAnnotation } from './names.ts';

/** A batch/v1 Job as it is on the wire. */
type BatchJob = NonNullable<(typeof jobs)['example']>;
type PodSpec = NonNullable<BatchJob['spec']>['template']['spec'] & object;
type Container = PodSpec['containers'][number];
type Variable = NonNullable<Container['env']>[number];

/** What is alike in the Jobs of every job. */
export interface JobTemplate {
  readonly image: {
    readonly name: string;
    readonly pullPolicy: string;
    readonly pullSecrets: readonly string[];
  };
  /** Of runner pods, which mount no token of it. */
  readonly serviceAccount: string;
  readonly pod: RunnerPodSettings;
  /** A ConfigMap of the runners' namespace with the key `ca.crt`; null: none. */
  readonly caConfigMap: string | null;
  /** What every step's environment holds, such as `LOG_LEVEL`. No secret. */
  readonly base: Readonly<Record<string, string>>;
  /** Settings of the two stores, without credentials. */
  readonly storage: {
    readonly source: Readonly<Record<string, string>>;
    readonly media: Readonly<Record<string, string>>;
  };
  /** Secrets with the credentials of the two stores; null: the pod's own identity. */
  readonly credentials: { readonly source: string | null; readonly media: string | null };
  /** `MAX_FILE_SIZE`, in bytes. */
  readonly maxFileSizeBytes: number;
  /** `CHUNK_LENGTH`, in seconds. */
  readonly chunkSec: number;
  readonly pendingDeadlineMs: number;
  readonly ttlMs: number;
}

interface JobInput {
  readonly job: Job;
  readonly mediaJob: MediaJob;
  readonly pool: { readonly name: string; readonly spec: RunnerPoolSpec };
  /** Where reports are POSTed, with what token; null: nowhere. */
  readonly report: { readonly url: string; readonly token: string } | null;
  readonly keyEndpoint: string;
  /** The part of a film's work; null for a job type that is always one piece. */
  readonly part: PartToRun | null;
}

/**
 * On EKS the webhook of IRSA gives every container of a pod the role of its service account. The step that decodes
 * untrusted bytes must not have it.
 */
const withoutCloudIdentity = { 'eks.amazonaws.com/skip-containers': 'process' satisfies StepName };

const userId = 10_001;
const defaultPodSecurityContext = {
  runAsNonRoot: true,
  runAsUser: userId,
  runAsGroup: userId,
  fsGroup: userId,
  seccompProfile: { type: 'RuntimeDefault' },
};
const defaultContainerSecurityContext = {
  allowPrivilegeEscalation: false,
  readOnlyRootFilesystem: true,
  capabilities: { drop: ['ALL'] },
};
const caFolder = '/etc/reelwright/ca';
const workspace = '/workspace';
/** What `publish` writes: it has the content key and credentials, and reads the workspace only. */
const output = '/output';
const terminationLog = '/dev/termination-log';
/** One to notice, three for the tools to end, one to spare (runner/main.ts). */
const graceSeconds = 5;
/** The kubelet's own default deadline of a pod that a pool sets none for. */
export const activeDeadlineDefaultSeconds = 6 * 60 * 60;

/**
 * The batch/v1 Job of one attempt: one pod, that is never replaced. An attempt writes under a revision of its own, and
 * two pods of one Job would write under the same; so whatever ends the pod ends the Job, and what follows (another
 * attempt, counted or not) is the controller's to say (docs/decisions/0020).
 *
 * `fetch` and `process` are init containers and `publish` is the main one, so that each has its own environment: source
 * credentials, nothing, media credentials and content key.
 */
export function jobManifest(input: JobInput, template: JobTemplate): BatchJob {
  const { job, mediaJob, pool, part } = input;
  const { activeDeadlineSeconds = activeDeadlineDefaultSeconds, kueueQueue } = pool.spec;
  const { name = '', namespace = '', uid = '' } = mediaJob.metadata ?? {};
  const ownLabels = {
    [labels.jobId]: job.id,
    [labels.attempt]: String(job.attempt),
    [labels.pool]: pool.name,
    ...(part === null ? {} : { [labels.part]: part.kind }),
  };
  const annotations = { [mediaJobAnnotation]: name };
  const podMetadata = {
    labels: { ...template.pod.labels, ...ownLabels },
    annotations: { ...template.pod.annotations, ...withoutCloudIdentity, ...annotations },
  };
  const { apiVersion, kind } = mediaJobs;
  return {
    metadata: {
      namespace,
      name: partJobName(job, part?.kind ?? 'split'),
      labels: { ...ownLabels, ...(kueueQueue ? { 'kueue.x-k8s.io/queue-name': kueueQueue } : {}) },
      annotations: {
        ...annotations,
        [templateAnnotation]: templateHash(pool.spec, template),
        ...(part?.film == null ? {} : { [filmAnnotation]: JSON.stringify(part.film) }),
      },
      ownerReferences: [{ apiVersion, kind, name, uid, controller: true }],
    },
    spec: {
      ...(part?.kind === 'encode'
        ? chunkRules(part)
        : {
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
            activeDeadlineSeconds: activeDeadlineSeconds + Math.ceil(template.pendingDeadlineMs / 1000) + 60,
          }),
      ttlSecondsAfterFinished: Math.max(1, Math.ceil(template.ttlMs / 1000)),
      template: { metadata: podMetadata, spec: podSpec(input, template, activeDeadlineSeconds) },
    },
  };
}

/** A hash of all settings that Jobs of a pool are created from, except for its concurrency. */
export function templateHash(pool: RunnerPoolSpec | null, template: JobTemplate): string {
  const { concurrency: _, ...settings } = pool ?? { concurrency: 0 };
  return createHash('sha256')
    .update(JSON.stringify([settings, template]))
    .digest('hex')
    .slice(0, 16);
}

function podSpec(input: JobInput, template: JobTemplate, activeDeadlineSeconds: number): PodSpec {
  const { job, pool } = input;
  const { nodeSelector, tolerations, scratch, priorityClassName, runtimeClassName } = pool.spec;
  const containers = stepsOf(job.type, filmPartOf(input.part, template.chunkSec)).map((step) =>
    container(step, input, template),
  );
  const sizeLimit = scratch?.sizeLimit === undefined ? {} : { sizeLimit: String(scratch.sizeLimit) };
  return {
    restartPolicy: 'Never',
    activeDeadlineSeconds,
    terminationGracePeriodSeconds: graceSeconds,
    serviceAccountName: template.serviceAccount,
    automountServiceAccountToken: false,
    enableServiceLinks: false,
    securityContext: template.pod.securityContext ?? defaultPodSecurityContext,
    ...(template.image.pullSecrets.length > 0
      ? { imagePullSecrets: template.image.pullSecrets.map((name) => ({ name })) }
      : {}),
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
    ...(tolerations === undefined ? {} : { tolerations: tolerations as NonNullable<PodSpec['tolerations']> }),
    ...(priorityClassName ? { priorityClassName } : {}),
    ...(runtimeClassName ? { runtimeClassName } : {}),
    ...(containers.length > 1 ? { initContainers: containers.slice(0, -1) } : {}),
    containers: containers.slice(-1),
    volumes: [
      { name: 'workspace', emptyDir: sizeLimit },
      ...(containers.some(({ name }) => name === 'publish') ? [{ name: 'output', emptyDir: sizeLimit }] : []),
      // Each step has a folder of its own for temporary files, so that none leaves something there for another.
      ...containers.map(({ name }) => ({ name: `tmp-${name}`, emptyDir: { sizeLimit: '256Mi' } })),
      ...(template.caConfigMap === null ? [] : [{ name: 'ca', configMap: { name: template.caConfigMap } }]),
    ],
  };
}

function container(step: StepName, input: JobInput, template: JobTemplate): Container {
  const { resources } = input.pool.spec;
  return {
    name: step,
    image: template.image.name,
    imagePullPolicy: template.image.pullPolicy,
    args: [step],
    env: environment(step, input, template),
    ...(resources === undefined ? {} : { resources: resources as NonNullable<Container['resources']> }),
    securityContext: template.pod.containerSecurityContext ?? defaultContainerSecurityContext,
    terminationMessagePath: terminationLog,
    terminationMessagePolicy: 'File',
    volumeMounts: [
      { name: 'workspace', mountPath: workspace, ...(step === 'publish' ? { readOnly: true } : {}) },
      ...(step === 'publish' ? [{ name: 'output', mountPath: output }] : []),
      { name: `tmp-${step}`, mountPath: '/tmp' },
      ...(template.caConfigMap === null ? [] : [{ name: 'ca', mountPath: caFolder, readOnly: true }]),
    ],
  };
}

/** The environment of a step, with secrets by reference. */
function environment(step: StepName, input: JobInput, template: JobTemplate): Variable[] {
  const { job, keyEndpoint } = input;
  const { base, storage, credentials } = template;
  const access = accessOf(step, job, filmPartOf(input.part, template.chunkSec));
  // The progress of a film is that of all its chunks, which the Job shows.
  const report = input.part?.kind === 'encode' ? null : input.report;
  return [
    ...plain({
      ...stepVariables({
        access,
        task: taskOf(input, template),
        workspace,
        base,
        storage,
        keyEndpoint,
      }),
      ...(step === 'publish' ? { [runnerVariables.output]: output, TMPDIR: output } : {}),
      [runnerVariables.terminationLog]: terminationLog,
      ...(template.caConfigMap === null ? {} : { NODE_EXTRA_CA_CERTS: `${caFolder}/ca.crt` }),
      ...(report === null
        ? {}
        : { [runnerVariables.reportUrl]: report.url, [runnerVariables.reportToken]: report.token }),
    }),
    ...(access.readsSource ? credentialVariables('SOURCE', credentials.source) : []),
    ...(access.writesMedia || access.readsChunk ? credentialVariables('MEDIA', credentials.media) : []),
    ...(access.hasContentKey
      ? [fromSecret(runnerVariables.contentKey, keySecretName(job), runnerVariables.contentKey)]
      : []),
  ];
}

/**
 * Variables by value. Kubernetes replaces `$(NAME)` in a value and reads `$$` as one `$`, so every `$` is doubled: a
 * source key may contain any of them.
 */
function plain(values: Readonly<Record<string, string>>): Variable[] {
  return Object.entries(values).map(([name, value]) => ({ name, value: value.replaceAll('$', '$$$$') }));
}

function credentialVariables(which: 'SOURCE' | 'MEDIA', secret: string | null): Variable[] {
  if (secret === null) return [];
  const names = [`${which}_S3_ACCESS_KEY_ID`, `${which}_S3_SECRET_ACCESS_KEY`];
  return names.map((name) => fromSecret(name, secret, name));
}

function fromSecret(name: string, secret: string, key: string): Variable {
  return { name, valueFrom: { secretKeyRef: { name: secret, key } } };
}

import { z } from 'zod';
import { type RunnerPoolSpec, runnerPoolSpecSchema } from '#domain/kubernetes/runner-pool.ts';
import {
  httpUrlValue,
  imageValue,
  integerValue,
  objectNamesValue,
  objectNameValue,
  pathValue,
  positiveDurationValue,
  type TextValue,
  wordValue,
} from './values.ts';
import { declareFor } from './variable.ts';

/** A pool's spec; without a concurrency it is sized by `WORKER_CONCURRENCY` or `LARGE_WORKER_CONCURRENCY`. */
export type RunnerPoolSettings = Omit<RunnerPoolSpec, 'concurrency'> & { readonly concurrency?: number };

const poolNameSchema = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/);
const poolsSchema = z.record(poolNameSchema, runnerPoolSpecSchema.partial({ concurrency: true }));
const poolsValue = jsonValue<Readonly<Record<string, RunnerPoolSettings>>>(
  'JSON: RunnerPool specs by name',
  poolsSchema,
);

const textsSchema = z.record(z.string(), z.string());
const podSchema = z.strictObject({
  labels: textsSchema.optional(),
  annotations: textsSchema.optional(),
  securityContext: z.record(z.string(), z.unknown()).optional(),
  containerSecurityContext: z.record(z.string(), z.unknown()).optional(),
});
/** The settings of an operator for every runner pod; a security context replaces the default one. */
export type RunnerPodSettings = z.infer<typeof podSchema>;
const podValue = jsonValue<RunnerPodSettings>(
  'JSON: an object with labels, annotations, securityContext and containerSecurityContext',
  podSchema,
);

function jsonValue<T>(expected: string, schema: z.ZodType): TextValue<T> {
  return {
    expected,
    read: (text) => {
      try {
        return (schema.safeParse(JSON.parse(text)).data as T | undefined) ?? null;
      } catch {
        return null;
      }
    },
  };
}

const reportUrlValue: TextValue<string> = {
  ...httpUrlValue,
  read: (text) => httpUrlValue.read(text)?.replace(/\/+$/, '') ?? null,
};

const none = () => [] as const;
const nothing = () => null;
const forKubernetes = declareFor('kubernetes');

/** Only with `EXECUTOR=kubernetes`. */
export const kubernetesVariables = {
  runnerNamespace: forKubernetes('RUNNER_NAMESPACE', objectNameValue, {
    defaultDoc: 'required for `EXECUTOR=kubernetes`',
    doc: 'Namespace of MediaJobs, MediaProfiles, RunnerPools, their Jobs, pods and Secrets.',
  }),
  runnerImage: forKubernetes('RUNNER_IMAGE', imageValue, {
    defaultDoc: 'required for `EXECUTOR=kubernetes`',
    doc: 'Image of the runner.',
  }),
  runnerImagePullPolicy: forKubernetes('RUNNER_IMAGE_PULL_POLICY', wordValue(['Always', 'IfNotPresent', 'Never']), {
    default: 'IfNotPresent',
    doc: '`Always`, `IfNotPresent` or `Never`.',
  }),
  runnerImagePullSecrets: forKubernetes('RUNNER_IMAGE_PULL_SECRETS', objectNamesValue, {
    defaultDoc: 'none',
    absent: none,
    doc: "Secrets of the runners' namespace for pulling the image.",
  }),
  runnerSourceSecret: forKubernetes('RUNNER_SOURCE_SECRET', objectNameValue, {
    defaultDoc: 'required when this process has such keys',
    absent: nothing,
    doc: "Secret of the runners' namespace with the keys `SOURCE_S3_ACCESS_KEY_ID` and `SOURCE_S3_SECRET_ACCESS_KEY`.",
  }),
  runnerMediaSecret: forKubernetes('RUNNER_MEDIA_SECRET', objectNameValue, {
    defaultDoc: 'required when this process has such keys',
    absent: nothing,
    doc: "Secret of the runners' namespace with the keys `MEDIA_S3_ACCESS_KEY_ID` and `MEDIA_S3_SECRET_ACCESS_KEY`.",
  }),
  runnerPools: forKubernetes('RUNNER_POOLS', poolsValue, {
    defaultDoc: '`default` and `video-large`, sized by `WORKER_CONCURRENCY` and `LARGE_WORKER_CONCURRENCY`',
    absent: nothing,
    doc: 'RunnerPools to create: JSON, their specs by name; the concurrency is written until another client sets it.',
  }),
  runnerServiceAccount: forKubernetes('RUNNER_SERVICE_ACCOUNT', objectNameValue, {
    default: 'default',
    doc: 'Service account of runner pods, which mount no token of it.',
  }),
  runnerPod: forKubernetes('RUNNER_POD', podValue, {
    default: '{}',
    doc: 'Further fields of runner pods, as JSON: `labels`, `annotations`, `securityContext`, `containerSecurityContext`.',
  }),
  runnerCaConfigMap: forKubernetes('RUNNER_CA_CONFIG_MAP', objectNameValue, {
    defaultDoc: 'none',
    absent: nothing,
    doc: "ConfigMap of the runners' namespace whose key `ca.crt` holds more certificate authorities for runners (PEM).",
  }),
  podName: forKubernetes('POD_NAME', objectNameValue, { default: 'controller', doc: "This process's own pod." }),
  podNamespace: forKubernetes('POD_NAMESPACE', objectNameValue, {
    default: (env) => env['RUNNER_NAMESPACE'],
    defaultDoc: '`RUNNER_NAMESPACE`',
    doc: "Namespace of the leader's Lease.",
  }),
  reportUrl: forKubernetes('REPORT_URL', reportUrlValue, {
    defaultDoc: 'none: progress goes by steps, no batches',
    absent: nothing,
    doc: 'Address of the listener of mode `worker` for runner pods: for progress between steps, and for tasks of batches.',
  }),
  pendingDeadlineMs: forKubernetes('PENDING_DEADLINE', positiveDurationValue, {
    default: '1h',
    doc: 'How long a pod may wait to begin before its job fails.',
  }),
  mediaJobTtlMs: forKubernetes('MEDIA_JOB_TTL', positiveDurationValue, {
    default: '1h',
    doc: 'How long a MediaJob stays after its end.',
  }),
  queuedMediaJobsMax: forKubernetes('QUEUED_MEDIA_JOBS', integerValue(0, 10_000), {
    default: '20',
    doc: 'How many waiting jobs `kubectl get mj` shows beside those that run; 0: none.',
  }),
  imageBatchMin: forKubernetes('IMAGE_BATCH_MIN', integerValue(0, 10_000), {
    default: '4',
    doc: 'So many image jobs at once share pods, `IMAGE_JOBS_PER_PROCESS` each at most; 0: each has its own. Needs `REPORT_URL`.',
  }),
  kubeconfig: forKubernetes('KUBECONFIG', pathValue, {
    defaultDoc: 'none',
    absent: nothing,
    doc: "Kubeconfig files outside a cluster; inside, the pod's service account is used.",
  }),
};

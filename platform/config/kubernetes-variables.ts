import { z } from 'zod';
import { runnerPoolResource, type RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import {
  httpUrlValue,
  imageValue,
  objectNamesValue,
  objectNameValue,
  pathValue,
  positiveDurationValue,
  type TextValue,
  wordValue,
} from './values.ts';
import { declareFor } from './variable.ts';

const poolsSchema = z.record(z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/), runnerPoolResource.spec);
const poolsValue: TextValue<Readonly<Record<string, RunnerPoolSpec>>> = {
  expected: 'JSON: RunnerPool specs by name',
  read: (text) => {
    try {
      return (poolsSchema.safeParse(JSON.parse(text)).data as Record<string, RunnerPoolSpec> | undefined) ?? null;
    } catch {
      return null;
    }
  },
};

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
    doc: 'Namespace of MediaJobs, RunnerPools, their Jobs, pods and Secrets.',
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
    doc: "Secrets of the runners' namespace for pulling the image, separated by commas.",
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
    doc: 'RunnerPools to create: JSON, their specs by name; the concurrency of an existing pool is left alone.',
  }),
  podName: forKubernetes('POD_NAME', objectNameValue, { default: 'controller', doc: "This process's own pod." }),
  podNamespace: forKubernetes('POD_NAMESPACE', objectNameValue, {
    default: (env) => env['RUNNER_NAMESPACE'],
    defaultDoc: '`RUNNER_NAMESPACE`',
    doc: "Namespace of the leader's Lease.",
  }),
  reportUrl: forKubernetes('REPORT_URL', reportUrlValue, {
    defaultDoc: 'none: progress goes by steps',
    absent: nothing,
    doc: 'Address at which runner pods reach the listener of mode `worker`, for progress between the steps.',
  }),
  pendingDeadlineMs: forKubernetes('PENDING_DEADLINE', positiveDurationValue, {
    default: '1h',
    doc: 'How long a pod may wait to begin before its job fails.',
  }),
  mediaJobTtlMs: forKubernetes('MEDIA_JOB_TTL', positiveDurationValue, {
    default: '1h',
    doc: 'How long a MediaJob stays after its end.',
  }),
  kubeconfig: forKubernetes('KUBECONFIG', pathValue, {
    defaultDoc: 'none',
    absent: nothing,
    doc: "Kubeconfig files outside a cluster; inside, the pod's own service account is used.",
  }),
};

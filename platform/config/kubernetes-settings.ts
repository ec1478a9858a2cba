import { z } from 'zod';
import { runnerPoolResource } from '#domain/kubernetes/runner-pool.ts';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import { type Environment, setting } from './settings.ts';
import { httpUrlValue, positiveDurationValue, readBy, wordValue } from './values.ts';

const nameValue = readBy('a name as Kubernetes has them: lower-case letters, digits, "-" and "."', (text) =>
  /^[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?$/.test(text) ? text : null,
);
const namesValue = readBy('names separated by commas', (text) => {
  const names = text.split(',').map((name) => name.trim());
  return names.every((name) => nameValue.safeParse(name).success) ? names : null;
});
const imageValue = readBy('the reference of an image', (text) => (/^\S+$/.test(text) ? text : null));

const poolsSchema = z.record(z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/), runnerPoolResource.spec);

const poolsValue = readBy<Readonly<Record<string, RunnerPoolSpec>>>('JSON: RunnerPool specs by name', (text) => {
  try {
    return (poolsSchema.safeParse(JSON.parse(text)).data as Record<string, RunnerPoolSpec> | undefined) ?? null;
  } catch {
    return null;
  }
});

/** Only with `EXECUTOR=kubernetes`: where the work runs, and as what. */
export const kubernetesSettings = z.object({
  RUNNER_NAMESPACE: setting(nameValue.optional(), {
    meaning: 'Namespace of MediaJobs, RunnerPools, their Jobs, pods and Secrets.',
    defaultNote: 'required for `EXECUTOR=kubernetes`',
  }),
  RUNNER_IMAGE: setting(imageValue.optional(), {
    meaning: 'Image of the runner.',
    defaultNote: 'required for `EXECUTOR=kubernetes`',
  }),
  RUNNER_IMAGE_PULL_POLICY: setting(wordValue(['Always', 'IfNotPresent', 'Never']).prefault('IfNotPresent'), {
    meaning: '`Always`, `IfNotPresent` or `Never`.',
  }),
  RUNNER_IMAGE_PULL_SECRETS: setting(namesValue.optional(), {
    meaning: "Secrets of the runners' namespace for pulling the image, separated by commas.",
    defaultNote: 'none',
  }),
  RUNNER_SOURCE_SECRET: setting(nameValue.optional(), {
    meaning:
      "Secret of the runners' namespace with the keys `SOURCE_S3_ACCESS_KEY_ID` and `SOURCE_S3_SECRET_ACCESS_KEY`.",
    defaultNote: 'required when this process has such keys',
  }),
  RUNNER_MEDIA_SECRET: setting(nameValue.optional(), {
    meaning:
      "Secret of the runners' namespace with the keys `MEDIA_S3_ACCESS_KEY_ID` and `MEDIA_S3_SECRET_ACCESS_KEY`.",
    defaultNote: 'required when this process has such keys',
  }),
  RUNNER_POOLS: setting(poolsValue.optional(), {
    meaning: 'RunnerPools to make: JSON, their specs by name; the concurrency of one that exists is left alone.',
    defaultNote: '`default` and `video-large`, sized by `WORKER_CONCURRENCY` and `LARGE_WORKER_CONCURRENCY`',
  }),
  POD_NAME: setting(nameValue.prefault('controller'), { meaning: "This process's own pod." }),
  POD_NAMESPACE: setting(nameValue.optional(), {
    meaning: "Namespace of the leader's Lease.",
    defaultNote: '`RUNNER_NAMESPACE`',
  }),
  REPORT_URL: setting(httpUrlValue.optional(), {
    meaning: 'Address at which runner pods reach the listener of mode `worker`, for progress between the steps.',
    defaultNote: 'none: progress goes by steps',
  }),
  PENDING_DEADLINE: setting(positiveDurationValue.prefault('1h'), {
    meaning: 'How long a pod may wait to begin before its job fails.',
  }),
  MEDIA_JOB_TTL: setting(positiveDurationValue.prefault('1h'), {
    meaning: 'How long a MediaJob stays after its end.',
  }),
  KUBECONFIG: setting(readBy('a path', (text) => text).optional(), {
    meaning: "Kubeconfig files outside a cluster; inside, the pod's own service account is used.",
    defaultNote: 'none',
  }),
});

/** What the `kubernetes` executor is told. */
export interface KubernetesConfig {
  readonly runnerNamespace: string;
  readonly image: {
    readonly name: string;
    readonly pullPolicy: 'Always' | 'IfNotPresent' | 'Never';
    readonly pullSecrets: readonly string[];
  };
  /** Names of Secrets in the runners' namespace; null: the pods' own identity opens the bucket. */
  readonly credentials: { readonly source: string | null; readonly media: string | null };
  /** By name; null: the two standard pools, by the concurrency settings. */
  readonly pools: Readonly<Record<string, RunnerPoolSpec>> | null;
  readonly podName: string;
  readonly podNamespace: string;
  /** Without a slash at its end. */
  readonly reportUrl: string | null;
  readonly pendingDeadlineMs: number;
  readonly mediaJobTtlMs: number;
  /** How the API server is reached. */
  readonly access:
    | { readonly kind: 'service account'; readonly host: string; readonly port: string }
    | { readonly kind: 'kubeconfig'; readonly paths: string };
}

interface KubernetesInput {
  readonly values: z.output<typeof kubernetesSettings>;
  readonly env: Environment;
  /** Whether this process opens each store with keys of its own. */
  readonly hasKeys: { readonly source: boolean; readonly media: boolean };
}

/** The configuration of the `kubernetes` executor, or what it lacks. */
export function kubernetesConfig({
  values,
  env,
  hasKeys,
}: KubernetesInput): { readonly kubernetes: KubernetesConfig } | { readonly faults: readonly string[] } {
  const { RUNNER_NAMESPACE: runnerNamespace, RUNNER_IMAGE: image } = values;
  const access = accessOf(values.KUBECONFIG, env);
  const faults = [
    ...(runnerNamespace === undefined ? ['RUNNER_NAMESPACE: is required'] : []),
    ...(image === undefined ? ['RUNNER_IMAGE: is required'] : []),
    ...(access === null ? ['KUBECONFIG: is required outside a cluster'] : []),
    ...(hasKeys.source && values.RUNNER_SOURCE_SECRET === undefined ? ['RUNNER_SOURCE_SECRET: is required'] : []),
    ...(hasKeys.media && values.RUNNER_MEDIA_SECRET === undefined ? ['RUNNER_MEDIA_SECRET: is required'] : []),
  ];
  if (faults.length > 0 || runnerNamespace === undefined || image === undefined || access === null) return { faults };
  return {
    kubernetes: {
      runnerNamespace,
      image: {
        name: image,
        pullPolicy: values.RUNNER_IMAGE_PULL_POLICY,
        pullSecrets: values.RUNNER_IMAGE_PULL_SECRETS ?? [],
      },
      // The chart names both Secrets always; one is used only where there are keys to hand on.
      credentials: {
        source: hasKeys.source ? (values.RUNNER_SOURCE_SECRET ?? null) : null,
        media: hasKeys.media ? (values.RUNNER_MEDIA_SECRET ?? null) : null,
      },
      pools: values.RUNNER_POOLS ?? null,
      podName: values.POD_NAME,
      podNamespace: values.POD_NAMESPACE ?? runnerNamespace,
      reportUrl: values.REPORT_URL?.replace(/\/+$/, '') ?? null,
      pendingDeadlineMs: values.PENDING_DEADLINE,
      mediaJobTtlMs: values.MEDIA_JOB_TTL,
      access,
    },
  };
}

function accessOf(kubeconfig: string | undefined, env: Environment): KubernetesConfig['access'] | null {
  if (kubeconfig !== undefined) return { kind: 'kubeconfig', paths: kubeconfig };
  const host = env['KUBERNETES_SERVICE_HOST'];
  if (host === undefined || host === '') return null;
  return { kind: 'service account', host, port: env['KUBERNETES_SERVICE_PORT'] ?? '443' };
}

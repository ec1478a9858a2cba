import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import type { StepAccess } from '#domain/work/access.ts';
import { runnerVariables, type StepName } from '#domain/work/steps.ts';
import type { RunnerPodSettings } from '#platform/config/kubernetes-variables.ts';
import { labels as controllerLabels } from '../snapshots/names.ts';
import type { jobs } from '#platform/kubernetes/objects.ts';

// The pod of a runner: a container for each step, with its environment, its folders and nothing that it does not need.

type PodTemplate = NonNullable<NonNullable<(typeof jobs)['example']>['spec']>['template'];
type PodSpec = NonNullable<PodTemplate['spec']>;
type Container = PodSpec['containers'][number];
type Variable = NonNullable<Container['env']>[number];

/** The settings that all runner pods of one worker share. */
export interface RunnerPodTemplate {
  readonly image: {
    readonly name: string;
    readonly pullPolicy: string;
    readonly pullSecrets: readonly string[];
  };
  /** The service account of runner pods, which mount no token of it. */
  readonly serviceAccount: string;
  readonly pod: RunnerPodSettings;
  /** A ConfigMap of the runners' namespace with the key `ca.crt`; null: none. */
  readonly caConfigMap: string | null;
  /** Secrets with the credentials of the two stores; null: the pod's own identity. */
  readonly credentials: { readonly source: string | null; readonly media: string | null };
}

/** A step of a runner pod. */
export interface RunnerStep {
  readonly name: StepName;
  /** The arguments of its program. */
  readonly args: readonly string[];
  readonly access: StepAccess;
  /** Its environment by value: no secret. */
  readonly variables: Readonly<Record<string, string>>;
  /** The Secret with its content key; null: it has none. */
  readonly keySecret: string | null;
}

/** The differences between runner pods of one template. */
export interface RunnerPod {
  readonly labels: Readonly<Record<string, string>>;
  readonly annotations: Readonly<Record<string, string>>;
  readonly pool: RunnerPoolSpec;
  readonly activeDeadlineSeconds: number;
  /** In order: all but the last are init containers. */
  readonly steps: readonly RunnerStep[];
}

/**
 * On EKS the webhook of IRSA gives every container of a pod the role of its service account. The step that decodes
 * untrusted bytes must not have it.
 */
const withoutCloudIdentity = { 'eks.amazonaws.com/skip-containers': 'process' satisfies StepName };

const poolLabel = controllerLabels.pool;
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
/** The folder that the steps share. */
export const workspace = '/workspace';
/** The folder that `publish` writes: it has the content key and credentials, and only reads the workspace. */
const output = '/output';
const terminationLog = '/dev/termination-log';
/** One to notice, three for the tools to end, one to spare (runner/main.ts). */
const graceSeconds = 5;

/** The pod of a runner. */
export function runnerPod(pod: RunnerPod, template: RunnerPodTemplate): PodTemplate {
  return {
    metadata: {
      labels: { ...template.pod.labels, ...pod.pool.podLabels, ...pod.labels },
      annotations: {
        ...template.pod.annotations,
        ...pod.pool.podAnnotations,
        ...withoutCloudIdentity,
        ...pod.annotations,
      },
    },
    spec: podSpec(pod, template),
  };
}

/** Where the pods of a pool go. The ones of one pool are spread together. */
function scheduling({ pool, labels }: RunnerPod): Partial<PodSpec> {
  const { nodeSelector, tolerations, affinity, topologySpreadConstraints: spread } = pool;
  const labelSelector = { matchLabels: { [poolLabel]: labels[poolLabel] ?? '' } };
  return {
    ...(nodeSelector === undefined ? {} : { nodeSelector }),
    ...(tolerations === undefined ? {} : { tolerations: tolerations as NonNullable<PodSpec['tolerations']> }),
    ...(affinity === undefined ? {} : { affinity }),
    ...(spread === undefined
      ? {}
      : {
          topologySpreadConstraints: spread.map((each) => ({ ...each, labelSelector })) as NonNullable<
            PodSpec['topologySpreadConstraints']
          >,
        }),
  };
}

function podSpec(pod: RunnerPod, template: RunnerPodTemplate): PodSpec {
  const { pool, steps, activeDeadlineSeconds } = pod;
  const { scratch, priorityClassName, runtimeClassName } = pool;
  const containers = steps.map((step) => container(step, pool, template));
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
    ...scheduling(pod),
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

/** The resources that each step asks for. Steps follow one another, so a pod asks for the scratch folder once. */
function resourcesOf({ resources, scratch }: RunnerPoolSpec): Pick<Container, 'resources'> {
  const { request } = scratch ?? {};
  const asked = request === undefined ? {} : { requests: { 'ephemeral-storage': request, ...resources?.requests } };
  const all = { ...resources, ...asked };
  return Object.keys(all).length === 0 ? {} : { resources: all as NonNullable<Container['resources']> };
}

function container(step: RunnerStep, pool: RunnerPoolSpec, template: RunnerPodTemplate): Container {
  const { name, args } = step;
  return {
    name,
    image: template.image.name,
    imagePullPolicy: template.image.pullPolicy,
    args: [...args],
    env: environment(step, template),
    ...resourcesOf(pool),
    securityContext: template.pod.containerSecurityContext ?? defaultContainerSecurityContext,
    terminationMessagePath: terminationLog,
    terminationMessagePolicy: 'File',
    volumeMounts: [
      { name: 'workspace', mountPath: workspace, ...(name === 'publish' ? { readOnly: true } : {}) },
      ...(name === 'publish' ? [{ name: 'output', mountPath: output }] : []),
      { name: `tmp-${name}`, mountPath: '/tmp' },
      ...(template.caConfigMap === null ? [] : [{ name: 'ca', mountPath: caFolder, readOnly: true }]),
    ],
  };
}

/** The environment of a step, with secrets by reference. */
function environment({ name, access, variables, keySecret }: RunnerStep, template: RunnerPodTemplate): Variable[] {
  const { credentials, caConfigMap } = template;
  return [
    ...plain({
      ...variables,
      ...(name === 'publish' ? { [runnerVariables.output]: output, TMPDIR: output } : {}),
      [runnerVariables.terminationLog]: terminationLog,
      ...(caConfigMap === null ? {} : { NODE_EXTRA_CA_CERTS: `${caFolder}/ca.crt` }),
    }),
    ...(access.readsSource ? credentialVariables('SOURCE', credentials.source) : []),
    ...(access.writesMedia || access.readsChunk ? credentialVariables('MEDIA', credentials.media) : []),
    ...(keySecret === null ? [] : [fromSecret(runnerVariables.contentKey, keySecret, runnerVariables.contentKey)]),
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

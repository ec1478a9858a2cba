import { execFile } from 'node:child_process';
import { existsSync } from 'node:fs';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { parseAllDocuments } from 'yaml';
import { kubectl } from './api-server.ts';
import { server } from './cluster.ts';

const run = promisify(execFile);
export const chart = fileURLToPath(new URL('../../charts/reelwright', import.meta.url));

/** The namespaces of a release: its own, and its runners'. */
export interface ReleaseNamespaces {
  readonly release: string;
  readonly runners: string;
}

/** The chart's service accounts, as the release `reelwright` has them. */
export const serviceAccounts = {
  api: 'reelwright-api',
  delivery: 'reelwright-delivery',
  controller: 'reelwright-controller',
  runner: 'reelwright-runner',
} as const;

/** An object of Kubernetes, as YAML holds it. */
export interface Manifest {
  readonly apiVersion: string;
  readonly kind: string;
  readonly metadata: {
    readonly name: string;
    namespace?: string;
    readonly labels?: Readonly<Record<string, string>>;
    readonly annotations?: Readonly<Record<string, string>>;
  };
  readonly [field: string]: unknown;
}

/** The least that an installation needs: a bucket for each store, and where every secret is. */
export const leastValues = {
  baseUrl: 'https://media.example.com',
  secrets: Object.fromEntries(
    ['apiKey', 'keyTokenSecret', 'webhookSecret', 'encryptionKey', 'databaseUrl', 'redisUrl'].map((name) => [
      name,
      { existingSecret: 'reelwright-keys' },
    ]),
  ),
  storage: { source: { bucket: 'uploads' }, media: { bucket: 'media' } },
};

/** The values that a deployment takes, none of which is the default. */
export const podValues = {
  podLabels: { tier: 'media' },
  podAnnotations: { 'example.com/note': 'text' },
  extraEnv: [{ name: 'HTTP_PROXY', valueFrom: { configMapKeyRef: { name: 'proxy', key: 'url' } } }],
  extraVolumes: [{ name: 'more', emptyDir: {} }],
  extraVolumeMounts: [{ name: 'more', mountPath: '/more' }],
  priorityClassName: 'important',
  nodeSelector: { disk: 'ssd' },
  tolerations: [{ key: 'media', operator: 'Exists' }],
  affinity: { nodeAffinity: {} },
  topologySpreadConstraints: [
    { maxSkew: 1, topologyKey: 'topology.kubernetes.io/zone', whenUnsatisfiable: 'DoNotSchedule' },
  ],
  serviceAccount: { annotations: { 'example.com/role': 'media' } },
  service: { annotations: { 'example.com/lb': 'internal' } },
  podDisruptionBudget: { maxUnavailable: '50%' },
};
/** Every optional part of the chart at once; the API server knows no kinds of other projects (Prometheus, KEDA). */
export const everything = {
  ...leastValues,
  commonLabels: { team: 'video' },
  image: { digest: `sha256:${'a'.repeat(64)}` },
  runnerImage: { digest: `sha256:${'b'.repeat(64)}` },
  imagePullSecrets: [{ name: 'pull' }],
  caBundle: { configMap: 'authorities' },
  podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
  api: { ...podValues, autoscaling: { enabled: true } },
  delivery: { ...podValues, autoscaling: { enabled: true } },
  controller: { ...podValues, strategy: { type: 'Recreate', rollingUpdate: null } },
  storage: {
    source: {
      bucket: 'uploads',
      endpoint: 'http://s3.internal:9000',
      accessKeyId: 'reader',
      secretAccessKey: 'secret',
    },
    media: { bucket: 'media', existingSecret: 'media-keys' },
  },
  config: {
    LOG_LEVEL: 'debug',
    DELIVERY_CACHE_SIZE: 1_073_741_824,
    WEBHOOK_ALLOWED_CIDRS: '10.1.0.0/16, fd00:1::/32',
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.tracing:4318',
  },
  pools: { default: { concurrency: 8 }, gpu: { concurrency: 1 } },
  runners: {
    imagePullSecrets: [{ name: 'pull' }],
    serviceAccount: { annotations: { 'example.com/role': 'runner' } },
    podLabels: { tier: 'runner' },
    podAnnotations: { 'example.com/note': 'text' },
    podSecurityContext: { runAsUser: null, runAsGroup: null, fsGroup: null },
    caConfigMap: 'authorities',
  },
  ingress: {
    enabled: true,
    className: 'nginx',
    api: {
      host: 'jobs.example.com',
      annotations: { a: 'b' },
      tls: [{ hosts: ['jobs.example.com'], secretName: 'jobs' }],
    },
    delivery: { host: 'media.example.com', tls: [{ hosts: ['media.example.com'], secretName: 'media' }] },
  },
  networkPolicies: {
    ingress: { api: [{ podSelector: {} }], metrics: [{ namespaceSelector: {} }] },
    egress: { database: { ports: [6432], to: [{ ipBlock: { cidr: '10.2.0.0/16' } }] } },
  },
  monitoring: { dashboard: { enabled: true } },
};

const clusterKinds = [
  'Namespace',
  'CustomResourceDefinition',
  'ValidatingAdmissionPolicy',
  'ValidatingAdmissionPolicyBinding',
];
/** Every kind that grants rights. */
const rbacKinds = ['Namespace', 'ServiceAccount', 'Role', 'RoleBinding', 'ClusterRole', 'ClusterRoleBinding'];

/**
 * Runs helm against the test's API server; what it printed.
 *
 * @param values given as a values file beside the arguments
 * @throws Error with what helm wrote to standard error
 */
export async function helm(args: readonly string[], values: object = {}): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-chart-'));
  const file = join(dir, 'values.json');
  await writeFile(file, JSON.stringify(values));
  const env = { ...process.env, KUBECONFIG: server.kubeconfigPath };
  const withValues = ['template', 'install', 'upgrade', 'lint'].includes(args[0] ?? '') ? ['--values', file] : [];
  try {
    const options = { env, maxBuffer: 16 * 1024 * 1024 };
    return (await run(helmPath(), [...args, ...withValues], options)).stdout;
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** The objects that the release `reelwright` would consist of, each with its namespace. */
export async function renderChart(values: object, namespace = 'reelwright'): Promise<Manifest[]> {
  const text = await helm(
    ['template', 'reelwright', chart, '--namespace', namespace, '--kube-version', '1.34.0'],
    values,
  );
  const objects = parseAllDocuments(text).map((document) => document.toJS() as Manifest | null);
  return objects
    .filter((object) => object !== null)
    .map((object) => {
      if (!clusterKinds.includes(object.kind)) object.metadata.namespace ??= namespace;
      return object;
    });
}

/** The object of a kind and name. @throws Error when there is none */
export function objectOf(manifests: readonly Manifest[], kind: string, name: string): Manifest {
  const found = manifests.find((object) => object.kind === kind && object.metadata.name === name);
  if (found === undefined) throw new Error(`expected the ${kind} ${name} among the objects of the chart`);
  return found;
}

/** Applies the chart's service accounts, roles and bindings, and both namespaces; nothing else of the chart. */
export async function applyChartRbac({ release, runners }: ReleaseNamespaces): Promise<void> {
  const manifests = await renderChart({ ...leastValues, runners: { namespace: runners } }, release);
  const rights = manifests.filter(({ kind }) => rbacKinds.includes(kind));
  await applyManifests([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: release } }, ...rights]);
}

/** `kubectl apply`, with further options. */
export function applyManifests(manifests: readonly Manifest[], ...options: string[]): Promise<string> {
  const documents = manifests.map((manifest) => JSON.stringify(manifest)).join('\n---\n');
  return kubectl(server, ['apply', ...options, '-f', '-'], documents);
}

/** Path of helm: beside the API server's binaries, else on PATH. @throws Error with how to install it */
function helmPath(): string {
  const folders = [dirname(server.kubectlPath), ...(process.env['PATH'] ?? '').split(delimiter)];
  const found = folders.map((folder) => join(folder, 'helm')).find((path) => existsSync(path));
  if (found === undefined) {
    throw new Error('expected helm on PATH or in KUBEBUILDER_ASSETS, found none: https://helm.sh/docs/intro/install/');
  }
  return found;
}

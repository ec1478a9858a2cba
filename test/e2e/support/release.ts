import { randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { buckets, type HostServers } from './host-servers.ts';
import { helm, kubectl } from './kubectl.ts';

// The release under test: the chart of this checkout, with its own secrets and the servers of this machine.

export const release = { name: 'reelwright', namespace: 'reelwright-e2e', runners: 'reelwright-e2e-runners' } as const;
const checkout = join(import.meta.dirname, '../../..');
export const ownChart = join(checkout, 'charts/reelwright');

/** An API key may submit 30 jobs a minute (API_RATE_LIMIT_PER_MINUTE); the tests use these in turn. */
const apiKeyCount = 20;

export interface Secrets {
  readonly apiKeys: readonly string[];
  readonly keyToken: string;
  readonly webhook: string;
  readonly encryption: string;
  readonly thumb: string;
}

function canary(name: string): string {
  return `canary-${name}-${randomBytes(16).toString('hex')}`;
}

export function makeSecrets(): Secrets {
  return {
    apiKeys: Array.from({ length: apiKeyCount }, () => canary('api')),
    keyToken: canary('token'),
    webhook: canary('webhook'),
    encryption: canary('encryption'),
    thumb: canary('thumb'),
  };
}

interface ReleaseOptions {
  readonly servers: HostServers;
  readonly secrets: Secrets;
  readonly hostAddress: string;
  readonly baseUrl: string;
  readonly image: { readonly registry: string; readonly tag: string };
}

/** The values for `helm install`. */
export function releaseValues({ servers, secrets, hostAddress, baseUrl, image }: ReleaseOptions) {
  const { endpoint, ...keys } = {
    endpoint: servers.s3.inCluster,
    accessKeyId: servers.s3.accessKeyId,
    secretAccessKey: servers.s3.secretAccessKey,
  };
  const store = (bucket: string) => ({ bucket, endpoint, forcePathStyle: true, ...keys });
  // Small requests: both nodes of a test may share one machine.
  const resources = { requests: { cpu: '50m', memory: '64Mi' }, limits: { memory: '2Gi' } };
  const few = { resources: { requests: { cpu: '20m', memory: '96Mi' }, limits: { memory: '512Mi' } } };
  return {
    baseUrl,
    image: { registry: image.registry, tag: image.tag },
    runnerImage: { tag: image.tag },
    secrets: {
      apiKey: { value: secrets.apiKeys.join(',') },
      keyTokenSecret: { value: secrets.keyToken },
      webhookSecret: { value: secrets.webhook },
      encryptionKey: { value: secrets.encryption },
      thumbSecret: { value: secrets.thumb },
      databaseUrl: { value: servers.postgres.inCluster },
      redisUrl: { value: servers.redis.inCluster },
    },
    storage: { source: store(buckets.source), media: store(buckets.media) },
    config: {
      // Every log line is searched for secrets.
      LOG_LEVEL: 'debug',
      X264_PRESET: 'ultrafast',
      WEBHOOK_ALLOWED_CIDRS: `${hostAddress}/32`,
    },
    runners: { namespace: release.runners },
    api: few,
    delivery: few,
    controller: few,
    pools: {
      default: { concurrency: 3, resources },
      'video-large': { concurrency: 1, resources },
    },
  };
}

/** `helm install` or `helm upgrade`, until every deployment is ready. `chart`: a folder; by default this checkout's. */
export async function installRelease(values: object, chart = ownChart): Promise<string> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-e2e-'));
  const file = join(dir, 'values.json');
  await writeFile(file, JSON.stringify(values), { mode: 0o600 });
  const { name, namespace } = release;
  try {
    const options = ['-n', namespace, '-f', file, '--wait', '--timeout', '150s'];
    return await helm('upgrade', '--install', name, chart, ...options);
  } finally {
    await rm(dir, { recursive: true });
  }
}

/** Makes the release's namespace at the Pod Security level `restricted`, to which the chart's own pods conform too. */
export async function makeNamespace(): Promise<void> {
  const { namespace } = release;
  await kubectl('create', 'namespace', namespace);
  const level = ['enforce', 'warn'].map((what) => `pod-security.kubernetes.io/${what}=restricted`);
  await kubectl('label', 'namespace', namespace, ...level);
}

/** @throws Error when the cluster has another Reelwright: this suite would delete its CRDs and MediaJobs. */
export async function refuseOthers(): Promise<void> {
  const owner = 'jsonpath={.metadata.annotations.meta\\.helm\\.sh/release-namespace}';
  const definition = ['get', 'crd', 'mediajobs.reelwright.dev', '--ignore-not-found', '-o'];
  if ((await kubectl(...definition, 'name')) === '') return;
  const namespace = await kubectl(...definition, owner);
  if (namespace !== release.namespace)
    throw new Error(
      `expected a cluster without Reelwright, found one in the namespace "${namespace}": use another cluster`,
    );
}

/** Removes the release, its namespaces and all MediaJobs, where they exist. */
export async function removeRelease(): Promise<void> {
  const { name, namespace, runners } = release;
  await helm('uninstall', name, '-n', namespace, '--ignore-not-found', '--wait', '--timeout', '60s');
  await kubectl('delete', 'namespace', namespace, runners, '--ignore-not-found', '--wait', '--timeout', '90s');
  const kinds = ['mediajobs', 'mediaprofiles', 'mediarollouts', 'runnerpools'].map(
    (plural) => `${plural}.reelwright.dev`,
  );
  await kubectl('delete', 'crd', ...kinds, '--ignore-not-found');
}

/** Keeps logs and objects in `test-results/e2e`, for a person to read after a failure. */
export async function keepLogs(): Promise<void> {
  const dir = join(checkout, 'test-results/e2e');
  await rm(dir, { recursive: true, force: true });
  await mkdir(dir, { recursive: true });
  const keep = async (file: string, ...args: string[]) => {
    await writeFile(join(dir, file), await kubectl(...args).catch(String));
  };
  for (const component of ['api', 'delivery', 'controller']) {
    const selector = `app.kubernetes.io/component=${component}`;
    await keep(`${component}.log`, '-n', release.namespace, 'logs', '-l', selector, '--prefix', '--tail=-1');
  }
  for (const namespace of [release.namespace, release.runners]) {
    await keep(`${namespace}.txt`, '-n', namespace, 'get', 'events,pods,jobs,media', '-o', 'wide');
  }
}

/** The last lines of the controllers' logs since `since` above the level `debug`, for the output of a failed test. */
export async function controllerLog(since: Date): Promise<string> {
  const args = ['-l', 'app.kubernetes.io/component=controller', '--prefix', '--tail=-1'];
  const log = await kubectl('-n', release.namespace, 'logs', ...args, `--since-time=${since.toISOString()}`);
  return log
    .split('\n')
    .filter((line) => !line.includes('"level":"debug"'))
    .slice(-60)
    .join('\n');
}

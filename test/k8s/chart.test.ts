import { randomBytes } from 'node:crypto';
import { describe, expect, test } from 'vitest';
import { loadConfig } from '#platform/config/config.ts';
import { kubectl } from '../../testing/k8s/api-server.ts';
import {
  applyManifests,
  chart,
  everything,
  helm,
  leastValues,
  type Manifest,
  objectOf,
  renderChart,
} from '../../testing/k8s/chart.ts';
import { server } from '../../testing/k8s/cluster.ts';

// The objects of the chart, checked by a real API server and by the program's own configuration.

const dev = { baseUrl: 'http://127.0.0.1:8080', dev: { enabled: true } };

interface Variable {
  readonly name: string;
  readonly value?: string;
  readonly valueFrom?: { readonly secretKeyRef?: { readonly key: string; readonly optional: boolean } };
}
interface PodSpec {
  readonly serviceAccountName: string;
  readonly securityContext: Readonly<Record<string, unknown>>;
  readonly containers: readonly { readonly env: readonly Variable[]; readonly envFrom?: readonly object[] }[];
}

function podOf(manifests: readonly Manifest[], component: string): PodSpec {
  const { spec } = objectOf(manifests, 'Deployment', `reelwright-${component}`);
  return (spec as { template: { spec: PodSpec } }).template.spec;
}

/** The secrets that a deployment must have, by name. */
function secretsOf(manifests: readonly Manifest[], component: string): string[] {
  const variables = podOf(manifests, component).containers[0]?.env ?? [];
  const required = variables.filter(({ valueFrom }) => valueFrom?.secretKeyRef?.optional === false);
  return required.map(({ name }) => name).toSorted();
}

/** The environment of a deployment's program, with a value of its own for every required secret. */
function environmentOf(manifests: readonly Manifest[], component: string): Record<string, string> {
  const plain = (podOf(manifests, component).containers[0]?.env ?? []).filter(({ value }) => value !== undefined);
  const { data } = objectOf(manifests, 'ConfigMap', `reelwright-${component}`) as { data?: Record<string, string> };
  const known: Record<string, string> = {
    DATABASE_URL: 'postgres://reelwright@db/reelwright',
    REDIS_URL: 'redis://redis:6379',
  };
  return {
    ...data,
    ...Object.fromEntries(plain.map(({ name, value = '' }) => [name, value])),
    ...Object.fromEntries(secretsOf(manifests, component).map((name) => [name, known[name] ?? `${name}-`.repeat(4)])),
    KUBERNETES_SERVICE_HOST: '10.96.0.1',
    KUBERNETES_SERVICE_PORT: '443',
  };
}

describe('the objects of the chart', () => {
  test.each([
    ['the least values', leastValues],
    ['values-dev.yaml', dev],
    ['everything switched on', everything],
  ])('the API server accepts the chart with %s, with pods at the level `restricted`', async (_, values) => {
    const suffix = randomBytes(3).toString('hex');
    const [release, runners] = [`release-${suffix}`, `runners-${suffix}`];
    const namespaces = [release, runners].map((name) => ({
      apiVersion: 'v1',
      kind: 'Namespace',
      metadata: { name, labels: { 'pod-security.kubernetes.io/warn': 'restricted' } },
    }));
    await applyManifests(namespaces);
    const given = values as { readonly runners?: object };
    const own = { ...given.runners, namespace: runners, createNamespace: false };
    const manifests = await renderChart({ ...values, runners: own, crds: { install: false } }, release);
    const accepted = await applyManifests(
      manifests,
      '--server-side',
      '--dry-run=server',
      '--warnings-as-errors',
      '--field-manager=helm',
    );
    expect(accepted.trim().split('\n')).toHaveLength(manifests.length);
  });
});

describe('settings and secrets of each deployment', () => {
  test.each([
    ['api', ['API_KEY', 'DATABASE_URL', 'REDIS_URL'], ['--mode=server']],
    ['delivery', ['DATABASE_URL', 'ENCRYPTION_KEY', 'KEY_TOKEN_SECRET', 'REDIS_URL'], ['--mode=server']],
    ['controller', ['DATABASE_URL', 'ENCRYPTION_KEY', 'REDIS_URL', 'WEBHOOK_SECRET'], ['--mode=worker']],
  ])(
    'the deployment %s gets exactly the secrets without which its program does not start',
    async (component, secrets, flags) => {
      const manifests = await renderChart(leastValues);
      expect(secretsOf(manifests, component)).toEqual(secrets);
      const environment = environmentOf(manifests, component);
      expect(loadConfig(environment, flags)).toHaveProperty('config');
      // REDIS_URL is optional for delivery, which then limits requests for keys in each process by itself.
      const needed = secrets.filter((name) => !(component === 'delivery' && name === 'REDIS_URL'));
      for (const name of needed)
        expect(loadConfig({ ...environment, [name]: '' }, flags), name).toHaveProperty('faults');
    },
  );

  test('C17.12: caches keep the master playlists of an installation by the chart for a minute', async () => {
    const settings = objectOf(await renderChart(leastValues), 'ConfigMap', 'reelwright-delivery');
    expect(settings).toMatchObject({ data: { STREAM_MUTABLE_CACHE_CONTROL: 'public, max-age=60' } });
  });

  test('delivery gets neither the source bucket nor its credentials', async () => {
    const manifests = await renderChart(everything);
    const names = [
      ...(podOf(manifests, 'delivery').containers[0]?.env ?? []).map(({ name }) => name),
      ...Object.keys((objectOf(manifests, 'ConfigMap', 'reelwright-delivery') as { data?: object }).data ?? {}),
    ];
    expect(names.filter((name) => name.startsWith('SOURCE_'))).toEqual([]);
  });

  test('the program accepts every setting of `config` as the chart passes it on', async () => {
    const manifests = await renderChart(everything);
    const loaded = loadConfig(environmentOf(manifests, 'delivery'), ['--mode=server']);
    expect(loaded).toMatchObject({ config: { logLevel: 'debug', deliveryCacheBytesMax: 1_073_741_824 } });
  });
});

describe('refused values', () => {
  test.each([
    ['an unknown setting in `config`', { config: { LOG_LEVLE: 'debug' } }, /config\.LOG_LEVLE is not a setting/],
    ['a secret in `config`', { config: { API_KEY: 'a-key-of-sixteen-bytes' } }, /config\.API_KEY is not a setting/],
    [
      'another word than a setting knows',
      { config: { LOG_LEVEL: 'verbose' } },
      /config\.LOG_LEVEL must be one of trace, .*, not verbose/,
    ],
    [
      '`on` without quotes, which is true in YAML',
      { config: { CONSOLE: true } },
      /config\.CONSOLE must be one of off, on, home, not true/,
    ],
    [
      'a setting that another value sets',
      { config: { MEDIA_BUCKET: 'other' } },
      /config\.MEDIA_BUCKET is not a setting/,
    ],
    [
      'a quantity of a pool that is not a quantity',
      { pools: { default: { resources: { requests: { cpu: 'abc' } } } } },
      /cpu/,
    ],
    ['an unknown operator of a toleration', { pools: { default: { tolerations: [{ operator: 'Foo' }] } } }, /operator/],
    ['a pull secret that is not an object', { runners: { imagePullSecrets: ['pull'] } }, /imagePullSecrets/],
    ['KEDA without a deployment to scale', { keda: { enabled: true, prometheusAddress: 'http://p' } }, /autoscaling/],
    ['an Ingress path that includes /metrics', { ingress: { delivery: { paths: ['/'] } } }, /\/metrics/],
    ['the Ingress path /metrics', { ingress: { api: { paths: ['/api', '/metrics'] } } }, /ingress\.api\.paths/],
    ['the Ingress path /readyz', { ingress: { delivery: { paths: ['/readyz'] } } }, /ingress\.delivery\.paths/],
    ['no bucket', { storage: {} }, /storage\.\w+\.bucket is needed/],
    ['a secret that is nowhere', { secrets: {} }, /secrets\.\w+ needs existingSecret or value/],
    ['an address that ends with a slash', { baseUrl: 'https://media.example.com/' }, /baseUrl/],
    ['an unknown value', { api: { replica: 3 } }, /replica/],
    ['two sources of a CA bundle', { caBundle: { configMap: 'a', secret: 'b' } }, /caBundle/],
  ])('the chart refuses %s and names the value', async (_, values, message) => {
    await expect(renderChart({ ...leastValues, ...values })).rejects.toThrow(message);
  });
});

test('no path of an Ingress shows /metrics or /readyz', async () => {
  const manifests = await renderChart(everything);
  const ingresses = manifests.filter(({ kind }) => kind === 'Ingress') as unknown as {
    spec: { rules: { http: { paths: { path: string; pathType: string }[] } }[]; tls: { secretName: string }[] };
  }[];
  const paths = ingresses.flatMap(({ spec }) => spec.rules.flatMap(({ http }) => http.paths));
  expect(paths.map(({ path }) => path)).toContain('/stream');
  const shown = paths.filter(({ path }) =>
    ['/metrics/', '/readyz/'].some((hidden) => hidden.startsWith(path.replace(/\/?$/, '/'))),
  );
  expect(shown).toEqual([]);
  expect(ingresses.map(({ spec }) => spec.tls[0]?.secretName)).toEqual(['jobs', 'media']);
});

/** Each alert of the chart, and its link. */
async function alertsOf(runbooks: string): Promise<(string | undefined)[][]> {
  const monitoring = { prometheusRule: { enabled: true, runbooks } };
  const { spec } = objectOf(await renderChart({ ...leastValues, monitoring }), 'PrometheusRule', 'reelwright');
  const [group] = (spec as { groups: { rules: { alert: string; annotations: Record<string, string> }[] }[] }).groups;
  return group?.rules.map(({ alert, annotations }) => [alert, annotations['runbook_url']]) ?? [];
}

test('each alert has a link to its runbook where their address is given, and else none', async () => {
  const page = 'https://wiki.example.com/runbooks';
  const alerts = (await alertsOf('')).map(([alert]) => String(alert));
  expect(alerts.length).toBeGreaterThan(10);
  expect(await alertsOf('')).toEqual(alerts.map((alert) => [alert, undefined]));
  expect(await alertsOf(page)).toEqual(alerts.map((alert) => [alert, `${page}#${alert.toLowerCase()}`]));
});

test('the ids of pods can be left to the platform, as OpenShift needs', async () => {
  for (const component of ['api', 'delivery', 'controller'])
    expect(podOf(await renderChart(everything), component).securityContext).toEqual({
      runAsNonRoot: true,
      seccompProfile: { type: 'RuntimeDefault' },
    });
});

test('the controller makes runner pods with the account, labels, security context and authorities of the values', async () => {
  const manifests = await renderChart(everything);
  const loaded = loadConfig(environmentOf(manifests, 'controller'), ['--mode=worker']);
  expect(loaded).toMatchObject({
    config: {
      kubernetes: {
        runnerServiceAccount: 'reelwright-runner',
        runnerCaConfigMap: 'authorities',
        runnerPod: {
          labels: { team: 'video', tier: 'runner' },
          annotations: { 'example.com/note': 'text' },
          securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
        },
      },
    },
  });
});

/** The fields of `wanted` that `live` has not, or has otherwise; an amount may be written in another way. */
function missingIn(live: unknown, wanted: unknown, path: string): string[] {
  if (typeof wanted !== 'object' || wanted === null) return String(live) === String(wanted) ? [] : [path];
  const inner = (live ?? {}) as Readonly<Record<string, unknown>>;
  if (live === undefined) return [path];
  return Object.entries(wanted).flatMap(([field, value]) => missingIn(inner[field], value, `${path}.${field}`));
}

test('the API server keeps every field of the chart, so no comparison with the cluster differs for ever', async () => {
  const suffix = randomBytes(3).toString('hex');
  const [release, runners] = [`drift-${suffix}`, `drift-${suffix}-runners`];
  await applyManifests([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: release } }]);
  const manifests = await renderChart({ ...leastValues, runners: { namespace: runners } }, release);
  await applyManifests(manifests, '--server-side', '--field-manager=helm', '--force-conflicts');
  expect(manifests.map(({ kind }) => kind)).toEqual(
    expect.arrayContaining(['CustomResourceDefinition', 'NetworkPolicy']),
  );
  const differences = await Promise.all(
    manifests.map(async (manifest) => {
      const { kind, metadata } = manifest;
      const scope = metadata.namespace === undefined ? [] : ['-n', metadata.namespace];
      const live = await kubectl(server, [...scope, 'get', kind, metadata.name, '-o', 'json']);
      return missingIn(JSON.parse(live), manifest, `${kind}/${metadata.name}`);
    }),
  );
  // `renderChart` adds the namespace; whoever compares Secrets reads stringData as the API server does.
  const expected = /^(?:ClusterRole(?:Binding)?\/.*\.metadata\.namespace|Secret\/.*\.stringData)$/;
  expect(differences.flat().filter((path) => !expected.test(path))).toEqual([]);
});

test.each(['api', 'delivery', 'controller'])(
  'a rollout spreads the pods of %s over the nodes again',
  async (component) => {
    const deployment = objectOf(await renderChart(leastValues), 'Deployment', `reelwright-${component}`);
    const { template } = deployment['spec'] as { template: { spec: { topologySpreadConstraints: object[] } } };
    // Old pods do not count, so the new pods after a drain do not all go to the node that was left.
    expect(template.spec.topologySpreadConstraints).toEqual([
      expect.objectContaining({ topologyKey: 'kubernetes.io/hostname', matchLabelKeys: ['pod-template-hash'] }),
    ]);
  },
);

test('RUNNER_POOLS holds a concurrency only for the pools whose value sets one', async () => {
  const manifests = await renderChart(everything);
  const { data } = objectOf(manifests, 'ConfigMap', 'reelwright-controller') as { data?: Record<string, string> };
  const pools = JSON.parse(data?.['RUNNER_POOLS'] ?? '') as Record<string, { concurrency?: number }>;
  expect(Object.entries(pools).map(([name, { concurrency }]) => [name, concurrency])).toEqual([
    ['default', 8],
    ['gpu', 1],
    ['video-large', undefined],
  ]);
});

/** The environment that the pods of the live deployment would get, without references to Secrets. */
async function liveEnvironment(namespace: string, component: string): Promise<Record<string, string>> {
  const get = async (kind: string) =>
    JSON.parse(
      await kubectl(server, ['-n', namespace, 'get', kind, `reelwright-${component}`, '-o', 'json']),
    ) as Manifest;
  const deployment = await get('deployment');
  const [container] = podOf([deployment], component).containers;
  const variables = container?.env.filter(({ value }) => value !== undefined) ?? [];
  const { data } =
    container?.envFrom === undefined ? {} : ((await get('configmap')) as { data?: Record<string, string> });
  const all = { ...data, ...Object.fromEntries(variables.map(({ name, value = '' }) => [name, value])) };
  return Object.fromEntries(Object.entries(all).filter(([, value]) => value !== ''));
}

test('after a failed upgrade with a bad setting, a corrected upgrade and a rollback both repair the deployments', async () => {
  const namespace = `repair-${randomBytes(3).toString('hex')}`;
  await applyManifests([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }]);
  const values = { ...leastValues, crds: { install: false }, runners: { namespace: `${namespace}-runners` } };
  const upgrade = (config: object, ...options: string[]) =>
    helm(['upgrade', '--install', 'reelwright', chart, '-n', namespace, ...options], { ...values, config });
  await upgrade({});
  const original = await liveEnvironment(namespace, 'controller');

  const bad = { DATABASE_POOL_SIZE: 'many', JOB_ATTEMPTS: 'zero' };
  // No controller runs the pods here, so the upgrade never becomes ready and fails.
  await expect(upgrade(bad, '--wait', '--timeout', '2s')).rejects.toThrow(/UPGRADE FAILED/);
  expect(await liveEnvironment(namespace, 'controller')).toMatchObject({ DATABASE_POOL_SIZE: 'many' });
  await upgrade({ JOB_ATTEMPTS: 5 });
  expect(await liveEnvironment(namespace, 'controller')).toEqual({ ...original, JOB_ATTEMPTS: '5' });

  await expect(upgrade(bad, '--wait', '--timeout', '2s')).rejects.toThrow(/UPGRADE FAILED/);
  await helm(['rollback', 'reelwright', '1', '-n', namespace]);
  expect(await liveEnvironment(namespace, 'controller')).toEqual(original);
});

test('the secrets that an installation for evaluation makes stay as they are at an upgrade', async () => {
  const namespace = `dev-${randomBytes(3).toString('hex')}`;
  await applyManifests([{ apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } }]);
  const values = { ...dev, crds: { install: false }, runners: { namespace: `${namespace}-runners` } };
  const upgrade = async () => {
    await helm(['upgrade', '--install', 'reelwright', chart, '-n', namespace], values);
    const secrets = ['reelwright-secrets', 'reelwright-media-storage', 'reelwright-source-storage'];
    const live = await kubectl(server, ['-n', namespace, 'get', 'secrets', ...secrets, '-o', 'json']);
    return (JSON.parse(live) as { items: { data: object }[] }).items.map(({ data }) => data);
  };
  const first = await upgrade();
  expect(Object.keys(first[0] ?? {}).toSorted()).toEqual(
    expect.arrayContaining(['API_KEY', 'DATABASE_URL', 'DEV_PASSWORD', 'ENCRYPTION_KEY', 'WEBHOOK_SECRET']),
  );
  expect(await upgrade()).toEqual(first);
});

test.each(['api', 'delivery'])('C25.19: the probes of %s have a port that no Service shows', async (component) => {
  const manifests = await renderChart(leastValues);
  const [container] = podOf(manifests, component).containers as unknown as {
    ports: { name: string; containerPort: number }[];
    startupProbe: object;
    livenessProbe: object;
    readinessProbe: object;
  }[];
  const [alive, ready] = ['/healthz', '/readyz'].map((path) => ({ httpGet: { path, port: 'probes' } }));
  expect(container).toMatchObject({ startupProbe: alive, livenessProbe: alive, readinessProbe: ready });
  const settings = manifests.find(
    ({ kind, metadata }) => kind === 'ConfigMap' && metadata.name.endsWith(`-${component}`),
  );
  const port = container?.ports.find(({ name }) => name === 'probes')?.containerPort;
  expect((settings as unknown as { data: Record<string, string> }).data['PROBE_PORT']).toBe(String(port));
  const service = manifests.find(({ kind, metadata }) => kind === 'Service' && metadata.name.endsWith(`-${component}`));
  expect(JSON.stringify(service)).not.toContain('probes');
});

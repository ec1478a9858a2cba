import { randomBytes } from 'node:crypto';
import { beforeAll, describe, expect, test } from 'vitest';
import { kubectl } from '../../testing/k8s/api-server.ts';
import {
  applyManifests,
  chart,
  helm,
  leastValues,
  type Manifest,
  objectOf,
  renderChart,
} from '../../testing/k8s/chart.ts';
import { selectorOf } from '../../testing/k8s/chart-objects.ts';
import { server } from '../../testing/k8s/cluster.ts';

// The rules of the chart's NetworkPolicies. That a cluster enforces them needs a network plugin and is not tested.

interface Peer {
  readonly ipBlock?: { readonly cidr: string; readonly except?: readonly string[] };
  readonly namespaceSelector?: { readonly matchLabels?: Readonly<Record<string, string>> };
  readonly podSelector?: { readonly matchLabels?: Readonly<Record<string, string>> };
}
interface Rule {
  readonly to?: readonly Peer[];
  readonly from?: readonly Peer[];
  readonly ports?: readonly { readonly port: number; readonly protocol?: string }[];
}
interface Policy extends Manifest {
  readonly spec: {
    readonly policyTypes: readonly string[];
    readonly ingress: readonly Rule[];
    readonly egress: readonly Rule[];
  };
}

const values = {
  ...leastValues,
  secrets: { ...leastValues.secrets, redisUrl: { value: 'rediss://cache.internal:6380' } },
  storage: {
    source: { bucket: 'uploads', endpoint: 'http://s3.internal:9000' },
    media: { bucket: 'media', endpoint: 'https://s3.internal' },
  },
  config: { WEBHOOK_ALLOWED_CIDRS: '10.9.0.0/16, fd00:9::/32', IMPORT_ALLOWED_CIDRS: '10.8.0.0/16' },
  networkPolicies: { egress: { storage: { to: [{ ipBlock: { cidr: '10.5.0.0/24' } }] } } },
};

let manifests: Manifest[];
beforeAll(async () => {
  manifests = await renderChart(values);
});
const policyOf = (component: string) =>
  objectOf(manifests, 'NetworkPolicy', component === 'runners' ? component : `reelwright-${component}`) as Policy;
/** The ports to which a component may connect, without DNS. */
const portsOf = (component: string) =>
  policyOf(component)
    .spec.egress.flatMap(({ ports }) => (ports ?? []).map(({ port }) => port))
    .filter((port) => port !== 53)
    .toSorted((a, b) => a - b);

const ingressPeersOf = (policy: Policy) => policy.spec.ingress.flatMap(({ from }) => from ?? []);
const controllerPolicyOf = (rendered: readonly Manifest[]) =>
  objectOf(rendered, 'NetworkPolicy', 'reelwright-controller') as Policy;

describe('NetworkPolicies', () => {
  test.each([
    ['api', [443, 5432, 6379, 6380, 9000]],
    ['delivery', [443, 5432, 6379, 6380]],
    ['controller', [443, 443, 5432, 6379, 6380, 6443, 9000]],
    ['runners', [443, 3001, 9000]],
  ])('the pods of %s connect only to the ports of what they use', (component, ports) => {
    expect(portsOf(component)).toEqual(ports);
    expect(policyOf(component).spec.policyTypes).toEqual(['Ingress', 'Egress']);
  });

  test.each([
    ['postgres://user:p^w@pool.internal:6543/db', [5432, 6543]],
    ['postgres://user:p@[fd00::1]:6543/db\n', [5432, 6543]],
    ['postgres://user:p@pool.internal/db?application_name=a:6543', [5432]],
  ])('the port of %j is added, whatever characters the URL has', async (value, ports) => {
    const secrets = { ...leastValues.secrets, databaseUrl: { value } };
    const policy = objectOf(await renderChart({ ...values, secrets }), 'NetworkPolicy', 'reelwright-api') as Policy;
    const given = policy.spec.egress.flatMap((rule) => (rule.ports ?? []).map(({ port }) => port));
    expect(given.filter((port) => port === 5432 || port === 6543)).toEqual(ports);
  });

  test('the port of an address in an existing Secret is added, where Helm can read the Secret', async () => {
    const namespace = `lookup-${randomBytes(3).toString('hex')}`;
    const url = Buffer.from('postgres://user:p@pgbouncer.internal:6432/db').toString('base64');
    await applyManifests([
      { apiVersion: 'v1', kind: 'Namespace', metadata: { name: namespace } },
      {
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: { name: 'reelwright-keys', namespace },
        data: { DATABASE_URL: url },
      },
    ]);
    const own = { ...leastValues, crds: { install: false }, runners: { namespace: `${namespace}-runners` } };
    await helm(['install', 'reelwright', chart, '-n', namespace], own);
    const live = await kubectl(server, ['-n', namespace, 'get', 'networkpolicy', 'reelwright-api', '-o', 'json']);
    const { spec } = JSON.parse(live) as Policy;
    const open = spec.egress.flatMap(({ ports }) => (ports ?? []).map(({ port }) => port));
    expect(open).toEqual(expect.arrayContaining([5432, 6432]));
    // None of what the others use, 443 of the storage aside.
    expect(open.filter((port) => ![53, 443, 5432, 6379, 6432].includes(port))).toEqual([]);
  });

  test('no rule reaches the addresses of the node and of cloud metadata services', () => {
    const policies = ['api', 'delivery', 'controller', 'runners'].map(policyOf);
    const blocks = policies.flatMap(({ spec }) =>
      spec.egress.flatMap(({ to }) => (to ?? []).flatMap(({ ipBlock }) => ipBlock ?? [])),
    );
    const open = blocks.filter(({ cidr }) => cidr === '0.0.0.0/0');
    expect(open.length).toBeGreaterThan(0);
    for (const { except } of open) expect(except).toContain('169.254.0.0/16');
    for (const { except } of blocks.filter(({ cidr }) => cidr === '::/0'))
      expect(except).toEqual(expect.arrayContaining(['fe80::/10', 'fd00:ec2::/32']));
  });

  test('runner pods reach object storage, the controller and DNS, and nothing connects to them', () => {
    const { spec } = policyOf('runners');
    // No rule at all: the API server drops an empty list, which comparisons with the chart would show for ever.
    expect(spec).not.toHaveProperty('ingress');
    expect(spec.egress).toHaveLength(3);
    expect(spec.egress[1]?.to).toEqual([{ ipBlock: { cidr: '10.5.0.0/24' } }]);
    const [controller] = spec.egress[2]?.to ?? [];
    expect(controller?.namespaceSelector?.matchLabels).toEqual({ 'kubernetes.io/metadata.name': 'reelwright' });
    expect(controller?.podSelector?.matchLabels).toMatchObject({ 'app.kubernetes.io/component': 'controller' });
  });

  test('webhooks and imports reach public addresses and the allowed networks, and no other private address', () => {
    const rule = policyOf('controller').spec.egress.at(-1);
    expect(rule?.ports).toBeUndefined();
    const [ipv4, ...others] = (rule?.to ?? []).map(({ ipBlock }) => ipBlock);
    expect(ipv4?.except).toEqual([
      '0.0.0.0/8',
      '10.0.0.0/8',
      '100.64.0.0/10',
      '127.0.0.0/8',
      '169.254.0.0/16',
      '172.16.0.0/12',
      '192.168.0.0/16',
      '224.0.0.0/3',
    ]);
    expect(others.map((block) => block?.cidr)).toEqual(['2000::/3', '10.9.0.0/16', 'fd00:9::/32', '10.8.0.0/16']);
  });

  test('clients of the API and delivery reach their port, Prometheus too, and no client the port for probes', async () => {
    const ingress = {
      api: [{ podSelector: {} }],
      metrics: [{ namespaceSelector: { matchLabels: { name: 'monitoring' } } }],
    };
    const restricted = await renderChart({ ...values, networkPolicies: { ingress } });
    for (const component of ['api', 'delivery']) {
      const policy = objectOf(restricted, 'NetworkPolicy', `reelwright-${component}`) as Policy;
      expect(policy.spec.ingress.map(({ ports }) => ports)).toEqual([[{ port: 3000 }]]);
      const { data } = objectOf(restricted, 'ConfigMap', `reelwright-${component}`) as {
        data?: Record<string, string>;
      };
      expect([data?.['PORT'], data?.['PROBE_PORT']]).toEqual(['3000', '3002']);
    }
    const peersOf = (component: string) =>
      (objectOf(restricted, 'NetworkPolicy', `reelwright-${component}`) as Policy).spec.ingress[0]?.from;
    const helmTest = {
      namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'reelwright' } },
      podSelector: { matchLabels: selectorOf('test') },
    };
    expect(peersOf('api')).toEqual([...ingress.api, ...ingress.metrics, helmTest]);
    expect(peersOf('delivery')).toBeUndefined();
  });

  test('only runner pods connect to the controller unless metrics are collected', async () => {
    const runners = { namespaceSelector: { matchLabels: { 'kubernetes.io/metadata.name': 'reelwright-runners' } } };
    expect(ingressPeersOf(policyOf('controller'))).toEqual([runners]);
    const prometheus = { namespaceSelector: { matchLabels: { name: 'monitoring' } } };
    const withMetrics = await renderChart({ ...values, networkPolicies: { ingress: { metrics: [prometheus] } } });
    expect(ingressPeersOf(controllerPolicyOf(withMetrics))).toEqual([runners, prometheus]);
    const withMonitor = await renderChart({ ...values, monitoring: { serviceMonitor: { enabled: true } } });
    expect(ingressPeersOf(controllerPolicyOf(withMonitor))).toEqual([runners, { namespaceSelector: {} }]);
    expect(controllerPolicyOf(withMonitor).spec.ingress.map(({ ports }) => ports)).toEqual([[{ port: 3001 }]]);
  });

  test('every pod may ask for names by both protocols, send its traces, and use the extra rules', async () => {
    const dns = { to: [{ namespaceSelector: { matchLabels: { name: 'kube-system' } } }] };
    const extra = [{ ports: [{ port: 8125 }] }];
    const telemetry = { to: [{ ipBlock: { cidr: '10.7.0.0/16' } }] };
    const rendered = await renderChart({
      ...values,
      config: { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.tracing:4318' },
      networkPolicies: { egress: { dns, telemetry, extra } },
    });
    for (const name of ['reelwright-api', 'reelwright-delivery', 'reelwright-controller', 'runners']) {
      const { egress } = (objectOf(rendered, 'NetworkPolicy', name) as Policy).spec;
      const names = ['UDP', 'TCP'].map((protocol) => ({ port: 53, protocol }));
      expect(egress.slice(0, 3), name).toEqual([
        { ports: names, ...dns },
        { ports: [{ port: 4318 }], ...telemetry },
        ...extra,
      ]);
    }
    expect(policyOf('api').spec.egress[0]).not.toHaveProperty('to');
  });

  test('each policy selects the pods of its deployment, and the one of runners every pod there', () => {
    for (const component of ['api', 'delivery', 'controller'])
      expect(policyOf(component)['spec']).toMatchObject({ podSelector: { matchLabels: selectorOf(component) } });
    const { metadata, spec } = policyOf('runners');
    expect([metadata.namespace, spec]).toEqual(['reelwright-runners', expect.objectContaining({ podSelector: {} })]);
  });
});

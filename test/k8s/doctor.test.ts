import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { Ground, runChecks } from '../../cli/doctor/check.ts';
import { clusterChecks } from '../../cli/doctor/cluster.ts';
import { clusterObjectChecks } from '../../cli/doctor/cluster-objects.ts';
import { clusterRights } from '../../cli/doctor/cluster-rights.ts';
import { configurationChecks } from '../../cli/doctor/configuration.ts';
import { freePort } from '../../testing/free-port.ts';
import { kubectl } from '../../testing/k8s/api-server.ts';
import { applyChartRbac, applyManifests, leastValues, renderChart, serviceAccounts } from '../../testing/k8s/chart.ts';
import { server } from '../../testing/k8s/cluster.ts';
import { installCrds } from '../../testing/k8s/crds.ts';
import { until } from '../../testing/k8s/eventually.ts';

// What `doctor` finds in clusters that are broken in one place each, with the rights that the chart gives the
// controller. Its other set-ups are in test/integration/doctor.test.ts.

const suffix = randomBytes(3).toString('hex');
const places = { release: `release-${suffix}`, runners: `runners-${suffix}` };
const account = serviceAccounts.controller;
const checks = [...configurationChecks.slice(0, 1), ...clusterChecks, ...clusterObjectChecks];
let folder = '';
let token = '';

const node = (labels: Readonly<Record<string, string>>, taints: readonly object[] = []) => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: `doctor-${suffix}`, labels },
  spec: { taints },
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'reelwright-doctor-'));
  await applyChartRbac(places);
  token = (await kubectl(server, ['create', 'token', account, '--namespace', places.release])).trim();
  await applyManifests([node({ disk: 'fast' })]);
  // The API server marks every new node as not ready.
  await kubectl(server, ['patch', 'node', `doctor-${suffix}`, '--type=merge', '-p', '{"spec":{"taints":[]}}']);
});
afterAll(async () => {
  await kubectl(server, ['delete', 'node', `doctor-${suffix}`]);
  await kubectl(server, ['delete', 'namespace', places.release, places.runners, '--wait=false']);
  await installCrds(server);
  await rm(folder, { recursive: true });
});

interface Access {
  readonly url?: string;
  readonly user?: object;
}

/** The environment of a worker whose kubeconfig is the one of the controller's account. */
async function environment({ url = server.url, user = { token } }: Access = {}): Promise<Record<string, string>> {
  const path = join(folder, `kubeconfig-${randomBytes(4).toString('hex')}`);
  const cluster = { server: url, 'certificate-authority-data': Buffer.from(server.caCert).toString('base64') };
  const config = {
    apiVersion: 'v1',
    kind: 'Config',
    clusters: [{ name: 'c', cluster }],
    users: [{ name: 'u', user }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u' } }],
    'current-context': 'x',
  };
  await writeFile(path, JSON.stringify(config));
  return {
    MODE: 'worker',
    EXECUTOR: 'kubernetes',
    KUBECONFIG: path,
    RUNNER_NAMESPACE: places.runners,
    POD_NAMESPACE: places.release,
    RUNNER_IMAGE: 'runner:1',
    DATABASE_URL: 'postgres://u:p@127.0.0.1:9/d',
    REDIS_URL: 'embedded:',
    SOURCE_BUCKET: `file:${folder}`,
    MEDIA_BUCKET: `file:${folder}`,
    BASE_URL: 'http://127.0.0.1:9',
    WEBHOOK_SECRET: 'a webhook secret of the tests',
    ENCRYPTION_KEY: 'an encryption key of the tests',
  };
}

/** The findings of all checks, as `check: fault → remedy`. */
async function diagnose(env: Record<string, string>): Promise<string[]> {
  const ground = new Ground({ env, flags: [], callbackUrls: [], signal: new AbortController().signal });
  try {
    const results = await runChecks(checks, ground);
    return results.flatMap(({ name, findings }) => findings.map((each) => `${name}: ${each.fault} → ${each.remedy}`));
  } finally {
    await ground.close();
  }
}

/** The first findings of this kind: changes of rights and definitions take effect a moment later. */
async function eventually(isExpected: (findings: readonly string[]) => boolean): Promise<readonly string[]> {
  let last: readonly string[] = [];
  await until('the findings are of the expected kind', async () => {
    last = await diagnose(await environment());
    return isExpected(last);
  });
  return last;
}

const merge = (kind: string, name: string, patch: object, ...more: string[]) =>
  kubectl(server, ['patch', kind, name, '-n', places.runners, '--type=merge', '-p', JSON.stringify(patch), ...more]);

const pool = (name: string, spec: object) => ({
  apiVersion: 'reelwright.dev/v1alpha1',
  kind: 'RunnerPool',
  metadata: { name, namespace: places.runners },
  spec,
});

test('the rights that doctor asks for are the ones that the chart gives the controller', async () => {
  const manifests = await renderChart({ ...leastValues, runners: { namespace: 'there' } }, 'here');
  const granted = manifests.flatMap((manifest) => {
    if (!['Role', 'ClusterRole'].includes(manifest.kind)) return [];
    const where =
      manifest.kind === 'ClusterRole' ? 'cluster' : manifest.metadata.namespace === 'there' ? 'runners' : 'release';
    const rules = manifest['rules'] as { apiGroups: string[]; resources: string[]; verbs: string[] }[];
    return rules.flatMap(({ apiGroups, resources, verbs }) =>
      resources.flatMap((resource) => verbs.map((verb) => `${where} ${apiGroups[0]} ${resource} ${verb}`)),
    );
  });
  const asked = clusterRights.map(({ where, group, resource, verb }) => `${where} ${group} ${resource} ${verb}`);
  expect(new Set(asked)).toEqual(new Set(granted));
});

test('doctor finds nothing in a cluster that is whole, also with a pool that fits a node', async () => {
  await applyManifests([pool('fits', { concurrency: 1, nodeSelector: { disk: 'fast' } })]);
  expect(await diagnose(await environment())).toEqual([]);
});

test('an API server that does not answer is named', async () => {
  const env = await environment({ url: `https://127.0.0.1:${await freePort()}` });
  expect(await diagnose(env)).toEqual([
    'cluster: the API server of the cluster: nothing listens there → start the server, or correct host and port',
  ]);
});

test('credentials that the API server refuses are named', async () => {
  expect(await diagnose(await environment({ user: { token: 'another' } }))).toEqual([
    expect.stringMatching(/^cluster: the API server refuses the credentials → correct the kubeconfig/),
  ]);
});

test('a namespace that does not exist is named', async () => {
  const admin = await environment({ user: { token: server.adminToken } });
  expect(await diagnose({ ...admin, RUNNER_NAMESPACE: 'none-there' })).toEqual([
    'cluster: RUNNER_NAMESPACE: there is no namespace none-there → kubectl create namespace none-there',
  ]);
});

test('the right that is missing is named with its verb, resource and place', async () => {
  const role = { kind: 'Role', name: account };
  const before = JSON.parse(await kubectl(server, ['get', 'role', role.name, '-n', places.runners, '-o', 'json'])) as {
    rules: { resources: string[]; verbs: string[] }[];
  };
  const rules = before.rules.map((rule) =>
    rule.resources.includes('jobs') ? { ...rule, verbs: rule.verbs.filter((verb) => verb !== 'delete') } : rule,
  );
  await merge('role', role.name, { rules });
  try {
    expect(await eventually((findings) => findings.length > 0)).toEqual([
      `cluster rights: the account of this process may not delete jobs.batch in the namespace ${places.runners} → ` +
        'install the chart again with rights of an administrator, or add the verb to its role',
    ]);
  } finally {
    await merge('role', role.name, { rules: before.rules });
  }
  await eventually((findings) => findings.length === 0);
});

test('a pool whose selector or taints fit no node is named', async () => {
  await applyManifests([pool('nowhere', { concurrency: 1, nodeSelector: { disk: 'slow', gpu: 'yes' } })]);
  expect(await diagnose(await environment())).toEqual([
    expect.stringMatching(
      /^pools: the RunnerPool nowhere fits no node: none has the labels disk=slow,gpu=yes → kubectl label/,
    ),
  ]);
  await kubectl(server, ['delete', 'rp', 'nowhere', '-n', places.runners]);
  const taints = [{ key: 'media', value: 'only', effect: 'NoSchedule' }];
  await kubectl(server, [
    'patch',
    'node',
    `doctor-${suffix}`,
    '--type=merge',
    '-p',
    JSON.stringify({ spec: { taints } }),
  ]);
  expect(await diagnose(await environment())).toEqual([
    expect.stringContaining(
      'pools: the RunnerPool fits fits no node: it does not tolerate the taint media=only:NoSchedule',
    ),
  ]);
  await merge('rp', 'fits', { spec: { tolerations: [{ key: 'media', operator: 'Exists' }] } });
  expect(await diagnose(await environment())).toEqual([]);
});

test('what the pods of a pool ask for and the cluster does not have is named', async () => {
  const size = { capacity: { cpu: '4', memory: '8Gi' }, allocatable: { cpu: '4', memory: '8Gi' } };
  const patched = ['patch', 'node', `doctor-${suffix}`, '--subresource=status', '--type=merge', '-p'];
  await kubectl(server, [...patched, JSON.stringify({ status: size })]);
  const tolerations = [{ operator: 'Exists' }];
  const asks = (cpu: string, more: object = {}) =>
    pool('large', { concurrency: 1, tolerations, resources: { requests: { cpu } }, ...more });
  await applyManifests([asks('500')]);
  expect(await diagnose(await environment())).toEqual([
    expect.stringContaining('pools: the RunnerPool large fits no node: it asks for cpu 500, which none of its nodes'),
  ]);
  await applyManifests([
    asks('4', { priorityClassName: 'absent', runtimeClassName: 'gvisor' }),
    {
      apiVersion: 'v1',
      kind: 'ResourceQuota',
      metadata: { name: 'none', namespace: places.runners },
      spec: { hard: { pods: '0' } },
    },
  ]);
  // The account of the controller may not read these objects.
  expect(await diagnose(await environment())).toEqual([]);
  const asAdmin = {
    ...(await environment()),
    KUBECONFIG: server.kubeconfigPath,
    RUNNER_IMAGE_PULL_SECRETS: 'registry',
  };
  const expected = [
    'pool needs: the PriorityClass absent of a RunnerPool does not exist',
    'pool needs: the RuntimeClass gvisor of a RunnerPool does not exist',
    'pool needs: the Secret registry of the runners does not exist',
    'pool needs: the quota none has no room for a pod of the RunnerPool fits: pods',
    'pool needs: the quota none has no room for a pod of the RunnerPool large: pods',
  ];
  await until('the quota counts', async () => (await diagnose(asAdmin)).length === expected.length);
  expect(await diagnose(asAdmin)).toEqual(expected.map((text): unknown => expect.stringContaining(text)));
  await kubectl(server, ['delete', 'rp/large', 'resourcequota/none', '-n', places.runners]);
});

test('what keeps a pool from running jobs is named', async () => {
  await merge('rp', 'fits', { status: { lastError: 'QuotaExceeded: pods' } }, '--subresource=status');
  expect(await diagnose(await environment())).toEqual([
    expect.stringContaining('pools: the RunnerPool fits cannot run a job: QuotaExceeded: pods → '),
  ]);
  await merge('rp', 'fits', { status: { lastError: '' } }, '--subresource=status');
});

test('an image that cannot be pulled is named once, however many pods wait for it', async () => {
  const names = ['image-1', 'image-2'];
  const podOf = (name: string) => ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: places.runners },
    spec: {
      serviceAccountName: serviceAccounts.runner,
      automountServiceAccountToken: false,
      securityContext: { runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } },
      containers: [
        {
          name: 'all',
          image: 'registry.invalid/runner:1',
          securityContext: { allowPrivilegeEscalation: false, capabilities: { drop: ['ALL'] } },
        },
      ],
    },
  });
  await applyManifests(names.map((name) => podOf(name) as never));
  const waiting = { reason: 'ImagePullBackOff', message: 'no such host' };
  const state = { name: 'all', image: 'x', imageID: '', ready: false, restartCount: 0, state: { waiting } };
  for (const name of names)
    await merge('pod', name, { status: { phase: 'Pending', containerStatuses: [state] } }, '--subresource=status');
  expect(await diagnose(await environment())).toEqual([
    'runner pods: the image registry.invalid/runner:1 cannot be pulled: ImagePullBackOff: all: no such host → ' +
      'correct RUNNER_IMAGE or RUNNER_IMAGE_PULL_SECRETS, or push the image',
  ]);
  await kubectl(server, ['delete', 'pod', ...names, '-n', places.runners, '--force', '--grace-period=0']);
});

test('a MediaProfile that is not valid is named with its message', async () => {
  const profile = {
    apiVersion: 'reelwright.dev/v1alpha1',
    kind: 'MediaProfile',
    metadata: { name: 'pale', namespace: places.runners },
    spec: {},
  };
  await applyManifests([profile]);
  const valid = {
    type: 'Valid',
    status: 'False',
    reason: 'Invalid',
    message: 'spec.ladder: must go from small to large',
  };
  const condition = { ...valid, lastTransitionTime: new Date().toISOString() };
  await merge('mediaprofile', 'pale', { status: { conditions: [condition] } }, '--subresource=status');
  expect(await diagnose(await environment())).toEqual([
    expect.stringContaining('media profiles: the MediaProfile pale is not valid: spec.ladder: must go'),
  ]);
  await kubectl(server, ['delete', 'mediaprofile', 'pale', '-n', places.runners]);
});

test('definitions of another version are named with the fields that they lack', async () => {
  const path = '/spec/versions/0/schema/openAPIV3Schema/properties/spec/properties/imageSlots';
  const patch = JSON.stringify([{ op: 'remove', path }]);
  await kubectl(server, ['patch', 'crd', 'runnerpools.reelwright.dev', '--type=json', '-p', patch]);
  expect(await eventually((findings) => findings.length > 0)).toEqual([
    'definitions: the definition of RunnerPool is of another version: it lacks imageSlots → ' +
      'kubectl apply --server-side -f crds/ of this version',
  ]);
});

test('definitions that are not installed are named', async () => {
  await kubectl(server, ['delete', 'crd', 'mediaprofiles.reelwright.dev']);
  const missing = await eventually((findings) => findings.some((each) => each.includes('MediaProfile')));
  expect(missing).toContainEqual(
    expect.stringContaining('the definition of MediaProfile is not installed in the cluster'),
  );
  const others = ['mediajobs', 'mediarollouts', 'runnerpools'].map((name) => `${name}.reelwright.dev`);
  await kubectl(server, ['delete', 'crd', ...others]);
  const all = await eventually((findings) => findings.some((each) => each.includes('(CRDs)')));
  expect(all).toEqual([
    expect.stringMatching(/^definitions: the definitions \(CRDs\) of reelwright\.dev are not installed/),
  ]);
});

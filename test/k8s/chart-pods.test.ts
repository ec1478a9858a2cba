import { beforeAll, describe, expect, test } from 'vitest';
import { everything, leastValues, type Manifest, objectOf, podValues, renderChart } from '../../testing/k8s/chart.ts';
import {
  type Component,
  components,
  dataOf,
  namesOf,
  selectorOf,
  specOf,
  templateOf,
} from '../../testing/k8s/chart-objects.ts';

// The pods of each deployment, and the objects beside it, by the values of the chart.

let least: Manifest[];
let full: Manifest[];
beforeAll(async () => {
  [least, full] = await Promise.all([renderChart(leastValues), renderChart(everything)]);
});

/** The checksums of a deployment's pods, of its settings and of the secrets. */
async function checksumsOf(component: Component, values: object = {}): Promise<(string | undefined)[]> {
  const { annotations } = templateOf(await renderChart({ ...leastValues, ...values }), component).metadata;
  return [annotations['checksum/settings'], annotations['checksum/secrets']];
}

describe.each(components)('the pods of %s', (component) => {
  test('have the labels, identity, volumes, scheduling and variables of the values', () => {
    const { extraEnv, extraVolumes, extraVolumeMounts, podLabels, podAnnotations, ...scheduling } = podValues;
    const { serviceAccount: _, service: __, podDisruptionBudget: ___, ...rest } = scheduling;
    const { metadata, spec } = templateOf(full, component);
    expect(metadata).toMatchObject({
      labels: { ...selectorOf(component), ...podLabels, team: 'video' },
      annotations: podAnnotations,
    });
    const labelSelector = { matchLabels: selectorOf(component) };
    expect(spec).toMatchObject({
      ...rest,
      topologySpreadConstraints: rest.topologySpreadConstraints.map((each) => ({ ...each, labelSelector })),
      imagePullSecrets: [{ name: 'pull' }],
      serviceAccountName: `reelwright-${component}`,
      enableServiceLinks: false,
      automountServiceAccountToken: component === 'controller',
      volumes: expect.arrayContaining([
        ...extraVolumes,
        { name: 'ca-bundle', configMap: { name: 'authorities', items: [{ key: 'ca.crt', path: 'ca.crt' }] } },
      ]),
    });
    const [container] = spec.containers;
    expect(container).toMatchObject({
      image: `ghcr.io/reelwright/reelwright@${everything.image.digest}`,
      env: expect.arrayContaining(extraEnv),
      envFrom: [{ configMapRef: { name: `reelwright-${component}` } }],
      volumeMounts: expect.arrayContaining([
        ...extraVolumeMounts,
        { name: 'ca-bundle', mountPath: '/etc/reelwright/ca', readOnly: true },
      ]),
    });
    expect(dataOf(full, component)['NODE_EXTRA_CA_CERTS']).toBe('/etc/reelwright/ca/ca.crt');
  });

  test('run without privileges, with bounded memory, and end within their time', () => {
    const { spec } = templateOf(least, component);
    const [container] = spec.containers;
    expect(spec['securityContext']).toMatchObject({ runAsNonRoot: true, seccompProfile: { type: 'RuntimeDefault' } });
    expect(container['securityContext']).toEqual({
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    });
    const limits = { memory: component === 'delivery' ? '2Gi' : '512Mi' };
    expect(container['resources']).toMatchObject({ requests: { cpu: expect.any(String) }, limits });
    // Longer than the wait for routers and the stop of the program together.
    expect(spec['terminationGracePeriodSeconds']).toBe(40);
    expect(container['lifecycle']).toEqual(
      component === 'controller' ? undefined : { preStop: { sleep: { seconds: 5 } } },
    );
  });

  test('are replaced when a setting or a secret of the values changes, and only then', async () => {
    const [settings, secrets] = await checksumsOf(component);
    expect(await checksumsOf(component)).toEqual([settings, secrets]);
    expect(await checksumsOf(component, { config: { LOG_LEVEL: 'debug' } })).toEqual([
      expect.not.stringMatching(settings!),
      secrets,
    ]);
    const databaseUrl = { value: 'postgres://reelwright@db/other' };
    expect(await checksumsOf(component, { secrets: { ...leastValues.secrets, databaseUrl } })).toEqual([
      settings,
      expect.not.stringMatching(secrets!),
    ]);
  });

  test('are selected by their Deployment, Service and disruption budget, and by no other', () => {
    const matchLabels = selectorOf(component);
    expect(specOf(full, 'Deployment', `reelwright-${component}`)['selector']).toEqual({ matchLabels });
    expect(specOf(full, 'Service', `reelwright-${component}`)).toMatchObject({
      selector: matchLabels,
      ports: [{ name: 'http', port: component === 'controller' ? 3001 : 80, targetPort: 'http' }],
    });
    expect(objectOf(full, 'Service', `reelwright-${component}`).metadata.annotations).toEqual(
      podValues.service.annotations,
    );
    const budget = { selector: { matchLabels } };
    const name = `reelwright-${component}`;
    expect(specOf(full, 'PodDisruptionBudget', name)).toEqual({ ...budget, maxUnavailable: '50%' });
    expect(specOf(least, 'PodDisruptionBudget', name)).toEqual({ ...budget, maxUnavailable: 1 });
  });

  test('have an account of their own whose token no other pod mounts', () => {
    expect(objectOf(full, 'ServiceAccount', `reelwright-${component}`)).toMatchObject({
      metadata: { annotations: podValues.serviceAccount.annotations },
      automountServiceAccountToken: false,
    });
  });

  test('are two, and a rollout stops none before another is ready', async () => {
    const strategy = { type: 'RollingUpdate', rollingUpdate: { maxUnavailable: 0, maxSurge: 1 } };
    const name = `reelwright-${component}`;
    expect(specOf(least, 'Deployment', name)).toMatchObject({ replicas: 2, strategy });
    const own = await renderChart({ ...leastValues, [component]: { replicas: 5, strategy: { type: 'Recreate' } } });
    expect(specOf(own, 'Deployment', name)).toMatchObject({ replicas: 5, strategy: { type: 'Recreate' } });
  });
});

describe('the file of API keys', () => {
  test('C35.25: is mounted as a folder into the pods of the api alone, beside volumes of the values', async () => {
    const values = { ...everything, apiKeysFile: { existingSecret: 'named-keys', key: 'list' } };
    const objects = await renderChart(values);
    const items = [{ key: 'list', path: 'keys.yaml' }];
    const { volumes, containers } = templateOf(objects, 'api').spec;
    expect(volumes).toEqual(
      expect.arrayContaining([
        ...podValues.extraVolumes,
        { name: 'api-keys', secret: { secretName: 'named-keys', items } },
      ]),
    );
    expect(containers[0]?.['volumeMounts']).toEqual(
      expect.arrayContaining([
        ...podValues.extraVolumeMounts,
        { name: 'api-keys', mountPath: '/etc/reelwright/keys', readOnly: true },
      ]),
    );
    expect(dataOf(objects, 'api')['API_KEYS_FILE']).toBe('/etc/reelwright/keys/keys.yaml');
    for (const component of ['delivery', 'controller'] as const)
      expect(JSON.stringify(templateOf(objects, component))).not.toContain('api-keys');
    expect(dataOf(least, 'api')).not.toHaveProperty('API_KEYS_FILE');
  });
});

describe.each(['api', 'delivery'] as const)('the scaling of %s', (component) => {
  const name = `reelwright-${component}`;
  const autoscaling = { enabled: true, minReplicas: 3, maxReplicas: 7, targetCPUUtilizationPercentage: 55 };
  const replicas = { enabled: true, minReplicas: 3, maxReplicas: 7 };

  test('is left to the HorizontalPodAutoscaler, within the bounds of the values', async () => {
    const manifests = await renderChart({ ...leastValues, [component]: { autoscaling } });
    expect(specOf(manifests, 'Deployment', name)).not.toHaveProperty('replicas');
    expect(specOf(manifests, 'HorizontalPodAutoscaler', name)).toMatchObject({
      scaleTargetRef: { kind: 'Deployment', name },
      minReplicas: 3,
      maxReplicas: 7,
      metrics: [{ resource: { name: 'cpu', target: { averageUtilization: 55 } } }],
    });
    expect(namesOf(least, 'HorizontalPodAutoscaler')).toEqual([]);
  });

  test('is left to KEDA in its place, by the requests of that deployment', async () => {
    const keda = { enabled: true, prometheusAddress: 'http://prometheus:9090' };
    const manifests = await renderChart({ ...leastValues, keda, [component]: { autoscaling: replicas } });
    expect(namesOf(manifests, 'HorizontalPodAutoscaler')).toEqual([]);
    expect(specOf(manifests, 'ScaledObject', name)).toMatchObject({
      scaleTargetRef: { name },
      minReplicaCount: 3,
      maxReplicaCount: 7,
      triggers: [
        {
          metadata: {
            serverAddress: keda.prometheusAddress,
            query: `sum(rate(svc_http_requests_total{job="${name}"}[1m]))`,
          },
        },
      ],
    });
  });
});

test('each Service has the type and port that the values give, and runner pods report to that port', async () => {
  const service = { type: 'LoadBalancer', port: 8443 };
  const values = Object.fromEntries(components.map((component) => [component, { service }]));
  const manifests = await renderChart({ ...leastValues, ...values });
  for (const component of components)
    expect(specOf(manifests, 'Service', `reelwright-${component}`)).toMatchObject({
      type: 'LoadBalancer',
      ports: [{ port: 8443 }],
    });
  expect(dataOf(manifests, 'controller')['REPORT_URL']).toBe('http://reelwright-controller.reelwright.svc:8443');
  expect(dataOf(least, 'controller')['REPORT_URL']).toBe('http://reelwright-controller.reelwright.svc:3001');
});

test('C25.19: the controller is alive by itself, and ready once it has reached the database', () => {
  const [container] = templateOf(least, 'controller').spec.containers;
  const alive = { httpGet: { path: '/healthz', port: 'http' } };
  expect(container).toMatchObject({
    ports: [{ name: 'http', containerPort: 3001 }],
    startupProbe: alive,
    livenessProbe: alive,
    readinessProbe: { httpGet: { path: '/readyz/database', port: 'http' } },
  });
  expect(dataOf(least, 'controller')).toMatchObject({ WORKER_METRICS_PORT: '3001', EXECUTOR: 'kubernetes' });
  expect(container.env).toEqual(
    expect.arrayContaining([
      { name: 'POD_NAME', valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } },
      { name: 'POD_NAMESPACE', valueFrom: { fieldRef: { fieldPath: 'metadata.namespace' } } },
    ]),
  );
});

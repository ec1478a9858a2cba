import { beforeAll, expect, test } from 'vitest';
import { everything, leastValues, type Manifest, objectOf, renderChart } from '../../testing/k8s/chart.ts';
import { type Component, components, dataOf, namesOf, specOf, templateOf } from '../../testing/k8s/chart-objects.ts';

// What becomes of each value of the chart: the object and the field that operators expect it in.

let least: Manifest[];
let full: Manifest[];
beforeAll(async () => {
  [least, full] = await Promise.all([renderChart(leastValues), renderChart(everything)]);
});

test('the controller makes runner pods of the image, with the pull secrets and the storage keys of the values', async () => {
  const manifests = await renderChart({
    ...everything,
    imagePullSecrets: [{ name: 'of-the-release' }],
    runnerImage: { ...everything.runnerImage, pullPolicy: 'Always' },
    runners: { ...everything.runners, imagePullSecrets: [{ name: 'first' }, { name: 'second' }] },
  });
  expect(dataOf(manifests, 'controller')).toMatchObject({
    RUNNER_NAMESPACE: 'reelwright-runners',
    RUNNER_IMAGE: `ghcr.io/reelwright/reelwright-runner@${everything.runnerImage.digest}`,
    RUNNER_IMAGE_PULL_POLICY: 'Always',
    RUNNER_IMAGE_PULL_SECRETS: 'first,second',
    RUNNER_SOURCE_SECRET: 'reelwright-source-storage',
    RUNNER_MEDIA_SECRET: 'media-keys',
  });
  const tagged = await renderChart({ ...leastValues, image: { tag: '9.9.9' }, runnerImage: { tag: '8.8.8' } });
  expect(dataOf(tagged, 'controller')['RUNNER_IMAGE']).toBe('ghcr.io/reelwright/reelwright-runner:8.8.8');
  expect(templateOf(tagged, 'api').spec.containers[0]['image']).toBe('ghcr.io/reelwright/reelwright:9.9.9');
});

/** The variables of a deployment that come from Secrets: its name, key, and whether it may be absent. */
function secretsOf(manifests: readonly Manifest[], component: Component): Record<string, string> {
  const variables = templateOf(manifests, component).spec.containers[0].env as readonly {
    name: string;
    valueFrom?: { secretKeyRef?: { name: string; key: string; optional: boolean } };
  }[];
  return Object.fromEntries(
    variables.flatMap(({ name, valueFrom }) => {
      const from = valueFrom?.secretKeyRef;
      return from === undefined ? [] : [[name, `${from.name} ${from.key}${from.optional ? ' optional' : ''}`]];
    }),
  );
}

test('each secret is read from the Secret and key of the values, or from what was given as a value', async () => {
  const manifests = await renderChart({
    ...everything,
    secrets: {
      ...leastValues.secrets,
      apiKey: { existingSecret: 'vault', key: 'the-api-key' },
      redisUrl: { value: 'redis://redis' },
    },
    uploads: { existingSecret: 'uploads' },
  });
  expect(secretsOf(manifests, 'api')).toEqual({
    API_KEY: 'vault the-api-key',
    DATABASE_URL: 'reelwright-keys DATABASE_URL',
    REDIS_URL: 'reelwright-secrets REDIS_URL',
    SOURCE_S3_ACCESS_KEY_ID: 'reelwright-source-storage SOURCE_S3_ACCESS_KEY_ID optional',
    SOURCE_S3_SECRET_ACCESS_KEY: 'reelwright-source-storage SOURCE_S3_SECRET_ACCESS_KEY optional',
    MEDIA_S3_ACCESS_KEY_ID: 'media-keys MEDIA_S3_ACCESS_KEY_ID',
    MEDIA_S3_SECRET_ACCESS_KEY: 'media-keys MEDIA_S3_SECRET_ACCESS_KEY',
    UPLOAD_S3_ACCESS_KEY_ID: 'uploads UPLOAD_S3_ACCESS_KEY_ID optional',
    UPLOAD_S3_SECRET_ACCESS_KEY: 'uploads UPLOAD_S3_SECRET_ACCESS_KEY optional',
    EVENTS_TOKEN: 'uploads EVENTS_TOKEN optional',
  });
  expect(secretsOf(manifests, 'controller')).toMatchObject({
    UPLOAD_S3_ACCESS_KEY_ID: 'uploads UPLOAD_S3_ACCESS_KEY_ID optional',
    UPLOAD_S3_SECRET_ACCESS_KEY: 'uploads UPLOAD_S3_SECRET_ACCESS_KEY optional',
  });
  expect(secretsOf(manifests, 'delivery')['THUMB_SECRET']).toBe('reelwright-secrets THUMB_SECRET optional');
  expect(objectOf(manifests, 'Secret', 'reelwright-secrets')['stringData']).toEqual({ REDIS_URL: 'redis://redis' });
});

test('C20.21: delivery gets the source bucket and its credentials where it shows sources as images', async () => {
  const manifests = await renderChart({ ...everything, config: { ...everything.config, THUMB_SOURCES: 'uploads/' } });
  const { SOURCE_BUCKET: bucket } = dataOf(manifests, 'api');
  expect(dataOf(manifests, 'delivery')).toMatchObject({ THUMB_SOURCES: 'uploads/', SOURCE_BUCKET: bucket });
  expect(secretsOf(manifests, 'delivery')).toMatchObject({
    SOURCE_S3_ACCESS_KEY_ID: 'reelwright-source-storage SOURCE_S3_ACCESS_KEY_ID optional',
    SOURCE_S3_SECRET_ACCESS_KEY: 'reelwright-source-storage SOURCE_S3_SECRET_ACCESS_KEY optional',
  });
  expect(dataOf(full, 'delivery')).not.toHaveProperty('SOURCE_BUCKET');
});

const storageSecretsOf = (manifests: readonly Manifest[]) =>
  manifests
    .filter(({ kind, metadata }) => kind === 'Secret' && metadata.name.endsWith('-storage'))
    .map(({ metadata, stringData }) => [metadata.namespace, metadata.name, Object.values(stringData as object)[0]]);

test('storage keys that are given as values are in the namespaces of the release and of the runners', async () => {
  expect(storageSecretsOf(full)).toEqual([
    ['reelwright', 'reelwright-source-storage', 'reader'],
    ['reelwright-runners', 'reelwright-source-storage', 'reader'],
  ]);
  expect(storageSecretsOf(await renderChart({ dev: { enabled: true } }))).toEqual(
    ['media', 'source'].flatMap((store) =>
      ['reelwright', 'reelwright-runners'].map((namespace) => [namespace, `reelwright-${store}-storage`, 'reelwright']),
    ),
  );
});

test('an Ingress leads to the Service of its host, and the API has none unless its host is set', async () => {
  const ingress = { enabled: true, delivery: { host: 'media.example.com' } };
  expect(namesOf(await renderChart({ ...leastValues, ingress }), 'Ingress')).toEqual(['reelwright-delivery']);
  expect(namesOf(least, 'Ingress')).toEqual([]);
  for (const [component, host] of Object.entries({ api: 'jobs.example.com', delivery: 'media.example.com' })) {
    const name = `reelwright-${component}`;
    const spec = specOf(full, 'Ingress', name) as unknown as {
      ingressClassName: string;
      rules: { host: string; http: { paths: { backend: object }[] } }[];
    };
    expect([spec.ingressClassName, spec.rules.map((rule) => rule.host)]).toEqual(['nginx', [host]]);
    const backends = spec.rules.flatMap(({ http }) => http.paths.map(({ backend }) => backend));
    expect(new Set(backends.map((backend) => JSON.stringify(backend)))).toEqual(
      new Set([JSON.stringify({ service: { name, port: { name: 'http' } } })]),
    );
  }
  expect(objectOf(full, 'Ingress', 'reelwright-api').metadata.annotations).toEqual({ a: 'b' });
});

const namespaceOf = (manifests: readonly Manifest[]) => objectOf(manifests, 'Namespace', 'reelwright-runners').metadata;
const definitionsOf = (manifests: readonly Manifest[]) =>
  manifests.filter(({ kind }) => kind === 'CustomResourceDefinition').map(({ metadata }) => metadata.annotations);

test('runner pods are held to the level `restricted`, in a namespace that an uninstallation keeps', async () => {
  const keep = { 'helm.sh/resource-policy': 'keep' };
  expect(namespaceOf(least)).toMatchObject({
    labels: { 'pod-security.kubernetes.io/enforce': 'restricted', 'pod-security.kubernetes.io/warn': 'restricted' },
    annotations: keep,
  });
  expect(objectOf(full, 'ServiceAccount', 'reelwright-runner')).toMatchObject({
    metadata: { namespace: 'reelwright-runners', annotations: { 'example.com/role': 'runner' } },
    automountServiceAccountToken: false,
  });
  expect(definitionsOf(least)).toEqual([keep, keep, keep, keep]);
  const unkept = await renderChart({ ...leastValues, crds: { keep: false } });
  expect([namespaceOf(unkept).annotations, ...definitionsOf(unkept)]).toEqual(Array.from({ length: 5 }));
});

test('the policies for networks, for reserved names and for disruptions are there unless they are turned off', async () => {
  const kinds = [
    'NetworkPolicy',
    'ValidatingAdmissionPolicy',
    'ValidatingAdmissionPolicyBinding',
    'PodDisruptionBudget',
  ];
  const countsOf = (manifests: readonly Manifest[]) => kinds.map((kind) => namesOf(manifests, kind).length);
  expect(countsOf(least)).toEqual([4, 2, 2, 3]);
  const policies = least.filter(({ kind }) => kind === 'ValidatingAdmissionPolicy');
  // Reserved names are reserved also while the API server cannot decide; a warning never stops anybody.
  expect(policies.map(({ spec }) => (spec as { failurePolicy: string }).failurePolicy)).toEqual(['Fail', 'Ignore']);
  const off = { enabled: false };
  const budgets = Object.fromEntries(components.map((component) => [component, { podDisruptionBudget: off }]));
  expect(
    countsOf(await renderChart({ ...leastValues, ...budgets, networkPolicies: off, admissionPolicy: off })),
  ).toEqual([0, 0, 0, 0]);
});

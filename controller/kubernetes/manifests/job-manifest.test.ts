import { describe, expect, it } from 'vitest';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import { exampleTemplate } from '../../../testing/k8s/example-template.ts';
import { exampleJob } from '../../../testing/example-job.ts';
import { jobManifest } from './job-manifest.ts';
import type { JobTemplate } from './job-template.ts';

const job = exampleJob({ type: 'video:transcode', source: 'clips/a.mp4', options: { encrypt: false } });

const template: JobTemplate = {
  ...exampleTemplate,
  image: { name: 'registry.example.com/runner:1', pullPolicy: 'IfNotPresent', pullSecrets: [] },
  serviceAccount: 'reelwright-runner',
  storage: { source: {}, media: {} },
  credentials: { source: null, media: null },
};

function podOf(changes: Partial<JobTemplate>, poolSpec: Partial<RunnerPoolSpec> = {}, ofJob = job) {
  const mediaJob = { metadata: { name: 'mj-1', namespace: 'runners', uid: 'u' }, spec: {} } as never;
  const pool = { name: 'default', spec: { concurrency: 1, ...poolSpec } };
  const manifest = jobManifest(
    {
      job: ofJob,
      mediaJob,
      pool,
      report: null,
      keyEndpoint: 'https://m/api/key/h',
      units: { kind: 'whole', split: null, chunks: [], parallelism: 1 },
    },
    { ...template, ...changes },
  );
  const { metadata, spec } = manifest.spec?.template ?? {};
  if (spec == null) throw new Error('expected a pod in the Job');
  return { job: manifest, metadata, spec, containers: [...(spec.initContainers ?? []), ...spec.containers] };
}

it('a Job is owned by its MediaJob, whose deletion takes it and its pods along', () => {
  expect(podOf({}).job.metadata).toMatchObject({
    namespace: 'runners',
    ownerReferences: [
      { apiVersion: 'reelwright.dev/v1alpha1', kind: 'MediaJob', name: 'mj-1', uid: 'u', controller: true },
    ],
  });
});

it('a Job of one pod starts no second one, ends with time for its pod to begin, and goes after its time', () => {
  const { job: made, spec } = podOf({ pendingDeadlineMs: 600_000, ttlMs: 90_500 }, { activeDeadlineSeconds: 3_600 });
  expect(spec.activeDeadlineSeconds).toBe(3_600);
  expect(made.spec).toMatchObject({
    completions: 1,
    parallelism: 1,
    backoffLimit: 0,
    podReplacementPolicy: 'Failed',
    podFailurePolicy: {
      rules: [
        { action: 'FailJob', onExitCodes: { operator: 'In', values: [10] } },
        { action: 'FailJob', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
      ],
    },
    activeDeadlineSeconds: 3_600 + 600 + 60,
    ttlSecondsAfterFinished: 91,
  });
});

it('a Job and its pod are labelled with job, attempt, pool and unit, and name the MediaJob', () => {
  const { job: made, metadata } = podOf({});
  const labels = {
    'reelwright.dev/job-id': job.id,
    'reelwright.dev/attempt': '1',
    'reelwright.dev/pool': 'default',
    'reelwright.dev/unit': 'whole',
  };
  for (const of of [made.metadata, metadata]) {
    expect(of?.labels).toEqual(labels);
    expect(of?.annotations).toMatchObject({ 'reelwright.dev/media-job': 'mj-1' });
  }
});

it('C37.20: a Job and its pod are labelled with the API key that asked for the job', () => {
  const { job: made, metadata } = podOf({}, {}, { ...job, keyId: '2bb80d53' });
  for (const of of [made.metadata, metadata]) expect(of?.labels).toMatchObject({ 'reelwright.dev/key-id': '2bb80d53' });
});

describe('the runner pod of a Job', () => {
  it('the pod has the scheduling of its pool, and every container its resources', () => {
    const scheduling = {
      nodeSelector: { disk: 'ssd' },
      tolerations: [{ key: 'media', operator: 'Exists' as const }],
      priorityClassName: 'batch',
      runtimeClassName: 'gvisor',
    };
    const resources = { requests: { cpu: '2' }, limits: { memory: '4Gi' } };
    const pool = { ...scheduling, resources, scratch: { sizeLimit: '20Gi' }, kueueQueue: 'videos' };
    const { job: made, spec, containers } = podOf({}, pool);
    expect(spec).toMatchObject(scheduling);
    expect(spec.volumes).toContainEqual({ name: 'workspace', emptyDir: { sizeLimit: '20Gi' } });
    for (const container of containers) expect(container.resources, container.name).toEqual(resources);
    expect(made.metadata?.labels).toMatchObject({ 'kueue.x-k8s.io/queue-name': 'videos' });
    expect(Object.keys(podOf({}).spec)).not.toEqual(expect.arrayContaining(['runtimeClassName']));
  });

  it('the pod has the affinity, spread, labels and annotations of its pool, and asks for its scratch folder', () => {
    const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } };
    const spread = { maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' as const };
    const pool = {
      affinity,
      topologySpreadConstraints: [spread],
      podLabels: { team: 'video', 'reelwright.dev/pool': 'other' },
      podAnnotations: { 'karpenter.sh/do-not-disrupt': 'true' },
      resources: { requests: { cpu: '2' } },
      scratch: { request: '20Gi' },
    };
    const { spec, metadata, containers } = podOf({}, pool);
    const labelSelector = { matchLabels: { 'reelwright.dev/pool': 'default' } };
    expect(spec).toMatchObject({ affinity, topologySpreadConstraints: [{ ...spread, labelSelector }] });
    expect(metadata?.labels).toMatchObject({ team: 'video', 'reelwright.dev/pool': 'default' });
    expect(metadata?.annotations).toMatchObject({ 'karpenter.sh/do-not-disrupt': 'true' });
    for (const { resources } of containers)
      expect(resources).toEqual({ requests: { cpu: '2', 'ephemeral-storage': '20Gi' } });
  });

  it('a runner pod runs under the configured service account and mounts no token of it', () => {
    const { spec } = podOf({});
    expect(spec).toMatchObject({ serviceAccountName: 'reelwright-runner', automountServiceAccountToken: false });
  });

  it('the step that decodes untrusted bytes gets no cloud identity from the webhook of EKS', () => {
    const { metadata, containers } = podOf({ pod: { annotations: { 'eks.amazonaws.com/skip-containers': 'none' } } });
    expect(metadata?.annotations?.['eks.amazonaws.com/skip-containers']).toBe('process');
    expect(containers.map(({ name }) => name)).toContain('process');
  });

  it('configured labels and annotations are added and replace none of the controller', () => {
    const { metadata } = podOf({
      pod: { labels: { team: 'video', 'reelwright.dev/pool': 'other' }, annotations: { note: 'text' } },
    });
    expect(metadata?.labels).toMatchObject({ team: 'video', 'reelwright.dev/pool': 'default' });
    expect(metadata?.annotations).toMatchObject({ note: 'text', 'reelwright.dev/media-job': 'mj-1' });
  });

  it('a configured security context replaces the default one of the pod and of every container', () => {
    const { spec, containers } = podOf({
      pod: { securityContext: { runAsNonRoot: true }, containerSecurityContext: { privileged: false } },
    });
    expect(spec.securityContext).toEqual({ runAsNonRoot: true });
    expect(containers.map(({ securityContext }) => securityContext)).toEqual(
      containers.map(() => ({ privileged: false })),
    );
  });

  it('configured certificate authorities are mounted read-only in every step, and Node reads them', () => {
    const { spec, containers } = podOf({ caConfigMap: 'authorities' });
    expect(spec.volumes).toContainEqual({ name: 'ca', configMap: { name: 'authorities' } });
    for (const { env, volumeMounts } of containers) {
      expect(env).toContainEqual({ name: 'NODE_EXTRA_CA_CERTS', value: '/etc/reelwright/ca/ca.crt' });
      expect(volumeMounts).toContainEqual({ name: 'ca', mountPath: '/etc/reelwright/ca', readOnly: true });
    }
  });

  it('the publish step reads the workspace only, and no two steps share a writable folder but the workspace', () => {
    const { containers } = podOf({});
    const publish = containers.find(({ name }) => name === 'publish');
    expect(publish?.volumeMounts).toContainEqual({ name: 'workspace', mountPath: '/workspace', readOnly: true });
    expect(publish?.env).toContainEqual({ name: 'RUNNER_OUTPUT', value: '/output' });
    const writable = containers.flatMap(({ volumeMounts = [] }) =>
      volumeMounts.filter(({ readOnly, name }) => readOnly !== true && name !== 'workspace').map(({ name }) => name),
    );
    expect(writable.toSorted()).toEqual(['output', 'tmp-fetch', 'tmp-process', 'tmp-publish']);
  });
});

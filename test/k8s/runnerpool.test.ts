import { describe, expect, test } from 'vitest';
import { type RunnerPool, runnerPools } from '#platform/kubernetes/objects.ts';
import { kubectl } from '../../testing/k8s/api-server.ts';
import { clientFor, newNamespace, server } from '../../testing/k8s/cluster.ts';

async function place() {
  const client = clientFor();
  return { client, namespace: await newNamespace(client) };
}

const pool = (spec: object = {}): RunnerPool['spec'] => ({ concurrency: 2, ...spec });

describe('a RunnerPool', () => {
  test('a RunnerPool takes all that the chart gives one', async () => {
    const { client, namespace } = await place();
    const spec = pool({
      nodeSelector: { 'media.example/pool': 'large' },
      tolerations: [{ key: 'media', operator: 'Equal', value: 'large', effect: 'NoSchedule' }, { operator: 'Exists' }],
      resources: { requests: { cpu: 2, memory: '2Gi' }, limits: { memory: '8Gi', cpu: '1.5', 'example.com/gpu': 1 } },
      scratch: { sizeLimit: '100Gi', request: '20Gi' },
      affinity: { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } },
      topologySpreadConstraints: [{ maxSkew: 1, topologyKey: 'zone', whenUnsatisfiable: 'ScheduleAnyway' }],
      podLabels: { team: 'video' },
      podAnnotations: { 'karpenter.sh/do-not-disrupt': 'true' },
      priorityClassName: '',
      runtimeClassName: '',
      activeDeadlineSeconds: 43_200,
      kueueQueue: '',
    });
    const made = await client.create(runnerPools, { metadata: { name: 'video-large', namespace }, spec });
    expect(made.spec).toEqual(spec);
  });

  test.each([
    { what: 'a negative concurrency', spec: { concurrency: -1 }, field: 'spec.concurrency' },
    { what: 'no concurrency', spec: { concurrency: undefined }, field: 'spec.concurrency' },
    { what: 'a deadline of nothing', spec: { activeDeadlineSeconds: 0 }, field: 'spec.activeDeadlineSeconds' },
    { what: 'an invalid quantity', spec: { scratch: { sizeLimit: 'lots' } }, field: 'spec.scratch.sizeLimit' },
    {
      what: 'an invalid amount of memory',
      spec: { resources: { limits: { memory: '4 GB' } } },
      field: 'spec.resources.limits.memory',
    },
    {
      what: 'a label of the controller',
      spec: { podLabels: { 'reelwright.dev/pool': 'x' } },
      field: 'spec.podLabels',
    },
    {
      what: 'a spread of no key',
      spec: { topologySpreadConstraints: [{ maxSkew: 1, whenUnsatisfiable: 'ScheduleAnyway' }] },
      field: 'spec.topologySpreadConstraints[0].topologyKey',
    },
    {
      what: 'a toleration of no key',
      spec: { tolerations: [{ effect: 'NoSchedule' }] },
      field: 'spec.tolerations[0].key',
    },
    {
      what: 'a value beside Exists',
      spec: { tolerations: [{ key: 'a', operator: 'Exists', value: 'b' }] },
      field: 'spec.tolerations[0].value',
    },
    {
      what: 'an unknown effect',
      spec: { tolerations: [{ key: 'a', effect: 'Never' }] },
      field: 'spec.tolerations[0].effect',
    },
  ])('a RunnerPool with $what is refused with $field named', async ({ spec, field }) => {
    const { client, namespace } = await place();
    const wrong = client.create(runnerPools, { metadata: { name: 'x', namespace }, spec: pool(spec) });
    await expect(wrong).rejects.toMatchObject({
      reason: 'Invalid',
      causes: expect.arrayContaining([expect.objectContaining({ field })]) as unknown,
    });
  });

  test('a RunnerPool is sized by kubectl scale and by the client', async () => {
    const { client, namespace } = await place();
    await client.create(runnerPools, { metadata: { name: 'x', namespace }, spec: pool() });
    await kubectl(server, ['scale', '-n', namespace, 'rp/x', '--replicas=8']);
    expect((await client.get(runnerPools, { namespace, name: 'x' })).spec.concurrency).toBe(8);
    await client.scale(runnerPools, { namespace, name: 'x' }, 3);
    expect((await client.get(runnerPools, { namespace, name: 'x' })).spec.concurrency).toBe(3);
  });

  test('a RunnerPool shows autoscalers what they ask for, and people what they look for', async () => {
    const { client, namespace } = await place();
    await client.create(runnerPools, { metadata: { name: 'x', namespace }, spec: pool() });
    const status = { active: 2, queued: 5, lastError: '', selector: 'reelwright.dev/pool=x' };
    await client.mergePatch(runnerPools, { namespace, name: 'x' }, { status }, { subresource: 'status' });
    const raw = `/apis/reelwright.dev/v1alpha1/namespaces/${namespace}/runnerpools/x/scale`;
    expect(JSON.parse(await kubectl(server, ['get', '--raw', raw]))).toMatchObject({
      spec: { replicas: 2 },
      status: { replicas: 2, selector: 'reelwright.dev/pool=x' },
    });
    const lines = (await kubectl(server, ['get', '-n', namespace, 'rp'])).trim().split('\n');
    expect(lines[0]?.split(/\s+/)).toEqual(['NAME', 'CONCURRENCY', 'READY', 'ACTIVE', 'QUEUED', 'AGE']);
    expect(lines[1]).toMatch(/^x\s+2\s+2\s+5\s+\d+s$/);
  });
});

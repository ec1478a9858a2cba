import { describe, expect, test } from 'vitest';
import type { Condition } from '#domain/kubernetes/custom-resource.ts';
import type { MediaJobConditionType, MediaJobPhase, MediaJobSpec } from '#domain/kubernetes/media-job.ts';
import { mediaJobs } from '#platform/kubernetes/objects.ts';
import { kubectl } from '../../testing/k8s/api-server.ts';
import { clientFor, newNamespace, server } from '../../testing/k8s/cluster.ts';

const thumbnail: MediaJobSpec = { type: 'image:thumbnail', hash: 'h1', source: 'in/a.jpg' };

async function place() {
  const client = clientFor();
  return { client, namespace: await newNamespace(client) };
}

async function withStatus(status: object) {
  const { client, namespace } = await place();
  const metadata = { name: 'x', namespace };
  await client.create(mediaJobs, { metadata, spec: thumbnail });
  const patch = (next: object) => client.mergePatch(mediaJobs, metadata, { status: next }, { subresource: 'status' });
  await patch(status);
  return { client, namespace, metadata, patch };
}

const named = (field: string) => ({
  reason: 'Invalid',
  causes: expect.arrayContaining([expect.objectContaining({ field })]) as unknown,
});

describe('the status of a MediaJob', () => {
  const now = '2026-01-01T00:00:00Z';
  const condition = (type: MediaJobConditionType, status: Condition['status'] = 'True'): Condition => ({
    type,
    status,
    reason: 'Test',
    message: '',
    lastTransitionTime: now,
  });

  test('the status of a MediaJob is not taken from a creation', async () => {
    const { client, namespace } = await place();
    const status = { phase: 'completed' as const };
    const made = await client.create(mediaJobs, { metadata: { name: 'x', namespace }, spec: thumbnail, status });
    expect(made.status).toBeUndefined();
  });

  test.each(['Complete', 'Failed'] as const)(
    'the condition %s in the status of a MediaJob cannot be taken back in any way',
    async (type) => {
      const phase: MediaJobPhase = type === 'Complete' ? 'completed' : 'failed';
      const { client, metadata, patch } = await withStatus({
        phase,
        conditions: [condition(type), condition('Progressing', 'False')],
      });
      await expect(patch({ conditions: [condition(type, 'False')] })).rejects.toMatchObject(named('status.conditions'));
      await expect(patch({ conditions: [] })).rejects.toMatchObject(named('status.conditions'));
      await expect(patch({ conditions: null })).rejects.toMatchObject(named('status.conditions'));
      await expect(client.mergePatch(mediaJobs, metadata, { status: null }, { subresource: 'status' })).rejects.toThrow(
        'cannot be taken back',
      );
      await expect(patch({ phase: 'encoding' })).rejects.toMatchObject(named('status.phase'));
      const other = type === 'Complete' ? 'Failed' : 'Complete';
      await expect(patch({ conditions: [condition(type), condition(other)] })).rejects.toMatchObject(
        named('status.conditions'),
      );
      // What does not touch the end may still be reported.
      await patch({ progress: 100, conditions: [condition(type), condition('Published')] });
    },
  );

  test('the status of a MediaJob moves freely before the end', async () => {
    const { patch } = await withStatus({ phase: 'encoding', progress: 10, conditions: [condition('Progressing')] });
    await patch({ phase: 'unschedulable', conditions: [condition('Progressing', 'False')] });
    await patch({ phase: 'completed', conditions: [condition('Complete')] });
  });

  test('the status of a MediaJob keeps results of any shape, and refuses an unknown phase and an invalid error', async () => {
    const results = {
      key: 'images/ab/h/1/thumb.webp',
      outputs: [{ variant: 'thumb', width: 1 }],
      deep: { x: [1, { y: null }] },
    };
    const { client, metadata, patch } = await withStatus({ results });
    expect((await client.get(mediaJobs, metadata)).status?.results).toMatchObject({
      key: results.key,
      outputs: results.outputs,
    });
    await expect(patch({ phase: 'Running' })).rejects.toMatchObject(named('status.phase'));
    const error = { code: 'out_of_luck', message: '', retryable: false, attempt: 1 };
    await expect(patch({ error })).rejects.toMatchObject(named('status.error.code'));
    await patch({ error: { ...error, code: 'corrupt_input', details: { log_tail: 'x' } } });
  });

  test('the status of a MediaJob is waited for and printed by kubectl', async () => {
    const { namespace } = await withStatus({
      phase: 'completed',
      progress: 100,
      pool: 'default',
      conditions: [condition('Complete')],
    });
    await kubectl(server, ['wait', '-n', namespace, '--for=condition=Complete', '--timeout=5s', 'mj/x']);
    const lines = (await kubectl(server, ['get', '-n', namespace, 'mj'])).trim().split('\n');
    expect(lines[0]?.split(/\s+/)).toEqual(['NAME', 'TYPE', 'PHASE', 'PROGRESS', 'CHUNKS', 'REASON', 'POOL', 'AGE']);
    expect(lines[1]).toMatch(/^x\s+image:thumbnail\s+completed\s+100\s+default\s+\d+s$/);
    expect(await kubectl(server, ['get', '-n', namespace, 'media'])).toContain('mediajob.reelwright.dev/x');
  });
});

import { expect, it } from 'vitest';
import { exampleTemplate } from '../../../testing/k8s/example-template.ts';
import { batchManifest, batchMs } from './batch-manifest.ts';

it('the Job of a batch asks for its tasks with both buckets at hand, and names no job', () => {
  const { metadata, spec } = batchManifest(
    {
      id: 'b1',
      namespace: 'runners',
      pool: { name: 'default', spec: { concurrency: 1, activeDeadlineSeconds: 60 } },
      tasks: { url: 'http://controller/batches/b1', token: 'token' },
    },
    exampleTemplate,
  );
  expect(metadata).toMatchObject({
    name: 'batch-b1',
    labels: { 'reelwright.dev/batch-id': 'b1', 'reelwright.dev/pool': 'default' },
  });
  expect(Object.keys(metadata?.labels ?? {})).not.toContain('reelwright.dev/job-id');
  const { containers = [], initContainers = [] } = spec?.template.spec ?? {};
  expect(initContainers).toEqual([]);
  expect(containers.map(({ name, args }) => [name, args])).toEqual([['all', ['batch']]]);
  const names = containers.flatMap(({ env = [] }) => env.map(({ name }) => name));
  for (const name of ['TASKS_URL', 'TASKS_TOKEN', 'RUNNER_WORKSPACE', 'SOURCE_BUCKET', 'MEDIA_S3_SECRET_ACCESS_KEY'])
    expect(names).toContain(name);
  for (const name of ['RUNNER_TASK', 'REPORT_URL', 'REPORT_TOKEN', 'CONTENT_KEY']) expect(names).not.toContain(name);
  expect(spec?.template.spec?.activeDeadlineSeconds).toBe(60 + batchMs / 1000);
});

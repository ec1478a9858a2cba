import { expect, it } from 'vitest';
import { type Config, loadConfig } from '#platform/config/config.ts';
import type { ExecutorDependencies } from '../dependencies.ts';
import { kubernetesDependencies } from './from-configuration.ts';

const id = '6f1c8a4e-3b7d-4b52-9f0e-2a5c9d8e7f10';

/** The settings that the executor gets from these variables. */
function of(variables: Record<string, string> = {}, runner: Record<string, string> = {}) {
  const loaded = loadConfig(
    {
      DATABASE_URL: 'postgres://u:p@db/x',
      REDIS_URL: 'embedded:',
      WEBHOOK_SECRET: 'a webhook secret of the tests',
      ENCRYPTION_KEY: 'an encryption key of the tests',
      BASE_URL: 'https://media.example',
      SOURCE_BUCKET: 'uploads',
      SOURCE_S3_ACCESS_KEY_ID: 'source-id',
      SOURCE_S3_SECRET_ACCESS_KEY: 'source-secret',
      MEDIA_BUCKET: 'media',
      MEDIA_S3_ACCESS_KEY_ID: 'media-id',
      MEDIA_S3_SECRET_ACCESS_KEY: 'media-secret',
      EXECUTOR: 'kubernetes',
      KUBECONFIG: '/k',
      RUNNER_NAMESPACE: 'runners',
      RUNNER_IMAGE: 'registry.example/runner:1',
      RUNNER_SOURCE_SECRET: 'source-keys',
      RUNNER_MEDIA_SECRET: 'media-keys',
      REPORT_URL: 'http://controller:3001',
      ...variables,
    },
    ['--mode=worker'],
  );
  if ('faults' in loaded) throw new Error(loaded.faults.join('; '));
  const given = { config: loaded.config as Config, kubernetes: {}, runner: { variables: runner } };
  return kubernetesDependencies(given as unknown as ExecutorDependencies);
}

it('runner pods get the settings of both buckets, and their keys by Secret alone', () => {
  const { template } = of({ RUNNER_CA_CONFIG_MAP: 'ca', RUNNER_SERVICE_ACCOUNT: 'runner', CHUNK_LENGTH: '30s' });
  expect(template).toMatchObject({
    image: { name: 'registry.example/runner:1', pullPolicy: 'IfNotPresent', pullSecrets: [] },
    serviceAccount: 'runner',
    caConfigMap: 'ca',
    credentials: { source: 'source-keys', media: 'media-keys' },
    storage: { source: { SOURCE_BUCKET: 'uploads' }, media: { MEDIA_BUCKET: 'media' } },
    chunkSec: 30,
  });
  for (const secret of ['source-id', 'source-secret', 'media-id', 'media-secret', 'webhook secret', 'encryption key'])
    expect(JSON.stringify(template)).not.toContain(secret);
});

it('runner pods get the level of the log, the preset of the tests and the collector, each where it is set', () => {
  expect(of().template.base).toEqual({ LOG_LEVEL: 'info' });
  const variables = { LOG_LEVEL: 'debug', OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318' };
  const set = of(variables, { X264_PRESET: 'ultrafast', PATH: '/bin' });
  expect(set.template.base).toEqual({ X264_PRESET: 'ultrafast', ...variables });
});

it('the two pools of the queues are there whatever the settings name, sized by the settings', () => {
  const sizes = { WORKER_CONCURRENCY: '5', LARGE_WORKER_CONCURRENCY: '2' };
  expect(of(sizes).pools).toEqual({ default: { concurrency: 5 }, 'video-large': { concurrency: 2 } });
  const given = { default: { nodeSelector: { a: 'b' } }, gpu: { concurrency: 9 } };
  expect(of({ ...sizes, RUNNER_POOLS: JSON.stringify(given) }).pools).toEqual({
    default: { concurrency: 5, nodeSelector: { a: 'b' } },
    'video-large': { concurrency: 2 },
    gpu: { concurrency: 9 },
  });
});

it('image jobs share pods only where runners can ask for tasks, and more than one each', () => {
  expect(of({ IMAGE_BATCH_MIN: '7', IMAGE_JOBS_PER_PROCESS: '80' }).batchSettings).toMatchObject({
    min: 7,
    tasksMax: 80,
  });
  expect(of().batchSettings?.tasksOf(id).url).toBe(`http://controller:3001/batches/${id}/tasks`);
  expect(of().reportFor({ jobId: id, attempt: 2 })?.url).toBe(`http://controller:3001/reports/${id}/2`);
  for (const none of [{ IMAGE_BATCH_MIN: '0' }, { IMAGE_JOBS_PER_PROCESS: '1' }, { REPORT_URL: '' }])
    expect(of(none).batchSettings, JSON.stringify(none)).toBeNull();
  expect(of({ REPORT_URL: '' }).reportFor({ jobId: id, attempt: 2 })).toBeNull();
});

import { expect, it } from 'vitest';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { PoolGauges } from './pool-gauges.ts';

it('C25.20: each pool has its concurrency, pods, waiting jobs and the oldest of them, until it is deleted', async () => {
  const metrics = new Metrics();
  const gauges = new PoolGauges(metrics);
  const series = async () => {
    const text = await metrics.registry.metrics();
    return text.split('\n').filter((line) => /^svc_pool_(tasks|concurrency|oldest)/.test(line));
  };
  const numbers = { concurrency: 4, pending: 3, retry: 1, active: 2, oldestSeconds: 60 };
  gauges.show(new Map(['default', 'gpu'].map((pool) => [pool, numbers])));
  expect(await series()).toHaveLength(10);
  gauges.show(new Map([['gpu', { ...numbers, concurrency: 8 }]]));
  expect(await series()).toEqual([
    'svc_pool_tasks{pool="gpu",state="pending"} 3',
    'svc_pool_tasks{pool="gpu",state="retry"} 1',
    'svc_pool_tasks{pool="gpu",state="active"} 2',
    'svc_pool_concurrency{pool="gpu"} 8',
    'svc_pool_oldest_seconds{pool="gpu"} 60',
  ]);
  gauges.show(new Map());
  expect(await series()).toEqual([]);
});

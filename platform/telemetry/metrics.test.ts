import { describe, expect, it } from 'vitest';
import { jobTypeNames } from '#domain/job-types/index.ts';
import { Metrics } from './metrics.ts';

// The families of C25.4 and C25.7 to C25.12, with the labels that these lines name.
const families: Record<string, readonly string[]> = {
  svc_http_requests_total: ['method', 'route', 'status'],
  svc_http_request_duration_seconds: ['method', 'route', 'status'],
  svc_image_cache_events_total: ['layer', 'result'],
  svc_image_results_total: ['result'],
  svc_image_errors_total: ['stage', 'status'],
  svc_worker_tasks_total: ['type', 'result'],
  svc_worker_task_duration_seconds: ['type', 'result'],
  svc_readiness_failures_total: ['check'],
  svc_queue_tasks: ['queue', 'state'],
  svc_queue_metrics_sync_failures_total: [],
};

function recordAll(metrics: Metrics): void {
  metrics.httpRequests.inc({ method: 'GET', route: '/api/jobs/:id', status: 200 });
  metrics.httpDuration.observe({ method: 'GET', route: '/api/jobs/:id', status: 200 }, 0.02);
  metrics.imageCacheEvents.inc({ layer: 'memory', result: 'hit' });
  metrics.imageResults.inc({ result: 'memory_hit' });
  metrics.imageErrors.inc({ stage: 'decode', status: 500 });
  metrics.workerTasks.inc({ type: 'video:full', result: 'completed' });
  metrics.workerTaskDuration.observe({ type: 'video:full', result: 'completed' }, 12);
  metrics.readinessFailures.inc({ check: 'database' });
  metrics.queueTasks.set({ queue: 'video:large', state: 'pending' }, 3);
  metrics.queueSyncFailures.inc();
}

describe('the metrics of a process', () => {
  it('C25.13: the metrics are the ten families of the contract, further ones, and default ones of Node', async () => {
    const metrics = new Metrics();
    const names = (await metrics.registry.getMetricsAsJSON()).map(({ name }) => name);
    const standard = ['process_cpu_seconds_total', 'process_resident_memory_bytes'];
    expect(names).toEqual(expect.arrayContaining([...Object.keys(families), ...standard]));
    expect(names.every((name) => /^(svc|process|nodejs)_/.test(name))).toBe(true);
  });

  it('come in the text exposition format with the specified labels', async () => {
    const metrics = new Metrics();
    recordAll(metrics);
    const text = await metrics.registry.metrics();
    for (const [family, labels] of Object.entries(families)) {
      const sample = text.split('\n').find((line) => line.startsWith(family) && !line.includes('_bucket'));
      const names = [...(sample ?? '').matchAll(/(\w+)="/g)].map(([, name]) => name);
      expect({ family, names }).toEqual({ family, names: labels });
    }
    expect(text).toContain('svc_queue_tasks{queue="video:large",state="pending"} 3');
    expect(text).toContain('svc_http_requests_total{method="GET",route="/api/jobs/:id",status="200"} 1');
  });

  it('a series whose labels are bound once counts in the metric of its labels', async () => {
    const metrics = new Metrics();
    const labels = { method: 'GET', route: '/stream/{hash}/*', status: 200 };
    const [requests, durations] = [metrics.httpRequests.series(labels), metrics.httpDuration.series(labels)];
    expect(await metrics.registry.metrics()).not.toContain('/stream/{hash}/*');
    metrics.httpRequests.inc(labels);
    for (const bytes of [1, 4]) requests.inc(bytes);
    durations.observe(0.5);
    const named = '{method="GET",route="/stream/{hash}/*",status="200"}';
    for (let reads = 0; reads < 2; reads++) {
      const text = await metrics.registry.metrics();
      expect(text).toContain(`svc_http_requests_total${named} 6\n`);
      expect(text).toContain(`svc_http_request_duration_seconds_sum${named} 0.5\n`);
    }
    metrics.httpRequests.series({ ...labels, method: 'BREW' }).inc();
    expect(await metrics.registry.metrics()).toContain('svc_http_requests_total{method="other",');
  });

  it('keep their labels bounded, whatever callers send', async () => {
    const metrics = new Metrics();
    for (let n = 0; n < 2000; n += 1) {
      metrics.httpRequests.inc({ method: `M${n}`, route: `/path/${n}`, status: n });
      metrics.httpDuration.observe({ method: 'GET', route: 'x'.repeat(n), status: 200 }, 1);
      metrics.workerTasks.inc({ type: `type${n}`, result: 'completed' });
      metrics.queueTasks.set({ queue: `queue${n}`, state: 'pending' }, n);
    }
    const text = await metrics.registry.metrics();
    expect(text.length).toBeLessThan(300_000);
    expect(text).toContain('method="other"');
    expect(text).toContain('svc_worker_tasks_total{type="other",result="completed"} 2000');
    expect(text).not.toContain('x'.repeat(129));
    for (const type of jobTypeNames) metrics.workerTasks.inc({ type, result: 'completed' });
    expect(await metrics.registry.metrics()).toContain(
      'svc_worker_tasks_total{type="video:full",result="completed"} 1',
    );
  });
});

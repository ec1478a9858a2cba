import { randomUUID } from 'node:crypto';
import { expect, onTestFinished, test } from 'vitest';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { startTracing } from '#platform/telemetry/tracing.ts';
import { startCollector } from '../../testing/collector.ts';
import { until } from '../../testing/k8s/cluster.ts';
import { openControllerRig } from '../../testing/k8s/controller.ts';

test('a job that runs in a pod is one trace from its attempt over the runner’s steps to the webhook, and is timed', async () => {
  const collector = await startCollector();
  onTestFinished(() => void collector.close());
  const rig = await openControllerRig({
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.origin,
    WEBHOOK_ALLOWED_CIDRS: '127.0.0.0/8',
  });
  const tracing = startTracing({ endpoint: collector.origin, serviceName: 'test' });
  await rig.writeImage();
  const metrics = new Metrics();
  const worker = rig.startWorker({ metrics });
  rig.runAll();

  const traceId = randomUUID().replaceAll('-', '');
  const requestSpan = 'b7ad6b7169203331';
  const trace = { traceparent: `00-${traceId}-${requestSpan}-01` };
  const id = await rig.submit('image:thumbnail', { trace, callbackUrl: `${collector.origin}/hook` });
  await rig.ended(id);
  await until('its webhook has come', () => Promise.resolve(collector.webhooks.length > 0));
  await worker.stop();
  await tracing.shutdown();

  const spans = collector.spans.filter((span) => span.traceId === traceId);
  const named = (name: string) => spans.filter((span) => span.name === name);
  for (const name of ['attempt', 'completion', 'step fetch', 'step process', 'step publish', 'webhook'])
    expect([name, named(name).length]).toEqual([name, 1]);
  const ids = new Set([requestSpan, ...spans.map(({ spanId }) => spanId)]);
  expect(spans.filter(({ parentSpanId = '' }) => !ids.has(parentSpanId))).toEqual([]);
  // From the Job's first moment, which the API server records in whole seconds, to the end that was recorded.
  const [attempt, publish] = [named('attempt')[0], named('step publish')[0]];
  expect(Number(attempt?.startTimeUnixNano)).toBeLessThan(Number(publish?.startTimeUnixNano));
  expect(Number(attempt?.endTimeUnixNano)).toBeGreaterThan(Number(publish?.startTimeUnixNano));

  const text = await metrics.registry.metrics();
  expect(text).toContain('svc_worker_tasks_total{type="image:thumbnail",result="completed"} 1');
  expect(text).toContain('svc_worker_task_duration_seconds_count{type="image:thumbnail",result="completed"} 1');
});

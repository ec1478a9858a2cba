import { createServer } from 'node:http';
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { readFileSync } from 'node:fs';
import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { parse } from 'yaml';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { videoKey } from '#domain/media/object-keys.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { queueGaugesComponent } from '../../controller/queue-gauges.ts';
import { type ApiUnderTest, keyTokenSecret, startApi } from '../contract/api-under-test.ts';
import { type AlertRule, promtool, type Samples, tryAlert } from '../../testing/alert-rules.ts';
import { openRig, type Rig, until } from '../../testing/controller-rig.ts';

// The alerts and the dashboard of the chart against the metrics of a server and a worker on which everything that they
// ask for has happened: each selector of each expression finds a series, each alert one that is not 0.

const folder = new URL('../../charts/reelwright/monitoring/', import.meta.url);
const alerts = parse(readFileSync(new URL('alerts.yaml', folder), 'utf8')) as AlertRule[];
const dashboard = JSON.parse(readFileSync(new URL('dashboard.json', folder), 'utf8')) as {
  panels: { title: string; targets: { expr: string }[] }[];
};

/** Of a cluster, whose leader alone sets them (test/k8s/pod-problems.test.ts). */
const leader = 'svc_leader{lease="reelwright-controller"}';
const podProblem = 'svc_media_jobs_waiting{pool="default",reason="NodeNotReady"}';
const absence = 'ReelwrightWorkersAbsent';

const ofCluster = /^svc_(?:leader|media_jobs_waiting)$/;

interface Series {
  readonly name: string;
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const labelsOf = (text: string) =>
  Object.fromEntries([...text.matchAll(/(\w+)="([^"]*)"/g)].map(([, name, value]) => [String(name), String(value)]));
/** The values of all series that alerts and panels can read. */
const sampled = (series: readonly Series[]) =>
  new Map(
    series.map(({ name, labels, value }) => {
      const pairs = Object.entries(labels).map(([label, text]) => `${label}="${text}"`);
      return [`${name}{${pairs.join(',')}}`, value];
    }),
  );
const seriesOf = (text: string, instance: string): Series[] =>
  [...text.matchAll(/^(svc_\w+)(?:\{(.*)\})? (\S+)$/gm)].map(([, name = '', labels = '', value]) => ({
    name,
    labels: { instance, ...labelsOf(labels) },
    value: Number(value),
  }));

/** The series that a selector such as `svc_x{a=~"b"}` finds. */
function found(selector: string, series: readonly Series[]): readonly Series[] {
  const [, name = '', matchers = ''] = /^(\w+)(?:\{(.*)\})?$/.exec(selector) ?? [];
  const tests = [...matchers.matchAll(/(\w+)(=~|!~|!=|=)"([^"]*)"/g)].map(
    ([, label = '', operator = '', pattern = '']) =>
      (labels: Series['labels']) => {
        const value = labels[label] ?? '';
        const matches = operator.includes('~') ? new RegExp(`^(?:${pattern})$`).test(value) : value === pattern;
        return matches !== operator.startsWith('!');
      },
  );
  return series.filter((one) => one.name === name && tests.every((test) => test(one.labels)));
}
const selectorsOf = (expr: string) =>
  (expr.match(/svc_\w+(?:\{[^}]*\})?/g) ?? []).filter((selector) => !ofCluster.test(selector.split('{')[0] ?? ''));

const key = 'images/ab/m/0123456789abcdef/a.png';
const thumbnail = { type: 'image:thumbnail', hash: 'waits', source: 'in' };

/** A job completes, and a webhook is sent. */
async function useWorker(rig: Rig, metrics: Metrics): Promise<void> {
  const receiver = createServer((_request, response) => response.end()).listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  const callbackUrl = `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`;
  const id = await rig.submit('ok', { type: 'video:transcode', callbackUrl });
  await rig.finished(id);
  const webhooks = () => metrics.registry.getSingleMetricAsString('svc_webhook_attempts_total');
  await until(webhooks, (text) => text.includes('outcome="sent"'));
  receiver.close();
}

/** Jobs fail and are repeated. */
async function failJobs(rig: Rig): Promise<void> {
  const ids = await Promise.all([rig.submit('exit-10'), rig.submit('exit-20-1')]);
  for (const id of ids) await rig.finished(id);
}

/** Requests that succeed. @returns what reports the depth of the queues */
async function useServer(api: ApiUnderTest): Promise<Component> {
  const { d } = api;
  const { metrics, jobs, log, queue } = d;
  const gauges = queueGaugesComponent({ queue, jobs, metrics, log, everyMs: 50 });
  await gauges.start();
  await untilDepthIs(metrics, 0);
  const create = { width: 8, height: 8, channels: 3, background: 'red' } as const;
  await api.putMedia(key, await sharp({ create }).png().toBuffer());
  await d.database.pool.query(`insert into content_keys (hash, kid, envelope) values ('h', 'k', '{}')`);
  const segment = videoKey('m', '0123456789abcdef', 'video/r360_h264/seg_1.m4s');
  await api.putMedia(segment, 'segment');
  await api.raw('/stream/m/0123456789abcdef/video/r360_h264/seg_1.m4s');
  await api.call('/api/jobs');
  const secret = thumbSecretsOf([], keyTokenSecret)[0] ?? '';
  await api.raw(signThumbPath(key, { w: 8 }, secret));
  await api.raw(signThumbPath(key, { w: 8 }, secret));
  return gauges;
}

async function untilDepthIs(metrics: Metrics, depth: number): Promise<void> {
  await until(
    async () => (await metrics.registry.getSingleMetric('svc_queue_tasks')?.get())?.values ?? [],
    (values) => values.length > 0 && values.reduce((sum, { value }) => sum + value, 0) === depth,
  );
}

/** A job that nothing runs, and requests of every kind that fail. */
async function breakServer(api: ApiUnderTest): Promise<void> {
  const { d } = api;
  const { metrics, queue } = d;
  await api.submit(thumbnail);
  await untilDepthIs(metrics, 1);
  const secret = thumbSecretsOf([], keyTokenSecret)[0] ?? '';
  Object.assign(d.media, { put: () => Promise.reject(new Error('on purpose')) });
  await api.raw(signThumbPath(key, { w: 4 }, secret));
  const token = signPlaybackToken({ hash: 'h', exp: Math.floor(Date.now() / 1000) + 60 }, keyTokenSecret);
  await api.raw('/api/key/h', { headers: { authorization: `Bearer ${token}` } });
  await Promise.all([queue.close(), d.windowCounter.close()]);
  await api.submit({ ...thumbnail, hash: 'refused' });
  await api.raw('/readyz');
  await until(
    () => metrics.registry.getSingleMetricAsString('svc_queue_metrics_sync_failures_total'),
    (text) => / [1-9]\d*$/m.test(text),
  );
}

describe.skipIf(!inject('postgres'))('the monitoring of the chart', () => {
  let api: ApiUnderTest;
  let rig: Rig;
  let live: readonly Series[];
  let samples: Samples;

  beforeAll(async () => {
    [api, rig] = await Promise.all([startApi(), openRig({ WEBHOOK_ALLOWED_CIDRS: '127.0.0.1/32' })]);
    const { metrics } = rig.startWorker();
    const scrape = async () => [
      ...seriesOf(await api.d.metrics.registry.metrics(), 'server'),
      ...seriesOf(await metrics.registry.metrics(), 'worker'),
    ];
    const start = sampled(await scrape());
    await useWorker(rig, metrics);
    const gauges = await useServer(api);
    await untilDepthIs(metrics, 0);
    const healthy = sampled(await scrape())
      .set(leader, 1)
      .set(podProblem, 0);
    await failJobs(rig);
    await breakServer(api);
    await untilDepthIs(metrics, 0);
    live = await scrape();
    samples = { start, healthy, faulty: sampled(live).set(leader, 0).set(podProblem, 1) };
    await gauges.stop(AbortSignal.timeout(5_000));
  }, 60_000);
  afterAll(async () => {
    await rig.close();
    await api.close();
  });

  it.each(dashboard.panels.map(({ title, targets }) => [title, targets.map(({ expr }) => expr)] as const))(
    'live metrics answer every expression of the panel "%s"',
    (_, expressions) => {
      const unanswered = expressions.flatMap(selectorsOf).filter((selector) => found(selector, live).length === 0);
      expect(unanswered).toEqual([]);
    },
  );

  describe.skipIf(promtool === null)('as Prometheus evaluates it', () => {
    it.each(alerts.filter(({ alert }) => alert !== absence).map((rule) => [rule.alert, rule] as const))(
      'the alert %s fires on the metrics of a service with its fault after its time, and not before',
      (_, rule) => {
        expect(tryAlert(rule, samples)).toBe('');
      },
    );

    it('the alert of absent controllers fires once no controller reports the depth of the queues', () => {
      const [rule] = alerts.filter(({ alert }) => alert === absence);
      const faulty = new Map([...samples.faulty].filter(([name]) => !name.startsWith('svc_queue_tasks')));
      expect(rule && tryAlert(rule, { ...samples, faulty })).toBe('');
    });
  });
});

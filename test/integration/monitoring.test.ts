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
import { programVersion } from '#platform/telemetry/program-version.ts';
import { queueGaugesComponent } from '../../controller/execution/queue-gauges.ts';
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

/** The series of a cluster, whose leader alone sets them (test/k8s/pod-problems.test.ts). */
const leader = 'svc_leader{lease="reelwright-controller"}';
const podProblem = 'svc_media_jobs_waiting{pool="default",reason="NodeNotReady"}';
/** One attempt for each webhook, and retention times that are short of what `fallBehind` makes of jobs. */
const behindAtOnce = {
  WEBHOOK_ALLOWED_CIDRS: '127.0.0.1/32',
  WEBHOOK_BACKOFF: '0s',
  JOB_RETENTION: '1d',
  REVISION_RETENTION: '1d',
};
const absence = 'ReelwrightWorkersAbsent';

const ofCluster = /^svc_(?:leader|media_jobs_waiting|pool_\w+)$/;

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

/** A webhook is given up, a job waits for hours, and so do cleanup, retention and webhooks. */
async function fallBehind(rig: Rig, api: ApiUnderTest, metrics: Metrics): Promise<void> {
  const id = await rig.submit('exit-10', { type: 'video:transcode', callbackUrl: 'http://127.0.0.1:1/' });
  await rig.finished(id);
  const webhooks = () => metrics.registry.getSingleMetricAsString('svc_webhook_attempts_total');
  await until(webhooks, (text) => text.includes('outcome="failed"'));
  const { rows } = await rig.database.pool.query<{ id: string }>('select id from jobs where finished_at is not null');
  const [first, second] = rows.map((row) => row.id);
  const age = (columns: string, job: string | undefined) =>
    rig.database.pool.query(`update jobs set ${columns} where id = $1`, [job]);
  await age(`finished_at = now() - interval '5 hours'`, first);
  await age(
    `finished_at = now() - interval '9 days', swept_at = now(), replaced_at = now() - interval '9 days'`,
    second,
  );
  await rig.database.pool.query(
    `update webhook_events set next_attempt_at = now() - interval '5 hours', held_until = now() + interval '1 hour'`,
  );
  await rig.database.pool.query(
    `insert into rollouts (id, spec, status) values (gen_random_uuid(), '{}', 'rolled_back')`,
  );
  const rollouts = () => metrics.registry.getSingleMetricAsString('svc_rollouts');
  await until(rollouts, (text) => text.includes('phase="rolled_back"} 1'));
  const dueWork = () => metrics.registry.getSingleMetricAsString('svc_due_work');
  for (const kind of ['cleanup', 'job_retention', 'revision_retention', 'webhook'])
    await until(dueWork, (text) => new RegExp(`kind="${kind}",state="late"} [1-9]`).test(text));
  await api.d.database.pool.query(`update jobs set created_at = now() - interval '2 hours' where status = 'queued'`);
  await until(
    () => api.d.metrics.registry.getSingleMetricAsString('svc_queue_oldest_seconds'),
    (text) => /} [1-9]\d{3}/.test(text),
  );
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
  for (let n = 0; n < 30; n++) await api.raw(playedBy('bl=9000,br=800,mtp=4000,ot=v,su,msd=400'));
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

const playedBy = (state: string) =>
  `/stream/m/0123456789abcdef/video/r360_h264/seg_1.m4s?CMCD=${encodeURIComponent(state)}`;

const failing = () => Promise.reject(new Error('on purpose'));

/** A job that nothing runs, and requests of every kind that fail. */
async function breakServer(api: ApiUnderTest, whileWaiting: () => Promise<void>): Promise<void> {
  const { d } = api;
  const { metrics, queue } = d;
  await api.submit(thumbnail);
  await untilDepthIs(metrics, 1);
  await whileWaiting();
  const secret = thumbSecretsOf([], keyTokenSecret)[0] ?? '';
  Object.assign(d.media, { put: failing });
  await api.raw(signThumbPath(key, { w: 4 }, secret));
  const token = signPlaybackToken({ hash: 'h', exp: Math.floor(Date.now() / 1000) + 60 }, keyTokenSecret);
  await api.raw('/api/key/h', { headers: { authorization: `Bearer ${token}` } });
  for (let n = 0; n < 60; n++) await api.raw(playedBy('bl=0,bs,br=800,mtp=700,ot=v'));
  Object.assign(d.media, { download: failing, get: failing });
  for (let n = 2; n < 7; n++) await api.raw(`/stream/m/0123456789abcdef/video/r360_h264/seg_${n}.m4s`);
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
    [api, rig] = await Promise.all([startApi({ playbackFigures: true }), openRig(behindAtOnce)]);
    const { metrics } = rig.startWorker();
    const scrape = async () => [
      ...seriesOf(await api.d.metrics.registry.metrics(), 'server'),
      ...seriesOf(await metrics.registry.metrics(), 'worker'),
    ];
    const start = sampled(await scrape());
    await useWorker(rig, metrics);
    for (let index = 0; index < 3; index += 1) metrics.encodeSpeed.observe(2);
    const gauges = await useServer(api);
    await untilDepthIs(metrics, 0);
    const healthy = sampled(await scrape())
      .set(leader, 1)
      .set(podProblem, 0);
    // One reading that was too slow on a busy machine is no fault that the test makes.
    for (const [name, value] of start)
      if (name.startsWith('svc_queue_metrics_sync_failures_total') && healthy.get(name) === value + 1)
        healthy.set(name, value);
    await failJobs(rig);
    for (let index = 0; index < 9; index += 1) metrics.encodeSpeed.observe(0.05);
    await breakServer(api, () => fallBehind(rig, api, metrics));
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

  it('failed jobs are counted by type and error code, and the version is a metric', () => {
    const [failure] = found('svc_job_failures_total{code=~".+"}', live);
    expect(failure).toMatchObject({ labels: { type: 'video:cover' }, value: 1 });
    expect(found(`svc_build_info{version="${programVersion()}"}`, live)[0]?.value).toBe(1);
  });

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

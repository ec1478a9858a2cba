import sharp from 'sharp';
import { afterAll, beforeAll, describe, expect, inject, it } from 'vitest';
import { videoKey } from '#domain/media/object-keys.ts';
import { signThumbPath, thumbSecretsOf } from '#domain/playback/thumb.ts';
import { signPlaybackToken } from '#domain/playback/token.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { queueGaugesComponent } from '../../controller/execution/queue-gauges.ts';
import { openRig, until } from '../../testing/controller-rig.ts';
import { type ApiUnderTest, keyTokenSecret, startApi } from './api-under-test.ts';

// docs/reference/contract.md, "Metrics": what each family counts, where it happens. The labels of each,
// and their bounds (C25.14): platform/telemetry/metrics.test.ts.

/** The value of a line of the text exposition format; 0 where there is none. */
const valueIn = (text: string, series: string): number => {
  const line = text.split('\n').find((one) => one.startsWith(`${series} `));
  return line === undefined ? 0 : Number(line.slice(series.length));
};

const submissions = (status: number) => `{method="POST",route="/api/jobs",status="${status}"}`;
const tasks = (queue: string, state: string) => `svc_queue_tasks{queue="${queue}",state="${state}"}`;
const sign = (key: string) => signThumbPath(key, { w: 8 }, thumbSecretsOf([], keyTokenSecret)[0] ?? '');

describe('metrics of the server', () => {
  let api: ApiUnderTest;
  beforeAll(async () => {
    api = await startApi();
  });
  afterAll(() => api.close());
  const value = async (series: string) => valueIn((await api.raw('/metrics')).text, series);

  it('C25.7: requests are counted and timed by method, route and status', async () => {
    await api.submit({ type: 'image:thumbnail', hash: 'm1', source: 'a.jpg' });
    await api.submit({});
    for (const status of [202, 400]) {
      expect(await value(`svc_http_requests_total${submissions(status)}`)).toBe(1);
      expect(await value(`svc_http_request_duration_seconds_count${submissions(status)}`)).toBe(1);
      const sum = await value(`svc_http_request_duration_seconds_sum${submissions(status)}`);
      expect(sum > 0 && sum < 30).toBe(true);
    }
  });

  it('C25.8, C25.9: image requests are counted by outcome, by hits and misses of each layer, and by failure', async () => {
    const key = 'images/ab/m/0123456789abcdef/a.png';
    const create = { width: 32, height: 24, channels: 3 as const, background: 'red' };
    await api.putMedia(key, await sharp({ create }).png().toBuffer());
    await api.putMedia('images/ab/m/0123456789abcdef/bad.png', 'no image');
    expect((await api.raw(sign(key))).status).toBe(200);
    expect((await api.raw(sign(key))).status).toBe(200);
    expect((await api.raw(sign(key).replace('w=8', 'w=9'))).status).toBe(403);
    expect((await api.raw(sign('images/ab/m/0123456789abcdef/bad.png'))).status).toBe(422);
    const { text } = await api.raw('/metrics');
    expect(valueIn(text, 'svc_image_results_total{result="processed"}')).toBe(1);
    expect(valueIn(text, 'svc_image_results_total{result="memory_hit"}')).toBe(1);
    expect(valueIn(text, 'svc_image_cache_events_total{layer="memory",result="hit"}')).toBe(1);
    for (const layer of ['memory', 'bucket'])
      expect(valueIn(text, `svc_image_cache_events_total{layer="${layer}",result="miss"}`)).toBe(2);
    const errors = [...text.matchAll(/^svc_image_errors_total\{stage="\w+",status="(\d+)"\} (\d+)$/gm)];
    expect(new Set(errors.map(([, status, count]) => `${status}: ${count}`))).toEqual(new Set(['403: 1', '422: 1']));
  });

  it('C25.15: stream bytes, the memory of streams and key requests are counted', async () => {
    const path = '/stream/m/0123456789abcdef/video/r1/seg_1.m4s';
    await api.putMedia(videoKey('m', '0123456789abcdef', 'video/r1/seg_1.m4s'), Buffer.alloc(50_000));
    for (let n = 0; n < 3; n++) expect((await api.raw(path)).status).toBe(200);
    expect((await api.raw(path, { headers: { range: 'bytes=0-9999' } })).status).toBe(206);
    await api.d.contentKeys.findOrCreate('m');
    const authorization = `Bearer ${signPlaybackToken({ hash: 'm', exp: 4e9 }, keyTokenSecret)}`;
    for (let n = 0; n < 3; n++) await api.raw('/api/key/m', { headers: { authorization } });
    for (const headers of [{}, { authorization: 'Bearer x.y' }]) await api.raw('/api/key/m', { headers });
    const ofOther = `Bearer ${signPlaybackToken({ hash: 'other', exp: 4e9 }, keyTokenSecret)}`;
    expect((await api.raw('/api/key/other', { headers: { authorization: ofOther } })).status).toBe(404);
    // Counted when a response is closed, which its client sees a moment before.
    await expect.poll(() => value('svc_stream_bytes_total')).toBeGreaterThan(160_000);
    expect(await value('svc_stream_bytes_total')).toBeLessThan(165_000);
    const events = (result: string) => value(`svc_stream_cache_events_total{kind="object",result="${result}"}`);
    // The second request comes at any time of the first one's read.
    const counts = [await events('miss'), await events('joined'), await events('hit')];
    expect(counts[0]).toBeGreaterThan(0);
    expect(counts.reduce((sum, count) => sum + count, 0)).toBe(3);
    const outcomes = { served: 3, unauthorized: 1, forbidden: 1, not_found: 1 };
    for (const [outcome, count] of Object.entries(outcomes))
      expect([outcome, await value(`svc_key_requests_total{outcome="${outcome}"}`)]).toEqual([outcome, count]);
  });
});

describe.skipIf(!inject('postgres'))('metrics of the worker', () => {
  it('C25.10: attempts are counted and timed by type and result', async () => {
    const rig = await openRig();
    try {
      const ids = [
        await rig.submit('ok'),
        await rig.submit('ok', { type: 'video:transcode' }),
        await rig.submit('exit-10'),
      ];
      const { metrics } = rig.startWorker();
      for (const id of ids) await rig.finished(id);
      const series = ['type="video:cover",result="completed"', 'type="video:transcode",result="completed"'];
      series.push('type="video:cover",result="failed"');
      for (const labels of series) {
        const count = async (name: string) => valueIn(await metrics.registry.metrics(), `${name}{${labels}}`);
        expect(
          await until(
            () => count('svc_worker_tasks_total'),
            (counted) => counted > 0,
          ),
        ).toBe(1);
        expect(await count('svc_worker_task_duration_seconds_count')).toBe(1);
        expect(await count('svc_worker_task_duration_seconds_sum')).toBeGreaterThan(0);
      }
    } finally {
      await rig.close();
    }
  });

  it('C25.11, C25.12: the tickets of each queue and state are shown, and failures to read them are counted', async () => {
    const rig = await openRig();
    const metrics = new Metrics();
    const value = async (series: string) => valueIn(await metrics.registry.metrics(), series);
    let isAway = false;
    const depth = () => (isAway ? Promise.reject(new Error('away')) : rig.queue.depth());
    const gauges = queueGaugesComponent({ queue: { depth }, jobs: rig.jobs, metrics, log: rig.log, everyMs: 50 });
    try {
      await rig.submit('ok');
      await rig.submit('ok');
      await rig.submit('ok', { queue: 'video:large' });
      const later = await rig.submit('ok', { queue: 'video:large', ticket: false });
      await rig.queue.add({ jobId: later, attempt: 1, queue: 'video:large' }, { delayMs: 60_000 });
      await gauges.start();
      await until(
        () => value(tasks('default', 'pending')),
        (count) => count === 2,
      );
      expect(await value(tasks('default', 'retry'))).toBe(0);
      await until(
        () => value(tasks('video:large', 'pending')),
        (count) => count === 1,
      );
      expect(await value(tasks('video:large', 'retry'))).toBe(1);
      expect(await value('svc_queue_metrics_sync_failures_total')).toBe(0);
      isAway = true;
      await until(
        () => value('svc_queue_metrics_sync_failures_total'),
        (count) => count > 1,
      );
    } finally {
      await gauges.stop(AbortSignal.timeout(10_000));
      await rig.close();
    }
  });
});

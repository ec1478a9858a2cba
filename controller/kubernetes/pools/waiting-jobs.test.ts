import { expect, it } from 'vitest';
import type { MediaJob } from '#platform/kubernetes/objects.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { WaitingJobs } from './waiting-jobs.ts';

function mediaJob(pool: string, status: 'True' | 'False', reason: string, end?: 'Failed'): MediaJob {
  const shared = { message: '', lastTransitionTime: '2026-11-22T12:00:00Z' };
  const ended = end === undefined ? [] : [{ ...shared, type: end, status: 'True' as const, reason }];
  const conditions = [...ended, { ...shared, type: 'Progressing', status, reason }];
  return { spec: { type: 'video:cover', hash: 'h', source: 's' }, status: { pool, conditions } };
}

it('the metrics count the MediaJobs that do not progress by pool and reason, and series without any are 0', async () => {
  const metrics = new Metrics();
  const waiting = new WaitingJobs(metrics);
  const series = async () => {
    const { values } = (await metrics.registry.getSingleMetric('svc_media_jobs_waiting')?.get()) ?? { values: [] };
    return Object.fromEntries(values.map(({ labels, value }) => [`${labels['pool']} ${labels['reason']}`, value]));
  };
  waiting.count([
    mediaJob('default', 'False', 'Queued'),
    mediaJob('default', 'False', 'Queued'),
    mediaJob('gpu', 'False', 'NodeNotReady'),
    mediaJob('default', 'True', 'AttemptBegun'),
    mediaJob('default', 'False', 'CorruptInput', 'Failed'),
  ]);
  expect(await series()).toEqual({ 'default Queued': 2, 'gpu NodeNotReady': 1 });
  waiting.count([mediaJob('default', 'False', 'Queued')]);
  expect(await series()).toEqual({ 'default Queued': 1, 'gpu NodeNotReady': 0 });
  waiting.count([]);
  expect(await series()).toEqual({ 'default Queued': 0, 'gpu NodeNotReady': 0 });
});

import { describe, expect, it } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { exampleJob } from '../../testing/example-job.ts';
import type { Conclusion } from './conclude-attempt.ts';
import { endAttempt } from './end-attempt.ts';

const job = exampleJob();
const ticket = { jobId: job.id, attempt: 2, queue: job.queue };
const again = (delayMs: number, countsAsFailure = false): Conclusion => ({
  kind: 'again',
  ticket,
  delayMs,
  countsAsFailure,
  code: undefined,
});

interface Followed {
  readonly conclusion: Conclusion;
  readonly claims?: boolean;
  readonly isQueueAway?: boolean;
  readonly begunAt?: Date | null;
}

/** Ends an attempt that began two seconds ago; what was queued and counted. */
async function end({ conclusion, claims, isQueueAway = false, begunAt = new Date(1_000) }: Followed) {
  const metrics = new Metrics();
  const queued: unknown[] = [];
  const lines: string[] = [];
  const log = createLogger({ level: 'info', name: 'test', destination: { write: (line) => lines.push(line) } });
  const add = (...added: unknown[]) => {
    queued.push(added);
    return isQueueAway ? Promise.reject(new Error('the queue is away')) : Promise.resolve();
  };
  const ended = await endAttempt(
    {
      job,
      begunAt,
      run: () => Promise.resolve({ kind: 'disrupted' }),
      conclude: () => Promise.resolve(conclusion),
      ...(claims === undefined ? {} : { claimNext: () => Promise.resolve(claims) }),
    },
    { metrics, queue: { add }, log, clock: () => new Date(3_000) },
  );
  const text = await metrics.registry.metrics();
  const counted = [...text.matchAll(/^svc_worker_tasks_total\{.*result="(\w+)"\} 1$/gm)].map(([, result]) => result);
  const seconds = /^svc_worker_task_duration_seconds_sum\{.*\} (\S+)$/m.exec(text)?.[1];
  return { ...ended, queued, counted, seconds, lines };
}

describe('the end of an attempt', () => {
  it.each([
    ['completed', { kind: 'ended', job: exampleJob({ status: 'completed' }) }],
    ['failed', { kind: 'ended', job: exampleJob({ status: 'failed' }) }],
    ['cancelled', { kind: 'unrecorded', result: 'cancelled' }],
  ] as const)('one that is %s is counted with its time, and nothing follows', async (result, conclusion) => {
    expect(await end({ conclusion })).toMatchObject({
      result,
      next: null,
      queued: [],
      counted: [result],
      seconds: '2',
    });
  });

  it('one that was concluded before is not counted again', async () => {
    expect(await end({ conclusion: { kind: 'not_current' } })).toMatchObject({
      result: 'lost',
      next: null,
      queued: [],
      counted: [],
    });
  });

  it('the code of the error of a job that failed is its code', async () => {
    const failed = exampleJob({ status: 'failed', error: jobErrorOf('storage_error', 1) });
    expect(await end({ conclusion: { kind: 'ended', job: failed } })).toMatchObject({ code: 'storage_error' });
  });

  it('an attempt that never began is counted without a time', async () => {
    const conclusion = { kind: 'unrecorded', result: 'lost' } as const;
    expect(await end({ conclusion, begunAt: null })).toMatchObject({ counted: ['lost'], seconds: undefined });
  });

  it('the next attempt is claimed where its executor may, and queued otherwise', async () => {
    expect(await end({ conclusion: again(0), claims: true })).toMatchObject({ next: 'claimed', queued: [] });
    for (const more of [{}, { claims: false }])
      expect(await end({ conclusion: again(0), ...more })).toMatchObject({
        next: 'queued',
        queued: [[ticket, { delayMs: 0 }]],
        counted: ['disrupted'],
      });
  });

  it('an attempt that waits is queued with its delay and never claimed', async () => {
    expect(await end({ conclusion: again(2_000, true), claims: true })).toMatchObject({
      next: 'queued',
      queued: [[ticket, { delayMs: 2_000 }]],
      counted: ['retried'],
    });
  });

  it('a queue that is away leaves the next attempt to the sweeper', async () => {
    const { next, lines } = await end({ conclusion: again(0), isQueueAway: true });
    expect(next).toBe('queued');
    expect(lines.map((line) => JSON.parse(line))).toMatchObject([
      { msg: 'ticket not added, the sweeper adds it', job_id: job.id, err: { message: 'the queue is away' } },
    ]);
  });
});

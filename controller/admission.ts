import { setTimeout as sleep } from 'node:timers/promises';
import type { QueueName } from '#domain/jobs/routing.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { type SpanSettings, withSpan } from '#platform/telemetry/tracing.ts';
import type { Executor } from './executor.ts';

export interface AdmissionDependencies {
  readonly jobs: Pick<JobStore, 'claim' | 'nextAttempt'>;
  readonly queue: TicketQueue;
  readonly executor: Executor;
  readonly log: Logger;
}

/** What `run` could not begin waits this long; the executor's own trouble (a full disk, an API server away) passes. */
const handOverRetryMs = 5_000;
const troublePauseMs = { first: 200, max: 5_000 };

/**
 * Admission of one queue: tickets become running work.
 *
 * One ticket at a time, and only while the executor has a free slot, so that a ticket never waits in a worker that
 * cannot serve it. A ticket is short: claim the row, hand the job over, let the ticket go. A crash before the claim
 * leaves a ticket that comes back; a crash after it leaves a lease that lapses. An error leaves the ticket where it is.
 */
export function admissionComponent(queueName: QueueName, d: AdmissionDependencies): Component {
  const name = `admission of ${queueName}`;
  const stopping = new AbortController();
  let ended = Promise.resolve();
  return {
    name,
    start() {
      const log = d.log.child({ component: name });
      ended = admitUntil(queueName, { ...d, log }, stopping.signal);
      return Promise.resolve();
    },
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

async function admitUntil(queueName: QueueName, d: AdmissionDependencies, signal: AbortSignal): Promise<void> {
  const reader = d.queue.reader(queueName);
  let pauseMs = troublePauseMs.first;
  while (!signal.aborted) {
    try {
      await d.executor.whenFree(queueName, signal);
      const taken = await reader.next(signal);
      if (taken === null) continue;
      const { ticket } = taken;
      await withSpan('admission', spanOf(ticket), () => admit(ticket, d));
      await taken.done();
      pauseMs = troublePauseMs.first;
    } catch (error) {
      if (signal.aborted) break;
      d.log.error({ err: error, queue: queueName }, 'a ticket could not be admitted; it comes back');
      await sleep(pauseMs, undefined, { signal }).catch(() => undefined);
      pauseMs = Math.min(troublePauseMs.max, pauseMs * 2);
    }
  }
  await reader.close().catch((error: unknown) => d.log.warn({ err: error }, 'the ticket reader did not close'));
}

/** The admission in the trace of the request that made the job. */
function spanOf({ jobId, attempt, queue, trace }: Ticket): SpanSettings {
  const attributes = { 'job.id': jobId, 'job.attempt': attempt, 'job.queue': queue };
  return { parent: trace, kind: 'consumer', attributes };
}

/** Claims the ticket's attempt and hands it over. Nothing to claim is no error: the attempt is over, or another's. */
async function admit(ticket: Ticket, d: AdmissionDependencies): Promise<void> {
  const { jobId, attempt } = ticket;
  const { owner, durationMs: leaseMs } = d.executor.lease;
  const job = await d.jobs.claim({ jobId, attempt, owner, leaseMs });
  if (job === null) {
    d.log.debug({ job_id: jobId, attempt }, 'nothing to admit: the attempt is over or somebody else has it');
    return;
  }
  try {
    await d.executor.run(job);
  } catch (error) {
    d.log.error({ err: error, job_id: jobId, attempt }, 'the executor could not take the job; it is tried again');
    const next = await d.jobs.nextAttempt({ jobId, attempt, countsAsFailure: false, delayMs: handOverRetryMs });
    if (next !== null) await d.queue.add(next, { delayMs: handOverRetryMs });
  }
}

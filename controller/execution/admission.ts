import { delayAfter } from '#domain/backoff.ts';
import type { QueueName } from '#domain/jobs/routing.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { pause } from '#platform/lifecycle/backoff.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { TakenTicket, TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { withSpan } from '#platform/telemetry/tracing.ts';
import type { Executor } from './executor.ts';
import { observeWait, type WaitMetrics } from './observe-wait.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';

export interface AdmissionDependencies {
  readonly jobs: Pick<JobStore, 'claim' | 'giveBack'>;
  readonly queue: TicketQueue;
  readonly executor: Executor;
  /** Admission pauses while the object storage is away. */
  readonly storageWatch: { readonly isAway: boolean; whenAvailable(signal: AbortSignal): Promise<void> };
  readonly metrics: WaitMetrics;
  readonly log: Logger;
}

/** The delay before a job that `run` could not start is tried again (a full disk, an API server that is away). */
const startRetryMs = 5_000;
const errorBackoff = { baseMs: 200, maxMs: 5_000 };

/**
 * Admission of one queue: tickets become running work.
 *
 * Takes one ticket at a time, and only while the executor has a free slot: claim the row, start the attempt, delete the
 * ticket. A crash before the claim leaves a ticket that the queue delivers again; a crash after it leaves a lease that
 * lapses. After an error the ticket stays in the queue.
 */
export function admissionComponent(queueName: QueueName, dependencies: AdmissionDependencies): Component {
  const name = `admission of ${queueName}`;
  const stopping = new AbortController();
  let ended = Promise.resolve();
  return {
    name,
    start() {
      const log = dependencies.log.child({ component: name });
      ended = admitUntil(queueName, { ...dependencies, log }, stopping.signal);
      return Promise.resolve();
    },
    async stop() {
      stopping.abort();
      await ended;
    },
  };
}

async function admitUntil(
  queueName: QueueName,
  dependencies: AdmissionDependencies,
  signal: AbortSignal,
): Promise<void> {
  const { queue, executor, storageWatch, log } = dependencies;
  const reader = queue.reader(queueName);
  let failures = 0;
  while (!signal.aborted) {
    try {
      await storageWatch.whenAvailable(signal);
      await executor.whenFree(queueName, signal);
      const taken = await reader.next(signal);
      if (taken === null) continue;
      await admitInTurn(queueName, taken, dependencies);
      failures = 0;
    } catch (error) {
      if (signal.aborted) break;
      log.error({ err: error, queue: queueName }, 'ticket admission failed');
      failures += 1;
      await pause(delayAfter(failures, errorBackoff), signal);
    }
  }
  await reader.close().catch((error: unknown) => log.warn({ err: error }, 'ticket reader close failed'));
}

/**
 * Begins a job where the ticket says that some wait: the job of the ticket, or the first of a key whose turn comes
 * before, after which the ticket is the next one again. A job that gave its slot up goes before those of its key that
 * have not begun.
 */
async function admitInTurn(queueName: QueueName, taken: TakenTicket, dependencies: AdmissionDependencies) {
  const { queue, executor } = dependencies;
  const { ticket } = taken;
  const pool = executor.poolOf(ticket);
  for (const first of await executor.turns.order(pool, ticket)) {
    if (executor.turns.holders.resume(pool, first.key)) break;
    // The slot may be gone meanwhile: to a batch for a key that comes before.
    if (executor.freeSlots(queueName) === 0) break;
    if (first.key === (ticket.keyId ?? '')) {
      const outcome = await admitTraced(ticket, dependencies);
      await taken.done();
      // Only now: while the ticket is taken, the queue ignores another one of the same attempt.
      if (typeof outcome === 'object') await queue.add(outcome, { delayMs: startRetryMs });
      return;
    }
    if (first.ticket === null) continue;
    const outcome = await admitTraced(first.ticket, dependencies);
    if (outcome === 'left') continue;
    executor.turns.forget(pool, first.key);
    if (outcome === 'gone') continue;
    await replaceTicket(first.ticket, outcome, queue);
    break;
  }
  await taken.putBack();
}

/** Removes the ticket of a job that was begun without it: it would be dropped, but counts as waiting until it comes. */
async function replaceTicket(ticket: Ticket, outcome: Ticket | 'begun', queue: TicketQueue): Promise<void> {
  await queue.remove(ticket);
  if (outcome !== 'begun') await queue.add(outcome, { delayMs: startRetryMs });
}

/** Admission past the queue, for jobs with slots of their own. */
export function admissionPastQueueTask(dependencies: AdmissionDependencies): PeriodicTask {
  const { queue, executor, storageWatch } = dependencies;
  const work = async () => {
    if (storageWatch.isAway) return;
    // Each that begins takes a slot.
    for (let begun = true; begun;) {
      begun = false;
      for (const ticket of await executor.ticketsPastQueue()) {
        const outcome = await admitTraced(ticket, dependencies);
        executor.turns.forget(executor.poolOf(ticket), ticket.keyId ?? '');
        if (outcome === 'begun') begun = true;
        await replaceTicket(ticket, typeof outcome === 'object' ? outcome : 'begun', queue);
      }
    }
  };
  return { name: 'admission past the queue', work };
}

/**
 * The outcome of a ticket: its attempt has begun; the executor will claim it itself; it has ended or is claimed
 * already; or the ticket of an attempt that could not be started.
 */
type Outcome = 'begun' | 'left' | 'gone' | Ticket;

/** The admission in the trace of the request that made the job. */
function admitTraced(ticket: Ticket, dependencies: AdmissionDependencies): Promise<Outcome> {
  const { jobId, attempt, queue, trace } = ticket;
  const attributes = { 'job.id': jobId, 'job.attempt': attempt, 'job.queue': queue };
  return withSpan('admission', { parent: trace, kind: 'consumer', attributes }, () => admit(ticket, dependencies));
}

/** Claims the ticket's attempt and starts it, unless the executor will claim it itself. */
async function admit(ticket: Ticket, { jobs, executor, metrics, log }: AdmissionDependencies): Promise<Outcome> {
  const { jobId, attempt } = ticket;
  if (!(await executor.admits(ticket))) return 'left';
  const { owner, durationMs: leaseMs } = executor.lease;
  const job = await jobs.claim({ jobId, attempt, owner, leaseMs });
  if (job === null) {
    log.debug({ job_id: jobId, attempt }, 'ticket dropped: attempt ended or claimed');
    return 'gone';
  }
  executor.turns.claimed(executor.poolOf(ticket), job);
  try {
    await executor.run(job);
    observeWait(metrics, job);
    return 'begun';
  } catch (error) {
    log.error({ err: error, job_id: jobId, attempt, retry_in_ms: startRetryMs }, 'attempt could not be started');
    return (await jobs.giveBack({ jobId, attempt, delayMs: startRetryMs })) ?? 'gone';
  }
}

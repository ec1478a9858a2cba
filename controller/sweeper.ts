import type { Ticket } from '#domain/jobs/ticket.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { periodicComponent } from './periodic-component.ts';

export interface SweeperDependencies {
  readonly jobs: Pick<JobStore, 'releaseLapsed' | 'withoutTicket'>;
  readonly queue: Pick<TicketQueue, 'add'>;
  readonly log: Logger;
  readonly clock: () => Date;
  /** How often it looks. */
  readonly everyMs: number;
  /** How long a lease holds. */
  readonly leaseMs: number;
  /** A waiting job's ticket that was added longer ago than this is added again; the queue ignores those it has. */
  readonly ticketAgeMs: number;
}

const ticketsAtOnce = 500;

/**
 * Once the database answers again, workers get this long to renew the leases that lapsed while it was away: their work
 * went on meanwhile, and is worth more than a quick start of the next attempt.
 */
const settleMsMax = 5_000;

/**
 * The sweeper brings back what a crash or a wiped queue has left behind: leases that lapsed become the next attempt of
 * their job, and jobs that wait without a ticket get one. Any number of sweepers may run; what one sees, the others
 * pass over. A crash of the sweeper leaves less swept, and the next round goes on.
 */
export function sweeperComponent(d: SweeperDependencies): Component {
  let answersSince: number | null = null;
  const work = async (signal: AbortSignal) => {
    try {
      await addAll(await d.jobs.withoutTicket({ olderThanMs: d.ticketAgeMs, limit: ticketsAtOnce }), d);
      answersSince ??= performance.now();
      const isSettled = performance.now() - answersSince >= Math.min(settleMsMax, d.leaseMs);
      if (isSettled && !signal.aborted) await releaseLapsed(d);
    } catch (error) {
      answersSince = null;
      throw error;
    }
  };
  return periodicComponent({ name: 'sweeper', everyMs: d.everyMs, log: d.log, work });
}

async function releaseLapsed(d: SweeperDependencies): Promise<void> {
  const lapsed = await d.jobs.releaseLapsed(d.clock());
  for (const { jobId, attempt } of lapsed)
    d.log.warn({ job_id: jobId, attempt }, 'a worker has vanished; the next attempt of its job may begin');
  await addAll(lapsed, d);
}

/** A ticket that cannot be added now is without one in a later round, too. */
async function addAll(tickets: readonly Ticket[], d: SweeperDependencies): Promise<void> {
  const added = await Promise.allSettled(tickets.map((ticket) => d.queue.add(ticket)));
  const failed = added.filter((result) => result.status === 'rejected');
  if (failed.length > 0)
    d.log.warn({ err: failed[0]?.reason as unknown, count: failed.length }, 'tickets could not be added');
}

import type { Ticket } from '#domain/jobs/ticket.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import { lapsedAtOnce } from '#platform/postgres/job-attempts.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { periodicComponent } from '#platform/lifecycle/periodic-component.ts';
import { inPages } from './due-rows.ts';

export interface SweeperDependencies {
  readonly jobs: Pick<JobStore, 'releaseLapsed' | 'releaseHeld' | 'withoutTicket'>;
  readonly queue: Pick<TicketQueue, 'add'>;
  readonly log: Logger;
  /** The pause between two rounds. */
  readonly everyMs: number;
  /** How long a lease holds. */
  readonly leaseMs: number;
  /** A waiting job's ticket that is older than this is added again; the queue ignores tickets that it has. */
  readonly ticketAgeMs: number;
}

const ticketsAtOnce = 500;

/**
 * Once the database answers again, workers have this long to renew the leases that lapsed during the outage, since
 * their work continued meanwhile.
 */
const renewalGraceMsMax = 5_000;

/**
 * The sweeper repairs what a crash or a wiped queue leaves: a lapsed lease becomes the next attempt of its job, and a
 * waiting job without a ticket gets one. It also releases jobs that wait for quotas of their keys. Any number of
 * sweepers may run; each row is handled by one of them.
 */
export function sweeperComponent(dependencies: SweeperDependencies): Component {
  const { jobs, log, everyMs, leaseMs, ticketAgeMs } = dependencies;
  let answersSince: number | null = null;
  const work = async (signal: AbortSignal) => {
    try {
      await addAll(await jobs.releaseHeld(), dependencies);
      await addAll(await jobs.withoutTicket({ olderThanMs: ticketAgeMs, limit: ticketsAtOnce }), dependencies);
      answersSince ??= performance.now();
      const isGraceOver = performance.now() - answersSince >= Math.min(renewalGraceMsMax, leaseMs);
      if (isGraceOver) await inPages(() => releaseLapsed(dependencies), signal, lapsedAtOnce);
    } catch (error) {
      answersSince = null;
      throw error;
    }
  };
  return periodicComponent({ name: 'sweeper', everyMs, log, work });
}

async function releaseLapsed(dependencies: SweeperDependencies): Promise<number> {
  const { jobs, log } = dependencies;
  const lapsed = await jobs.releaseLapsed();
  for (const { jobId, attempt } of lapsed) log.warn({ job_id: jobId, attempt }, 'lapsed lease released');
  await addAll(lapsed, dependencies);
  return lapsed.length;
}

/** A job whose ticket cannot be added is found again in a later round. */
async function addAll(tickets: readonly Ticket[], { queue, log }: SweeperDependencies): Promise<void> {
  const added = await Promise.allSettled(tickets.map((ticket) => queue.add(ticket)));
  const failed = added.filter((result) => result.status === 'rejected');
  if (failed.length > 0) log.warn({ err: failed[0]?.reason as unknown, count: failed.length }, 'ticket add failed');
}

import type { TraceContext } from '#domain/jobs/job.ts';
import type { Database } from './database.ts';
import { dueRowsOf } from './due-kinds.ts';
import { claimDue, claimText, clock, isDue } from './due-work.ts';
import { lockedInOrder } from './row-locks.ts';

/** An event whose next attempt is due. */
export interface DueWebhookEvent {
  /** UUID; `webhook-id`. */
  readonly id: string;
  /** Null for an event of the operator's own, to `PURGE_HOOK_URL`, and for a test. */
  readonly jobId: string | null;
  /** Whether it only tries a receiver that a caller named: it has one attempt. */
  readonly isTest: boolean;
  readonly url: string;
  /** The exact bytes to sign and send. */
  readonly body: string;
  readonly trace: TraceContext | null;
  /** Host and port of `url`, which count as one receiver. */
  readonly host: string;
  /** The delivery, from 1; each redelivery is the next one. */
  readonly delivery: number;
  /** The attempt of this delivery that is due, from 1. */
  readonly attempt: number;
  /** For how long it has been due, by the database's clock. */
  readonly overdueMs: number;
}

/** A host with an event that is due. */
interface DueHost {
  readonly host: string;
  /** For how long its first event has been due, by the database's clock. */
  readonly overdueMs: number;
}

/** Part of the hosts in the order of their names. */
interface DueHosts {
  /** The longest due first. */
  readonly hosts: readonly DueHost[];
  /** After which host the next call goes on; empty after the last. */
  readonly next: string;
}

interface TakeOptions {
  /** The most events of each host. */
  readonly requests: ReadonlyMap<string, number>;
  /** How long the events are reserved for the caller: longer than an attempt takes. Default 60 s. */
  readonly reservedMs?: number;
  /** For tests; by default the database's clock. */
  readonly now?: Date | null;
}

/** The result of one attempt to deliver an event. */
export interface WebhookAttempt {
  readonly eventId: string;
  readonly delivery: number;
  readonly attempt: number;
  readonly startedAt: Date;
  readonly durationMs: number;
  /** Null when no answer came. */
  readonly statusCode: number | null;
  /** Why it failed, for people; null when it was delivered. */
  readonly error: string | null;
  /** `sent`: delivered. `failed`: that was the last attempt. Else the delay before the next attempt. */
  readonly next: 'sent' | 'failed' | { readonly inMs: number };
  /** For tests; by default the database's clock. */
  readonly now?: Date;
}

interface EventRow {
  readonly id: string;
  readonly job_id: string | null;
  readonly is_test: boolean;
  readonly url: string;
  readonly body: string;
  readonly trace: TraceContext | null;
  readonly host: string;
  readonly deliveries: number;
  readonly attempts: number;
  readonly overdue_ms: number;
}

/** The most events of one host that one statement takes or gives up. */
const ofHostMax = 1_000;
/** Events of a host that does not answer are given up after this time. */
const overdueMsMax = 86_400_000;

// From host to host by the index (host, next_attempt_at): the events of one host are not read to find the next.
const dueHosts = `
  with recursive pending (host) as (
    (select host from webhook_events where next_attempt_at is not null and host > $4 order by host limit 1)
    union all
    select (
      select host from webhook_events where next_attempt_at is not null and host > pending.host order by host limit 1
    ) from pending where pending.host is not null
  )
  select examined.host, (extract(epoch from ${clock} - first.next_attempt_at) * 1000)::float8 as overdue_ms
  from (select host from pending where host is not null limit $1) as examined left join lateral (
    select next_attempt_at from webhook_events where host = examined.host and ${isDue(dueRowsOf.webhook)}
    order by next_attempt_at limit 1
  ) as first on true`;
const take = claimText('webhook', {
  fairBy: 'host',
  returning: `id, job_id, is_test, url, host, body, trace, deliveries, attempts,
    (extract(epoch from ${clock} - next_attempt_at) * 1000)::float8 as overdue_ms`,
});
const ended = claimText('webhook', {
  fairBy: 'host',
  isEnd: true,
  set: 'next_attempt_at = null, held_until = null, failed_at = now()',
  returning: 'job_id, is_additional',
});
const giveUp = `
  with ended as (${ended})
  update jobs set callback_status = 'callback_failed'
  where ${lockedInOrder('jobs', 'id in (select job_id from ended where not is_additional)')}`;

// By the primary keys of both tables, row by row: as many attempts are read, however many there are.
const lastAttempts = `
  select distinct on (host) host, status_code is not null as is_answered, duration_ms
  from (select id, event_id, status_code, duration_ms from webhook_attempts order by id desc limit $1) as attempt
    cross join lateral (select host from webhook_events where id = attempt.event_id limit 1) as event
  where host is not null order by host, attempt.id desc`;

const insertAttempt = `
  insert into webhook_attempts (event_id, attempt, started_at, duration_ms, status_code, error)
  values ($1, $2, $3, $4, $5, $6)`;

// Guarded by delivery and attempt: a sender that was so slow that another took its event changes nothing.
const updateEvent = `
  update webhook_events set attempts = $3, held_until = null,
    next_attempt_at = coalesce($5, now()) + $4 * interval '1 millisecond',
    failed_at = case when $6 then coalesce($5, now()) end
  where id = $1 and deliveries = $2 and attempts = $3 - 1 and next_attempt_at is not null
  returning job_id, is_additional`;

/** Webhook events: written by `JobStore.finish`, delivered by the sender. */
export class WebhookEventStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** How the last attempt at each host came out, of the last `limit` attempts. */
  async lastAttempts(limit: number): Promise<{ host: string; isAnswered: boolean; durationMs: number }[]> {
    const { rows } = await this.#database.pool.query<{ host: string; is_answered: boolean; duration_ms: number }>(
      lastAttempts,
      [limit],
    );
    return rows.map((row) => ({ host: row.host, isAnswered: row.is_answered, durationMs: row.duration_ms }));
  }

  /** Which hosts have events that are due, of `limit` hosts with events that are to be sent, after the host `after`. */
  async dueHosts({ after, limit, now = null }: { after: string; limit: number; now?: Date | null }): Promise<DueHosts> {
    const page = { limit, now };
    const rows = await claimDue<{ host: string; overdue_ms: number | null }>(this.#database, dueHosts, page, after);
    const hosts = rows.flatMap(({ host, overdue_ms: overdueMs }) => (overdueMs === null ? [] : [{ host, overdueMs }]));
    return {
      hosts: hosts.toSorted((one, other) => other.overdueMs - one.overdueMs),
      next: rows.length === limit ? (rows.at(-1)?.host ?? '') : '',
    };
  }

  /**
   * Due events of these hosts, the longest due of each first. They are reserved for the caller until they are recorded
   * or `reservedMs` have passed.
   */
  async take({ requests, reservedMs = 60_000, now = null }: TakeOptions): Promise<DueWebhookEvent[]> {
    const each = [[...requests.keys()], [...requests.values()]];
    const page = { limit: ofHostMax, now };
    const rows = await claimDue<EventRow>(this.#database, take, page, ...each, reservedMs);
    return rows.map((row) => ({
      id: row.id,
      jobId: row.job_id,
      isTest: row.is_test,
      url: row.url,
      body: row.body,
      trace: row.trace,
      host: row.host,
      delivery: row.deliveries,
      attempt: row.attempts + 1,
      overdueMs: row.overdue_ms,
    }));
  }

  /**
   * Ends deliveries to a host that does not answer, whose attempt has been due for a day: `callback_failed`. At most
   * 1000 at once; returns their number.
   */
  async giveUp(host: string, now: Date | null = null): Promise<number> {
    const parameters = [ofHostMax, overdueMsMax, now, [host], [ofHostMax]];
    return (await this.#database.pool.query(giveUp, parameters)).rowCount ?? 0;
  }

  /** Keeps the attempt, and moves the event and the job's `callback_status` on, in one transaction. */
  recordAttempt(attempt: WebhookAttempt): Promise<void> {
    const { next } = attempt;
    return this.#database.transaction(async (client) => {
      await client.query(insertAttempt, [
        attempt.eventId,
        attempt.attempt,
        attempt.startedAt,
        Math.round(attempt.durationMs),
        attempt.statusCode,
        attempt.error,
      ]);
      const { rows } = await client.query<{ job_id: string; is_additional: boolean }>(updateEvent, [
        attempt.eventId,
        attempt.delivery,
        attempt.attempt,
        typeof next === 'string' ? null : next.inMs,
        attempt.now ?? null,
        next === 'failed',
      ]);
      if (rows[0] === undefined || rows[0].is_additional || typeof next !== 'string') return;
      const status = next === 'sent' ? 'sent' : 'callback_failed';
      await client.query('update jobs set callback_status = $2 where id = $1', [rows[0].job_id, status]);
    });
  }
}

import type { TraceContext } from '#domain/jobs/job.ts';
import type { Database } from './database.ts';

/** An event whose next attempt is due. */
export interface DueWebhookEvent {
  /** UUID; `webhook-id`. */
  readonly id: string;
  readonly jobId: string;
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

interface DueOptions {
  /** The most events to return. */
  readonly limit: number;
  /** How long the events are held for the caller: longer than an attempt takes. Default 60 s. */
  readonly holdMs?: number;
  /** The most requests to one host, those under way included. No limit by default. */
  readonly requestsPerHostMax?: number;
  /** The caller's requests under way by host. */
  readonly requestsUnderWay?: ReadonlyMap<string, number>;
  /** For tests; by default the database's clock. */
  readonly now?: Date;
}

/** What one attempt to deliver an event came to. */
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
  readonly job_id: string;
  readonly url: string;
  readonly body: string;
  readonly trace: TraceContext | null;
  readonly host: string;
  readonly deliveries: number;
  readonly attempts: number;
  readonly overdue_ms: number;
}

// A host's due events are ranked before any is locked, since a window function cannot be combined with row locks. The
// rows are checked again under their locks, as another sender may have taken them meanwhile.
const isDue = `next_attempt_at <= coalesce($1, now()) and (held_until is null or held_until <= coalesce($1, now()))`;
const hostOfUrl = `lower(substring(url from '://([^/?#]*)'))`;
const due = `
  with waiting as (
    select id, ${hostOfUrl} as host, next_attempt_at from webhook_events
    where ${isDue} and not ${hostOfUrl} = any($4::text[])
    order by next_attempt_at limit 1000
  ), ranked as (
    select id, host, row_number() over (partition by host order by next_attempt_at) + coalesce(requests, 0) as place
    from waiting left join unnest($5::text[], $6::int[]) as busy (host, requests) using (host)
  ), taken as (
    select webhook_events.id, host from webhook_events join ranked using (id)
    where place <= $7 and ${isDue}
    order by next_attempt_at limit $2 for update of webhook_events skip locked
  )
  update webhook_events set held_until = coalesce($1, now()) + $3 * interval '1 millisecond'
  from taken where webhook_events.id = taken.id
  returning webhook_events.id, job_id, url, host, body, trace, deliveries, attempts,
    (extract(epoch from coalesce($1, now()) - next_attempt_at) * 1000)::float8 as overdue_ms`;

const insertAttempt = `
  insert into webhook_attempts (event_id, attempt, started_at, duration_ms, status_code, error)
  values ($1, $2, $3, $4, $5, $6)`;

// Guarded by delivery and attempt: a sender that was so slow that another took its event changes nothing.
const updateEvent = `
  update webhook_events set attempts = $3, held_until = null,
    next_attempt_at = coalesce($5, now()) + $4 * interval '1 millisecond'
  where id = $1 and deliveries = $2 and attempts = $3 - 1 and next_attempt_at is not null
  returning job_id`;

/** Webhook events: written by `JobStore.finish`, delivered by the sender. */
export class WebhookEventStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Events whose attempt is due, the longest due first. Each is held for the caller: no other sender gets it until it
   * is recorded or `holdMs` have passed.
   */
  async due(options: DueOptions): Promise<DueWebhookEvent[]> {
    const { limit, holdMs = 60_000, requestsPerHostMax = limit, requestsUnderWay = new Map(), now = null } = options;
    const busy = [...requestsUnderWay];
    const saturated = busy.filter(([, requests]) => requests >= requestsPerHostMax).map(([host]) => host);
    const [hosts, requests] = [busy.map(([host]) => host), busy.map(([, count]) => count)];
    const parameters = [now, limit, holdMs, saturated, hosts, requests, requestsPerHostMax];
    const { rows } = await this.#database.pool.query<EventRow>(due, parameters);
    return rows.map((row) => ({
      id: row.id,
      jobId: row.job_id,
      url: row.url,
      body: row.body,
      trace: row.trace,
      host: row.host,
      delivery: row.deliveries,
      attempt: row.attempts + 1,
      overdueMs: row.overdue_ms,
    }));
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
      const { rows } = await client.query<{ job_id: string }>(updateEvent, [
        attempt.eventId,
        attempt.delivery,
        attempt.attempt,
        typeof next === 'string' ? null : next.inMs,
        attempt.now ?? null,
      ]);
      if (rows[0] === undefined || typeof next !== 'string') return;
      const status = next === 'sent' ? 'sent' : 'callback_failed';
      await client.query('update jobs set callback_status = $2 where id = $1', [rows[0].job_id, status]);
    });
  }
}

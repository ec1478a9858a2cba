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
  /** The attempt that is due, from 1. */
  readonly attempt: number;
}

/** What one attempt to deliver an event came to. */
export interface WebhookAttempt {
  readonly eventId: string;
  readonly attempt: number;
  readonly startedAt: Date;
  readonly durationMs: number;
  /** Null when no answer came. */
  readonly statusCode: number | null;
  /** Why it failed, for people; null when it was delivered. */
  readonly error: string | null;
  /** `sent`: delivered. `failed`: given up. Else when to try again. */
  readonly next: 'sent' | 'failed' | { readonly at: Date };
}

interface EventRow {
  readonly id: string;
  readonly job_id: string;
  readonly url: string;
  readonly body: string;
  readonly trace: TraceContext | null;
  readonly attempts: number;
}

const due = `
  with due as (
    select id from webhook_events
    where next_attempt_at <= $1 and (held_until is null or held_until <= $1)
    order by next_attempt_at limit $2 for update skip locked
  )
  update webhook_events set held_until = $1::timestamptz + $3 * interval '1 millisecond'
  from due where webhook_events.id = due.id
  returning webhook_events.id, job_id, url, body, trace, attempts`;

const insertAttempt = `
  insert into webhook_attempts (event_id, attempt, started_at, duration_ms, status_code, error)
  values ($1, $2, $3, $4, $5, $6)`;

// Guarded by the attempt: a sender that was too slow, and whose event another took, changes nothing.
const updateEvent = `
  update webhook_events set attempts = $2, next_attempt_at = $3, held_until = null
  where id = $1 and attempts = $2 - 1 and next_attempt_at is not null
  returning job_id`;

/** Webhook events: written by `JobStore.finish`, delivered by the sender. */
export class WebhookEventStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /**
   * Events whose attempt is due at `now`, at most `limit`, the longest due first. Each is held for the caller for
   * `holdMs` (longer than an attempt takes): no other sender gets it until it is recorded or the time is over.
   */
  async due(now: Date, limit: number, holdMs = 60_000): Promise<DueWebhookEvent[]> {
    const { rows } = await this.#database.pool.query<EventRow>(due, [now, limit, holdMs]);
    return rows.map((row) => ({
      id: row.id,
      jobId: row.job_id,
      url: row.url,
      body: row.body,
      trace: row.trace,
      attempt: row.attempts + 1,
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
      const nextAttemptAt = typeof next === 'string' ? null : next.at;
      const { rows } = await client.query<{ job_id: string }>(updateEvent, [
        attempt.eventId,
        attempt.attempt,
        nextAttemptAt,
      ]);
      if (rows[0] === undefined || typeof next !== 'string') return;
      const status = next === 'sent' ? 'sent' : 'callback_failed';
      await client.query('update jobs set callback_status = $2 where id = $1', [rows[0].job_id, status]);
    });
  }
}

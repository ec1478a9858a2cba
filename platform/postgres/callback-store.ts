import type { CallbackStatus } from '#domain/jobs/status.ts';
import type { Database } from './database.ts';

/** One attempt to deliver a webhook. */
export interface CallbackAttempt {
  /** From 1, for each delivery. */
  readonly attempt: number;
  readonly startedAt: Date;
  readonly durationMs: number;
  /** Null when no answer came. */
  readonly statusCode: number | null;
  /** Why it failed; null when it was delivered. */
  readonly error: string | null;
}

/** The webhook of a job. */
export interface Callback {
  /** UUID; `webhook-id`. */
  readonly eventId: string;
  readonly url: string;
  readonly status: CallbackStatus | null;
  /** When the next attempt is due; null once the delivery has ended. */
  readonly nextAttemptAt: Date | null;
  readonly createdAt: Date;
  /** The bytes that each attempt sends. */
  readonly body: string;
  /** The attempts of all deliveries, the oldest first; at most the latest 100. */
  readonly attempts: readonly CallbackAttempt[];
}

interface EventRow {
  readonly id: string;
  readonly url: string;
  readonly callback_status: CallbackStatus | null;
  readonly next_attempt_at: Date | null;
  readonly created_at: Date;
  readonly body: string;
}

interface AttemptRow {
  readonly attempt: number;
  readonly started_at: Date;
  readonly duration_ms: number;
  readonly status_code: number | null;
  readonly error: string | null;
}

const sql = {
  event: `
    select webhook_events.id, url, callback_status, next_attempt_at, webhook_events.created_at, body
    from webhook_events join jobs on jobs.id = job_id where job_id = $1 and not is_additional`,
  attempts: `
    select attempt, started_at, duration_ms, status_code, error from (
      select * from webhook_attempts where event_id = $1 order by id desc limit 100
    ) latest order by id`,
  lock: `
    select webhook_events.id, next_attempt_at from webhook_events where job_id = $1 and not is_additional for update`,
  begin: `
    update webhook_events set deliveries = deliveries + 1, attempts = 0, next_attempt_at = now(), held_until = null,
      failed_at = null
    where id = $1`,
  insertTest: `
    insert into webhook_events (id, url, body, next_attempt_at, is_test) values ($1, $2, $3, now(), true)`,
  test: `
    select url, next_attempt_at as "nextAttemptAt", failed_at as "failedAt" from webhook_events
    where id = $1 and is_test`,
  pending: `update jobs set callback_status = 'pending' where id = $1`,
} as const;

/** An event that only tries a receiver. */
export interface WebhookTest {
  readonly url: string;
  readonly status: 'pending' | 'sent' | 'failed';
  /** Null before. */
  readonly attempt: CallbackAttempt | null;
}

/** The webhooks of jobs as callers see them; `WebhookEventStore` is the sender's side. Job ids are UUIDs. */
export class CallbackStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** Null for a job that has no event: it is not final, or has no `callback_url`. */
  async find(jobId: string): Promise<Callback | null> {
    const { rows } = await this.#database.pool.query<EventRow>(sql.event, [jobId]);
    const [event] = rows;
    if (event === undefined) return null;
    return {
      eventId: event.id,
      url: event.url,
      status: event.callback_status,
      nextAttemptAt: event.next_attempt_at,
      createdAt: event.created_at,
      body: event.body,
      attempts: await this.#attemptsOf(event.id),
    };
  }

  /** The attempts of an event, the oldest first. */
  async #attemptsOf(eventId: string): Promise<CallbackAttempt[]> {
    const { rows } = await this.#database.pool.query<AttemptRow>(sql.attempts, [eventId]);
    return rows.map((row) => ({
      attempt: row.attempt,
      startedAt: row.started_at,
      durationMs: row.duration_ms,
      statusCode: row.status_code,
      error: row.error,
    }));
  }

  /** Has the sender try a receiver once, with bytes that are signed like those of a job. `eventId`: a UUID. */
  async insertTest({ eventId, url, body }: { eventId: string; url: string; body: string }): Promise<void> {
    await this.#database.pool.query(sql.insertTest, [eventId, url, body]);
  }

  /** Null for an event that is none or was removed, as they are after a while. */
  async findTest(eventId: string): Promise<WebhookTest | null> {
    const { rows } = await this.#database.pool.query<{
      url: string;
      nextAttemptAt: Date | null;
      failedAt: Date | null;
    }>(sql.test, [eventId]);
    const [event] = rows;
    if (event === undefined) return null;
    const { url, nextAttemptAt, failedAt } = event;
    const status = nextAttemptAt !== null ? 'pending' : failedAt === null ? 'sent' : 'failed';
    return { url, status, attempt: (await this.#attemptsOf(eventId)).at(-1) ?? null };
  }

  /**
   * Begins a new delivery of the same event, with all its attempts before it, and puts `callback_status` back to
   * `pending`. `under_way` while a delivery has attempts left: two would mix their counts.
   */
  redeliver(jobId: string): Promise<'begun' | 'not_found' | 'under_way'> {
    return this.#database.transaction(async (client) => {
      const { rows } = await client.query<Pick<EventRow, 'id' | 'next_attempt_at'>>(sql.lock, [jobId]);
      const [event] = rows;
      if (event === undefined) return 'not_found';
      if (event.next_attempt_at !== null) return 'under_way';
      await client.query(sql.begin, [event.id]);
      await client.query(sql.pending, [jobId]);
      return 'begun';
    });
  }
}

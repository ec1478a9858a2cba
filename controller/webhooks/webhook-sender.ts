import { afterDelivery } from '#domain/webhooks/delivery.ts';
import { Receivers } from '#domain/webhooks/receivers.ts';
import { webhookSignatureHeaders } from '#domain/webhooks/signature.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import { OutboundError } from '#platform/outbound-http/checked-addresses.ts';
import { type OutboundAnswer, postOutbound } from '#platform/outbound-http/outbound-http.ts';
import type { DueWebhookEvent, WebhookEventStore } from '#platform/postgres/webhook-event-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { traceIdOf } from '#platform/telemetry/trace-context.ts';
import { withSpan } from '#platform/telemetry/tracing.ts';
import { workInSlots } from '../upkeep/due-rows.ts';

export interface WebhookDependencies {
  readonly events: Pick<WebhookEventStore, 'dueHosts' | 'take' | 'giveUp' | 'lastAttempts' | 'recordAttempt'>;
  readonly metrics: Pick<Metrics, 'webhookAttempts' | 'webhookDelay'>;
  /** `WEBHOOK_SECRET`. */
  readonly secret: string;
  /** `WEBHOOK_ALLOWED_CIDRS`. */
  readonly allowedCidrs: readonly string[];
  /** `WEBHOOK_BACKOFF`: the wait before each attempt. */
  readonly backoffMs: readonly number[];
  readonly log: Logger;
  readonly clock: () => Date;
  /** 0 ≤ random < 1. */
  readonly random: () => number;
}

/** The most that one attempt takes, DNS, TLS and the answer included (C21.10). */
const attemptTimeoutMs = 10_000;
const pollEveryMs = 500;
/** How many hosts are looked at in one round; the next one goes on from there. */
const hostsAtOnce = 1_000;
/** The number of attempts from which a sender learns at its start which hosts answer. */
const lastAttemptsMax = 10_000;
/** After this time another sender takes an event that was not recorded: twice the time of an attempt. */
const reservedMs = 20_000;

/**
 * The webhook sender works from the events table alone: an event is written in the transaction of the job's final
 * state. The sender claims due events, sends the stored bytes, and records each attempt with the time of the next. A
 * crash between sending and recording repeats the event under the same `webhook-id`; none is lost.
 */
export function webhookSenderComponent(dependencies: WebhookDependencies): Component {
  const sender = new WebhookSender(dependencies);
  const stopping = new AbortController();
  let ended = Promise.resolve();
  return {
    name: 'webhook sender',
    start() {
      ended = sender.run(stopping.signal);
      return Promise.resolve();
    },
    async stop(signal) {
      stopping.abort();
      signal.addEventListener('abort', () => sender.abort(), { once: true });
      await ended;
    },
  };
}

class WebhookSender {
  readonly #dependencies: WebhookDependencies;
  readonly #deadline = new AbortController();
  readonly #receivers = new Receivers();
  #lastHost = '';

  constructor(dependencies: WebhookDependencies) {
    this.#dependencies = dependencies;
  }

  /** Sends until `stopping` aborts; resolves when the requests under way have ended. */
  async run(stopping: AbortSignal): Promise<void> {
    await this.#learn();
    // A request that ends makes room for another of its host at once.
    const handle = (event: DueWebhookEvent) => this.#deliver(event);
    await workInSlots({ claim: () => this.#takeDue(), handle, pollEveryMs, stopping });
  }

  /** After a start nothing is known of any receiver, but by what earlier attempts left. */
  async #learn(): Promise<void> {
    const { events, log } = this.#dependencies;
    try {
      for (const { host, ...last } of await events.lastAttempts(lastAttemptsMax)) this.#receivers.learn(host, last);
    } catch (error) {
      log.warn({ err: error }, 'due webhooks query failed');
    }
  }

  /** Ends the requests under way. */
  abort(): void {
    this.#deadline.abort();
  }

  /** The events that due hosts get. */
  async #takeDue(): Promise<readonly DueWebhookEvent[]> {
    const { events, log } = this.#dependencies;
    try {
      const { hosts, next } = await events.dueHosts({ after: this.#lastHost, limit: hostsAtOnce });
      this.#lastHost = next;
      const names = hosts.map(({ host }) => host);
      const requests = this.#receivers.allot(names, performance.now());
      if (requests.size === 0) return [];
      const due = await events.take({ requests, reservedMs });
      for (const { host } of due) this.#receivers.begin(host);
      return due;
    } catch (error) {
      log.warn({ err: error }, 'due webhooks query failed');
      return [];
    }
  }

  async #deliver(event: DueWebhookEvent): Promise<void> {
    const { log } = this.#dependencies;
    const { host } = event;
    const startedAtMs = performance.now();
    let isAnswered = false;
    try {
      isAnswered = await deliver(event, this.#dependencies, this.#deadline.signal);
    } catch (error) {
      if (!this.#deadline.signal.aborted) log.error({ err: error, event_id: event.id }, 'webhook attempt not recorded');
    }
    const nowMs = performance.now();
    const failingMs = this.#receivers.end({ host, isAnswered, durationMs: nowMs - startedAtMs, nowMs });
    // Events that no sender came to try, as after a weekend without one, get what a single event would have got: a host
    // that does not answer for as long as all attempts of one event take.
    const isGivenUp = failingMs !== null && failingMs >= sum(this.#dependencies.backoffMs);
    if (isGivenUp && !this.#deadline.signal.aborted) await this.#giveUpOverdue(host);
  }

  async #giveUpOverdue(host: string): Promise<void> {
    const { events, metrics, log } = this.#dependencies;
    try {
      const count = await events.giveUp(host);
      if (count === 0) return;
      metrics.webhookAttempts.inc({ outcome: 'failed' }, count);
      log.warn({ host, count }, 'overdue webhooks given up');
    } catch (error) {
      log.warn({ err: error, host }, 'overdue webhooks not given up');
    }
  }
}

const sum = (delaysMs: readonly number[]) => delaysMs.reduce((all, delayMs) => all + delayMs, 0);

/** Makes one attempt and records it with the time of the next; whether the receiver answered. */
async function deliver(
  event: DueWebhookEvent,
  dependencies: WebhookDependencies,
  signal: AbortSignal,
): Promise<boolean> {
  const { events, metrics, clock, backoffMs, random, log } = dependencies;
  metrics.webhookDelay.observe(event.overdueMs / 1000);
  const startedAt = clock();
  const started = performance.now();
  const { statusCode, retryAfter, error } = await send(event, startedAt, { dependencies, signal });
  const next = afterDelivery({
    attempt: event.attempt,
    statusCode,
    retryAfter,
    now: clock(),
    backoffMs: event.isTest ? [0] : backoffMs,
    random: random(),
  });
  const durationMs = performance.now() - started;
  await events.recordAttempt({
    eventId: event.id,
    delivery: event.delivery,
    attempt: event.attempt,
    startedAt,
    durationMs,
    statusCode,
    error: next === 'sent' ? null : error,
    next,
  });
  metrics.webhookAttempts.inc({ outcome: typeof next === 'string' ? next : 'retried' });
  const fields = { job_id: event.jobId, event_id: event.id, attempt: event.attempt, status_code: statusCode };
  if (next === 'sent') log.info(fields, 'webhook delivered');
  else log.warn({ ...fields, error, is_last: next === 'failed' }, 'webhook attempt failed');
  return statusCode !== null;
}

const everyAddress = ['0.0.0.0/0', '::/0'];

/** The receiver's answer, or why there was none. */
interface DeliveryResult {
  readonly statusCode: number | null;
  readonly retryAfter: string | null;
  readonly error: string;
}

async function send(
  event: DueWebhookEvent,
  startedAt: Date,
  { dependencies, signal }: { dependencies: WebhookDependencies; signal: AbortSignal },
): Promise<DeliveryResult> {
  const { secret } = dependencies;
  // The operator's own receiver may be anywhere.
  const allowedCidrs = event.jobId === null && !event.isTest ? everyAddress : dependencies.allowedCidrs;
  const timestampSec = Math.floor(startedAt.getTime() / 1000);
  const attributes = { 'job.id': event.jobId ?? '', 'webhook.attempt': event.attempt };
  try {
    const answer: OutboundAnswer = await withSpan(
      'webhook',
      { parent: event.trace, kind: 'client', attributes },
      ({ trace }) =>
        postOutbound({
          url: event.url,
          headers: {
            'content-type': 'application/json',
            ...webhookSignatureHeaders({ body: event.body, eventId: event.id, timestampSec }, secret),
            traceparent: trace.traceparent,
            ...(trace.tracestate === undefined ? {} : { tracestate: trace.tracestate }),
            'x-trace-id': traceIdOf(trace),
          },
          body: event.body,
          timeoutMs: attemptTimeoutMs,
          allowedCidrs,
          signal,
        }),
    );
    return { ...answer, error: `the receiver answered ${answer.statusCode}` };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return { statusCode: null, retryAfter: null, error: error.message };
  }
}

import { setTimeout as sleep } from 'node:timers/promises';
import { afterDelivery } from '#domain/webhooks/delivery.ts';
import { webhookSignatureHeaders } from '#domain/webhooks/signature.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import { type OutboundAnswer, OutboundError, postOutbound } from '#platform/outbound-http/outbound-http.ts';
import type { DueWebhookEvent, WebhookEventStore } from '#platform/postgres/webhook-event-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { traceIdOf } from '#platform/telemetry/trace-context.ts';
import { withSpan } from '#platform/telemetry/tracing.ts';

export interface WebhookDependencies {
  readonly events: Pick<WebhookEventStore, 'due' | 'recordAttempt'>;
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

/** The most that one attempt takes, DNS, TLS and the answer included (C6.6). */
const attemptTimeoutMs = 10_000;
const pollEveryMs = 500;
/** A receiver that hangs occupies four of the requests at most, so it delays no other receiver (C6.16). */
const requestsPerHostMax = 4;
const requestsMax = 64;
/** After this time another sender takes an event that was not recorded: twice the time of an attempt. */
const holdMs = 20_000;

/**
 * The webhook sender works from the events table alone: an event is written in the transaction of the job's final
 * state. The sender takes due events, sends the stored bytes, and records each attempt together with the next one's
 * time. A crash between sending and recording sends the same event again, under the same `webhook-id`; none is lost.
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
  readonly #requests = new Set<Promise<void>>();
  readonly #requestsByHost = new Map<string, number>();

  constructor(dependencies: WebhookDependencies) {
    this.#dependencies = dependencies;
  }

  /** Sends until `stopping` aborts; resolves when the requests under way have ended. */
  async run(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      const taken = await this.#takeDue();
      // A request that ends makes room for another of its host at once.
      if (taken === 0) await Promise.race([...this.#requests, pause(stopping)]);
    }
    await Promise.all(this.#requests);
  }

  /** Ends the requests under way. */
  abort(): void {
    this.#deadline.abort();
  }

  /** Begins a request for each due event that its host and this sender have room for; returns their number. */
  async #takeDue(): Promise<number> {
    const { events, log } = this.#dependencies;
    const limit = requestsMax - this.#requests.size;
    if (limit === 0) return 0;
    try {
      const due = await events.due({ limit, holdMs, requestsPerHostMax, requestsUnderWay: this.#requestsByHost });
      for (const event of due) this.#begin(event);
      return due.length;
    } catch (error) {
      log.warn({ err: error }, 'due webhooks query failed');
      return 0;
    }
  }

  #begin(event: DueWebhookEvent): void {
    const { log } = this.#dependencies;
    const count = (change: number) => {
      const requests = (this.#requestsByHost.get(event.host) ?? 0) + change;
      if (requests === 0) this.#requestsByHost.delete(event.host);
      else this.#requestsByHost.set(event.host, requests);
    };
    count(1);
    const request = deliver(event, this.#dependencies, this.#deadline.signal)
      .catch((error: unknown) => {
        if (this.#deadline.signal.aborted) return;
        log.error({ err: error, event_id: event.id }, 'webhook attempt not recorded');
      })
      .finally(() => {
        this.#requests.delete(request);
        count(-1);
      });
    this.#requests.add(request);
  }
}

async function pause(signal: AbortSignal): Promise<void> {
  await sleep(pollEveryMs, undefined, { signal }).catch(() => undefined);
}

/** Makes one attempt and records it with the time of the next. */
async function deliver(event: DueWebhookEvent, dependencies: WebhookDependencies, signal: AbortSignal): Promise<void> {
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
    backoffMs,
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
}

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
  const { secret, allowedCidrs } = dependencies;
  const timestampSec = Math.floor(startedAt.getTime() / 1000);
  const attributes = { 'job.id': event.jobId, 'webhook.attempt': event.attempt };
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

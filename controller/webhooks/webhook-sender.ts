import { setTimeout as sleep } from 'node:timers/promises';
import { afterDelivery } from '#domain/webhooks/delivery.ts';
import { webhookSignatureHeaders } from '#domain/webhooks/signature.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import { type OutboundAnswer, OutboundError, postOutbound } from '#platform/outbound-http/outbound-http.ts';
import type { DueWebhookEvent, WebhookEventStore } from '#platform/postgres/webhook-event-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { traceIdOf } from '#platform/telemetry/trace-context.ts';
import { withSpan } from '#platform/telemetry/tracing.ts';

export interface WebhookDependencies {
  readonly events: Pick<WebhookEventStore, 'due' | 'recordAttempt'>;
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
/** Receivers that hang delay others only when this many do so at once. */
const requestsMax = 32;
/** After this time another sender takes an event that was not recorded: twice the time of an attempt. */
const holdMs = 20_000;

/**
 * The webhook sender works from the events table alone: an event is written in the transaction of the job's final
 * state. The sender takes due events, sends the stored bytes, and records each attempt together with the next one's
 * time. A crash between sending and recording sends the same event again, under the same `webhook-id`; none is lost.
 */
export function webhookSenderComponent(dependencies: WebhookDependencies): Component {
  const { events, clock, log } = dependencies;
  const stopping = new AbortController();
  const deadline = new AbortController();
  const underWay = new Set<Promise<void>>();
  let ended = Promise.resolve();
  const takeDue = async () => {
    const due = await events.due(clock(), requestsMax - underWay.size, holdMs);
    for (const event of due) {
      const delivery = deliver(event, dependencies, deadline.signal)
        .catch((error: unknown) => {
          if (!deadline.signal.aborted) log.error({ err: error, event_id: event.id }, 'webhook attempt not recorded');
        })
        .finally(() => underWay.delete(delivery));
      underWay.add(delivery);
    }
  };
  const run = async () => {
    while (!stopping.signal.aborted) {
      if (underWay.size < requestsMax)
        await takeDue().catch((error: unknown) => log.warn({ err: error }, 'due webhooks query failed'));
      await sleep(pollEveryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  };
  return {
    name: 'webhook sender',
    start() {
      ended = run();
      return Promise.resolve();
    },
    async stop(signal) {
      stopping.abort();
      signal.addEventListener('abort', () => deadline.abort(), { once: true });
      await ended;
      await Promise.all(underWay);
    },
  };
}

/** Makes one attempt and records it with the time of the next. */
async function deliver(event: DueWebhookEvent, dependencies: WebhookDependencies, signal: AbortSignal): Promise<void> {
  const { events, clock, backoffMs, random, log } = dependencies;
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
    attempt: event.attempt,
    startedAt,
    durationMs,
    statusCode,
    error: next === 'sent' ? null : error,
    next,
  });
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

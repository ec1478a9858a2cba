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

/** Of one attempt, DNS, TLS and the answer together (section 6, "Timeout"). */
const attemptTimeoutMs = 10_000;
const lookEveryMs = 500;
/** Receivers that hang hold up the others only when so many do at once. */
const atOnce = 32;
/** An event that a sender took and never recorded is another's after this: twice what an attempt takes. */
const holdMs = 20_000;

/**
 * The webhook sender works from the events table alone: the event was written in the transaction of the job's final
 * state. It takes what is due, sends the stored bytes, and records the attempt together with what follows. A crash
 * between sending and recording sends the same event again, under the same `webhook-id`; none is lost.
 */
export function webhookSenderComponent(d: WebhookDependencies): Component {
  const stopping = new AbortController();
  const giveUp = new AbortController();
  const underWay = new Set<Promise<void>>();
  let ended = Promise.resolve();
  const takeDue = async () => {
    const due = await d.events.due(d.clock(), atOnce - underWay.size, holdMs);
    for (const event of due) {
      const delivery = deliver(event, d, giveUp.signal)
        .catch((error: unknown) => {
          if (!giveUp.signal.aborted)
            d.log.error({ err: error, event_id: event.id }, 'a webhook attempt was not recorded; it is made again');
        })
        .finally(() => underWay.delete(delivery));
      underWay.add(delivery);
    }
  };
  const run = async () => {
    while (!stopping.signal.aborted) {
      if (underWay.size < atOnce)
        await takeDue().catch((error: unknown) => d.log.warn({ err: error }, 'due webhooks could not be read'));
      await sleep(lookEveryMs, undefined, { signal: stopping.signal }).catch(() => undefined);
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
      signal.addEventListener('abort', () => giveUp.abort(), { once: true });
      await ended;
      await Promise.all(underWay);
    },
  };
}

/** One attempt, and what follows from it. */
async function deliver(event: DueWebhookEvent, d: WebhookDependencies, signal: AbortSignal): Promise<void> {
  const startedAt = d.clock();
  const started = performance.now();
  const answer = await send(event, startedAt, { d, signal });
  const { statusCode, retryAfter, error } = answer;
  const next = afterDelivery({
    attempt: event.attempt,
    statusCode,
    retryAfter,
    now: d.clock(),
    backoffMs: d.backoffMs,
    random: d.random(),
  });
  const durationMs = performance.now() - started;
  await d.events.recordAttempt({
    eventId: event.id,
    attempt: event.attempt,
    startedAt,
    durationMs,
    statusCode,
    error: next === 'sent' ? null : error,
    next,
  });
  const told = { job_id: event.jobId, event_id: event.id, attempt: event.attempt, status_code: statusCode };
  if (next === 'sent') d.log.info(told, 'a webhook was delivered');
  else d.log.warn({ ...told, error, gave_up: next === 'failed' }, 'a webhook attempt failed');
}

/** What an attempt met: an answer, or why there was none. */
interface Met {
  readonly statusCode: number | null;
  readonly retryAfter: string | null;
  readonly error: string;
}

async function send(
  event: DueWebhookEvent,
  startedAt: Date,
  { d, signal }: { d: WebhookDependencies; signal: AbortSignal },
): Promise<Met> {
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
            ...webhookSignatureHeaders({ body: event.body, eventId: event.id, timestampSec }, d.secret),
            traceparent: trace.traceparent,
            ...(trace.tracestate === undefined ? {} : { tracestate: trace.tracestate }),
            'x-trace-id': traceIdOf(trace),
          },
          body: event.body,
          timeoutMs: attemptTimeoutMs,
          allowedCidrs: d.allowedCidrs,
          signal,
        }),
    );
    return { ...answer, error: `the receiver answered ${answer.statusCode}` };
  } catch (error) {
    if (!(error instanceof OutboundError)) throw error;
    return { statusCode: null, retryAfter: null, error: error.message };
  }
}

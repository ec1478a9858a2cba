import { retryAfterMs } from '../retry-after.ts';

/**
 * The next step after an attempt to deliver a webhook (C21.9 to C21.13): any 2xx is success, 410 ends it, everything
 * else, a redirect too, is tried again while attempts are left.
 */
export type DeliveryVerdict = 'sent' | 'failed' | { readonly inMs: number };

interface DeliveryInput {
  /** The attempt that was made, from 1. */
  readonly attempt: number;
  /** Null when no answer came. */
  readonly statusCode: number | null;
  /** The answer's header `Retry-After`, in seconds or as a date, up to an hour; what cannot be read is ignored. */
  readonly retryAfter: string | null;
  /** Against which a date in `Retry-After` is measured. */
  readonly now: Date;
  /** `WEBHOOK_BACKOFF`: the wait before each attempt, so as many as there are attempts; the first is 0. */
  readonly backoffMs: readonly number[];
  /** 0 ≤ random < 1: ± 20 % of the wait, so that what failed together does not come back together. */
  readonly random: number;
}

/** Whether the event is delivered, given up, or tried again, and when; pure. */
export function afterDelivery(input: DeliveryInput): DeliveryVerdict {
  const { attempt, statusCode, retryAfter, now, backoffMs, random } = input;
  if (statusCode !== null && statusCode >= 200 && statusCode <= 299) return 'sent';
  const backoff = backoffMs[attempt];
  if (statusCode === 410 || backoff === undefined) return 'failed';
  const asked = retryAfter === null ? 0 : retryAfterMs(retryAfter, now);
  return { inMs: Math.max(Math.round(backoff * (0.8 + 0.4 * random)), asked) };
}

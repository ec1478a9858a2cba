/** The longest wait that a server is granted. */
const waitMsMax = 60 * 60_000;

/**
 * The wait that the header `Retry-After` asks for, in milliseconds, an hour at most (RFC 9110, section 10.2.3): it has
 * seconds, or an HTTP date; 0 for anything else and for what is past.
 */
export function retryAfterMs(value: string, now: Date): number {
  return Math.min(askedMs(value, now), waitMsMax);
}

function askedMs(value: string, now: Date): number {
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1000;
  const date = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? 0 : Math.max(0, date - now.getTime());
}

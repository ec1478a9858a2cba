/**
 * The wait that the header `Retry-After` asks for, in milliseconds (RFC 9110, section 10.2.3): it has seconds, or an
 * HTTP date; 0 for anything else and for what is past.
 */
export function retryAfterMs(value: string, now: Date): number {
  if (/^\d{1,9}$/.test(value.trim())) return Number(value) * 1000;
  const date = /^[A-Z][a-z]{2}, \d{2} [A-Z][a-z]{2} \d{4} [\d:]{8} GMT$/.test(value) ? Date.parse(value) : Number.NaN;
  return Number.isNaN(date) ? 0 : Math.max(0, date - now.getTime());
}

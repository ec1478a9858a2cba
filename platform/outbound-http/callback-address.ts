import { isIP } from 'node:net';
import { isAllowedAddress } from './address-rules.ts';

/**
 * Whether a webhook to `url` may be accepted (C11.8, C21.15): literal addresses and `localhost` are checked at
 * submission, other names when they are resolved for delivery. `URL` has normalised every form of an IPv4 address
 * (`0x7f.1`, `2130706433`).
 */
export function isKnownToBeAllowed(url: URL, allowedCidrs: readonly string[]): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) !== 0) return isAllowedAddress(host, allowedCidrs);
  if (host !== 'localhost' && !host.endsWith('.localhost')) return true;
  return ['127.0.0.1', '::1'].some((address) => isAllowedAddress(address, allowedCidrs));
}

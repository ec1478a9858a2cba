import { isIP } from 'node:net';
import { isAllowedAddress } from './address-rules.ts';

/**
 * Whether a webhook to `url` is not yet known to be refused (C2.7, C6.14): a literal address
 * is judged at submission, and `localhost`; any other name only when it is resolved for its delivery. `URL` has written
 * every form of an IPv4 address (`0x7f.1`, `2130706433`) as the usual one.
 */
export function isKnownToBeAllowed(url: URL, allowedCidrs: readonly string[]): boolean {
  const host = url.hostname.replace(/^\[|\]$/g, '').replace(/\.$/, '');
  if (isIP(host) !== 0) return isAllowedAddress(host, allowedCidrs);
  if (host !== 'localhost' && !host.endsWith('.localhost')) return true;
  return ['127.0.0.1', '::1'].some((address) => isAllowedAddress(address, allowedCidrs));
}

import type { IncomingMessage } from 'node:http';
import { BlockList, isIP } from 'node:net';

/**
 * Who a request comes from: behind trusted proxies, the last address of `X-Forwarded-For` that does not belong to one.
 */
export class ClientAddresses {
  readonly #proxies = new BlockList();
  readonly #hasProxies: boolean;

  /** Networks, `10.0.0.0/8`. */
  constructor(trustedProxies: readonly string[]) {
    this.#hasProxies = trustedProxies.length > 0;
    for (const proxy of trustedProxies) {
      const [network = '', bits] = proxy.split('/');
      this.#proxies.addSubnet(network, Number(bits), isIP(network) === 6 ? 'ipv6' : 'ipv4');
    }
  }

  isProxy(address: string): boolean {
    const family = this.#hasProxies ? isIP(address) : 0;
    return family !== 0 && this.#proxies.check(address, family === 6 ? 'ipv6' : 'ipv4');
  }

  /** The client's address, or its /64: what limits are counted by. */
  bucketOf({ socket, headers }: Pick<IncomingMessage, 'socket' | 'headers'>): string {
    let address = socket.remoteAddress ?? '';
    if (!this.isProxy(address)) return addressBucket(address);
    const forwarded = [headers['x-forwarded-for'] ?? []].flat().join(',').split(',');
    while (this.isProxy(address)) {
      const before = withoutPort(forwarded.pop()?.trim() ?? '');
      if (isIP(before) === 0) break;
      address = before;
    }
    return addressBucket(address);
  }
}

/** Some proxies forward the client's port too: `192.0.2.1:4711`, `[2001:db8::1]:4711`. Each connection has another. */
function withoutPort(address: string): string {
  return address.replace(/^\[(.*)\](?::\d+)?$|^([\d.]+):\d+$/, '$1$2');
}

/** The bucket of a client's address; an IPv6 client is its /64, since it has all of its addresses. */
export function addressBucket(ip: string): string {
  if (!ip.includes(':')) return ip;
  // A zone may be any text.
  const [address = ''] = ip.split('%', 1);
  if (address.startsWith('::ffff:')) return address;
  const [head = '', tail] = address.split('::');
  const headGroups = head === '' ? [] : head.split(':');
  const tailGroups = tail === undefined || tail === '' ? [] : tail.split(':');
  const zeros = tail === undefined ? [] : Array<string>(8 - headGroups.length - tailGroups.length).fill('0');
  return `${[...headGroups, ...zeros, ...tailGroups].slice(0, 4).join(':')}::/64`;
}

import type { Socket } from 'node:net';
import { describe, expect, it } from 'vitest';
import { addressBucket, ClientAddresses } from './client-addresses.ts';

describe('addressBucket', () => {
  it.each([
    ['192.0.2.7', '192.0.2.7'],
    ['::ffff:192.0.2.7', '::ffff:192.0.2.7'],
    ['2001:db8:1:2:3:4:5:6', '2001:db8:1:2::/64'],
    ['2001:db8::1', '2001:db8:0:0::/64'],
    ['2001:db8:1:2::', '2001:db8:1:2::/64'],
    ['::1', '0:0:0:0::/64'],
    ['fe80::1%eth0', 'fe80:0:0:0::/64'],
    ['2001:db8::1%a:b:c:d:e:f:g:h:i', '2001:db8:0:0::/64'],
    ['::ffff:192.0.2.7%a', '::ffff:192.0.2.7'],
  ])('the client address %s is counted as %s', (ip, bucket) => {
    expect(addressBucket(ip)).toBe(bucket);
  });
});

describe('the client of a request', () => {
  it.each([
    ['without trusted proxies is the peer', [], '192.0.2.1', '198.51.100.7', '192.0.2.1'],
    ['behind a trusted proxy is who it forwards', ['192.0.2.0/24'], '192.0.2.1', '198.51.100.7', '198.51.100.7'],
    [
      'is the last address that no proxy has',
      ['192.0.2.0/24'],
      '192.0.2.1',
      '10.1.1.1, 198.51.100.7, 192.0.2.9',
      '198.51.100.7',
    ],
    ['has no zone', ['192.0.2.0/24'], '192.0.2.1', '1::2%a:b:c:d:e:f:g:h:i:j', '1:0:0:0::/64'],
    ['is the proxy where that says nothing', ['192.0.2.0/24'], '192.0.2.1', undefined, '192.0.2.1'],
    ['is the proxy where that says no address', ['192.0.2.0/24'], '192.0.2.1', '1:2:3:4:5:6:7:8::9', '192.0.2.1'],
    ['has no port', ['192.0.2.0/24'], '192.0.2.1', '198.51.100.7:4711', '198.51.100.7'],
    ['has no port with IPv6 either', ['192.0.2.0/24'], '192.0.2.1', '[2001:db8::1]:4711', '2001:db8:0:0::/64'],
    ['of a mapped proxy is who it forwards', ['192.0.2.0/24'], '::ffff:192.0.2.1', '2001:db8::1', '2001:db8:0:0::/64'],
  ])('%s', (_what, proxies, peer, forwarded, client) => {
    const headers = forwarded === undefined ? {} : { 'x-forwarded-for': forwarded };
    expect(new ClientAddresses(proxies).bucketOf({ headers, socket: { remoteAddress: peer } as Socket })).toBe(client);
  });
});

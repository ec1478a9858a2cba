import { describe, expect, it } from 'vitest';
import { isAllowedAddress } from './address-rules.ts';

const refused = [
  '0.0.0.0 0.1.2.3 10.0.0.1 100.64.0.1 127.0.0.1 127.255.255.254 169.254.169.254 172.16.0.1 172.31.255.255 192.0.0.1',
  '192.0.2.1 192.88.99.1 192.168.0.1 198.18.0.1 198.51.100.1 203.0.113.1 224.0.0.1 239.1.1.1 240.0.0.1',
  '255.255.255.255 168.63.129.16 100.100.100.200',
  ':: ::1 fe80::1 fec0::1 fc00::1 fd00:ec2::254 ff02::1 100::1 2001:db8::1 2002:808:808:: 2001::1 3fff::1 5f00::1',
  '64:ff9b:1::8.8.8.8 4000::1 ::8.8.8.8 2606:4700::5efe:10.0.0.1 2606:4700::200:5efe:8.8.8.8',
  // IPv4 in IPv6: mapped, and by NAT64.
  '::ffff:127.0.0.1 ::ffff:7f00:1 ::ffff:10.0.0.1 ::ffff:168.63.129.16 64:ff9b::10.0.0.1 64:ff9b::a9fe:a9fe',
  // Not addresses.
  'fe80::1%eth0 2606:4700::1%eth0 example.com 1.2.3.4.5 1.2.3.4/32 [::1]',
].flatMap((line) => line.split(' '));

const allowed = [
  '8.8.8.8 1.1.1.1 172.15.255.255 172.32.0.1 168.63.129.17 99.255.255.255 223.255.255.255',
  '2606:4700:4700::1111 2a00:1450:4001::1 ::ffff:8.8.8.8 64:ff9b::8.8.8.8',
].flatMap((line) => line.split(' '));

describe('where a request that a caller names may go', () => {
  it.each(refused)('%s is refused', (address) => expect(isAllowedAddress(address, [])).toBe(false));

  it.each(allowed)('%s is allowed', (address) => expect(isAllowedAddress(address, [])).toBe(true));

  it.each([
    ['10.1.2.3', '10.0.0.0/8', true],
    ['11.0.0.1', '127.0.0.0/8', true],
    ['10.1.2.3', '10.2.0.0/16', false],
    ['127.0.0.1', '127.0.0.1/32', true],
    ['::ffff:127.0.0.1', '127.0.0.0/8', true],
    ['64:ff9b::127.0.0.1', '127.0.0.0/8', true],
    ['::1', '::1/128', true],
    ['::1', '127.0.0.0/8', false],
    ['fd00::1', 'fd00::/8', true],
    ['169.254.169.254', '::/0', false],
  ])('%s with %s allowed: %s', (address, cidr, isAllowed) =>
    expect(isAllowedAddress(address, ['192.168.0.0/16', cidr])).toBe(isAllowed),
  );
});

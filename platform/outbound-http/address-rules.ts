import { isIP } from 'node:net';
import ipaddr from 'ipaddr.js';

/**
 * Where a request to a caller's URL may go (C21.15): public unicast addresses, and `WEBHOOK_ALLOWED_CIDRS`. Refused are
 * loopback, private, link-local, metadata, multicast, unspecified and every reserved range, in IPv4, IPv6 and each form
 * of IPv4 within IPv6.
 */

type Address = ipaddr.IPv4 | ipaddr.IPv6;
type Cidr = readonly [Address, number];

/** Unicast by its range, but served to a virtual machine by its host: Azure's platform address. */
const metadataAddresses = ['168.63.129.16'];

/** All of the IPv6 unicast space that is given out; what lies outside is reserved. */
const globalUnicast = ipaddr.parseCIDR('2000::/3') as [ipaddr.IPv6, number];
const mappedIpv4 = ipaddr.parseCIDR('::ffff:0:0/96') as [ipaddr.IPv6, number];
/** RFC 6052's well-known prefix, whose last four bytes are the address that is reached in the end. */
const nat64 = ipaddr.parseCIDR('64:ff9b::/96') as [ipaddr.IPv6, number];

/**
 * Whether a request may be sent to `address`.
 *
 * @param address IPv4 or IPv6 as text; anything else is refused
 * @param allowedCidrs `10.0.0.0/8`, `fd00::/8`, …: allowed whatever their range
 */
export function isAllowedAddress(address: string, allowedCidrs: readonly string[]): boolean {
  const canonical = canonicalAddress(address);
  if (canonical === null) return false;
  const parsed = ipaddr.parse(canonical);
  const inner = innerIpv4(parsed);
  const cidrs = allowedCidrs.map((cidr): Cidr => ipaddr.parseCIDR(cidr));
  if (isInOneOf(parsed, cidrs) || (inner !== null && isInOneOf(inner, cidrs))) return true;
  return isPublic(inner ?? parsed);
}

/**
 * The canonical form of an address: `::8.8.8.8` is `::808:808` (ipaddr.js would take it for `::ffff:8.8.8.8`). Null for
 * other text and for an address with a zone (`fe80::1%eth0`), which names an interface of this machine.
 */
export function canonicalAddress(address: string): string | null {
  const family = isIP(address);
  if (family === 0 || address.includes('%')) return null;
  return family === 4 ? address : new URL(`http://[${address}]`).hostname.slice(1, -1);
}

/** The IPv4 address that a mapped or NAT64 address leads to; null for any other. */
function innerIpv4(address: Address): ipaddr.IPv4 | null {
  if (!(address instanceof ipaddr.IPv6)) return null;
  if (!address.match(mappedIpv4) && !address.match(nat64)) return null;
  return new ipaddr.IPv4(address.toByteArray().slice(12));
}

function isInOneOf(address: Address, cidrs: readonly Cidr[]): boolean {
  return cidrs.some(([base, bits]) => base.kind() === address.kind() && address.match(base, bits));
}

function isPublic(address: Address): boolean {
  if (address.range() !== 'unicast') return false;
  if (address instanceof ipaddr.IPv4) return !metadataAddresses.includes(address.toString());
  return address.match(globalUnicast) && !isIsatap(address);
}

/** RFC 5214: an interface identifier `(02)00:5efe` and an IPv4 address, which a router here may send it to. */
function isIsatap(address: ipaddr.IPv6): boolean {
  return (address.parts[4] === 0 || address.parts[4] === 0x200) && address.parts[5] === 0x5efe;
}

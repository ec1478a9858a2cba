import { lookup as resolveName } from 'node:dns/promises';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { untilAborted } from '#platform/concurrency/until-aborted.ts';
import { canonicalAddress, isAllowedAddress } from './address-rules.ts';

/**
 * Connections to addresses that callers name. A name is resolved once, each address is checked, and the connection goes
 * to a checked address. No redirect is followed, no proxy is used, and no connection is reused.
 */

/** Why no answer came; the message is for people, and names no address. */
export class OutboundError extends Error {
  override readonly name = 'OutboundError';
  readonly code: 'refused_address' | 'name_not_found' | 'timeout' | 'no_answer';

  constructor(code: OutboundError['code'], message: string, cause?: unknown) {
    super(message, { cause });
    this.code = code;
  }
}

/** An address of a name, as the system's resolver gives it. */
export interface ResolvedAddress {
  readonly address: string;
  readonly family: number;
}

/** A code such as ECONNREFUSED or CERT_HAS_EXPIRED says enough, and no more than the receiver may know. */
export function reasonOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'the connection failed';
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

/** Which addresses may be connected to. */
export interface AddressRules {
  readonly allowedCidrs: readonly string[];
  /** The system's resolver by default. */
  readonly resolve?: (name: string) => Promise<readonly ResolvedAddress[]>;
}

/** The addresses of a URL's host that may be connected to, at least one. @throws OutboundError; the signal's reason */
export async function allowedAddresses(url: URL, rules: AddressRules, signal: AbortSignal): Promise<ResolvedAddress[]> {
  const host = hostOf(url);
  const family = isIP(host);
  const found = family === 0 ? await resolve(host, rules, signal) : [{ address: host, family }];
  const allowed = found.filter(({ address }) => isAllowedAddress(address, rules.allowedCidrs));
  if (allowed.length > 0) return allowed;
  throw new OutboundError('refused_address', 'the address is not allowed');
}

async function resolve(name: string, rules: AddressRules, signal: AbortSignal): Promise<readonly ResolvedAddress[]> {
  try {
    // The system's resolver cannot be stopped; its answer comes too late then.
    return await untilAborted((rules.resolve ?? systemResolve)(name), signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new OutboundError('name_not_found', 'the name could not be resolved', error);
  }
}

function systemResolve(name: string): Promise<ResolvedAddress[]> {
  return resolveName(name, { all: true });
}

/** A resolver that knows the judged addresses alone. Node asks it for one or for all, by the way it connects. */
export function pinnedLookup(addresses: readonly ResolvedAddress[]): LookupFunction {
  return (_name, options, callback) => {
    const [first] = addresses;
    if (options.all === true) callback(null, [...addresses]);
    else if (first !== undefined) callback(null, first.address, first.family);
  };
}

/** Node never asks a resolver for a literal address; so whom it reached is looked at as well, before a byte is sent. */
function refuseOtherPeers(socket: Socket, addresses: readonly ResolvedAddress[], request: ClientRequest): void {
  socket.once('connect', () => {
    if (addresses.some(({ address }) => isSameAddress(address, socket.remoteAddress))) return;
    request.destroy(new OutboundError('refused_address', 'the address is not allowed'));
  });
}

/**
 * Ends a request to one of `addresses`, with its body; resolves to the answer, whose body is not read. Where the other
 * side changes the protocol, Node closes the connection and reports neither an answer nor an error.
 *
 * @throws Error of the request, or when the connection is closed without an answer
 */
export function answerFrom(
  addresses: readonly ResolvedAddress[],
  request: ClientRequest,
  body = '',
): Promise<IncomingMessage> {
  // An error after the answer, or while it is given up, has no meaning any more.
  request.on('error', () => undefined);
  request.once('socket', (socket) => refuseOtherPeers(socket, addresses, request));
  request.end(body);
  const answer = Promise.withResolvers<IncomingMessage>();
  request.once('response', answer.resolve);
  request.once('error', answer.reject);
  request.once('close', () => answer.reject(new Error('the connection was closed without an answer')));
  return answer.promise;
}

function isSameAddress(wanted: string, reached: string | undefined): boolean {
  return reached !== undefined && canonicalAddress(wanted) === canonicalAddress(reached);
}

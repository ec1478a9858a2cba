import { lookup as resolveName } from 'node:dns/promises';
import { once } from 'node:events';
import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { isIP, type LookupFunction, type Socket } from 'node:net';
import { externalWrite } from '../external-writes/external-write.ts';
import { canonicalAddress, isAllowedAddress } from './address-rules.ts';

/**
 * Requests to addresses that callers name. A name is resolved once, each address is checked, and the connection goes to
 * a checked address. No redirect is followed, no proxy is used, no connection is reused, and one deadline covers
 * everything.
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

interface OutboundPost {
  /** http or https. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as UTF-8. */
  readonly body: string;
  /** Covers resolving, connecting, TLS and the answer's headers. */
  readonly timeoutMs: number;
  readonly allowedCidrs: readonly string[];
  readonly signal?: AbortSignal;
  /** The system's resolver by default. */
  readonly resolve?: (name: string) => Promise<readonly ResolvedAddress[]>;
}

export interface OutboundAnswer {
  readonly statusCode: number;
  /** The header `Retry-After` as it came. */
  readonly retryAfter: string | null;
}

/**
 * Sends one POST and returns the answer's status. At most a few kilobytes of its body are read.
 *
 * @throws OutboundError; the reason of `signal`
 */
export async function postOutbound(post: OutboundPost): Promise<OutboundAnswer> {
  const url = new URL(post.url);
  const deadline = AbortSignal.timeout(post.timeoutMs);
  const signal = post.signal === undefined ? deadline : AbortSignal.any([deadline, post.signal]);
  try {
    const addresses = await allowedAddresses(url, post, signal);
    return await externalWrite(
      () => ({ kind: 'webhook', name: `post ${url.host}` }),
      () => exchange(url, addresses, { post, signal }),
    );
  } catch (error) {
    post.signal?.throwIfAborted();
    if (error instanceof OutboundError) throw error;
    if (deadline.aborted) throw new OutboundError('timeout', `no answer within ${post.timeoutMs / 1000} s`, error);
    throw new OutboundError('no_answer', `no answer (${reasonOf(error)})`, error);
  }
}

/** A code such as ECONNREFUSED or CERT_HAS_EXPIRED says enough, and no more than the receiver may know. */
function reasonOf(error: unknown): string {
  const { code } = error as { code?: unknown };
  return typeof code === 'string' ? code : 'the connection failed';
}

function hostOf(url: URL): string {
  return url.hostname.replace(/^\[(.*)\]$/, '$1');
}

async function allowedAddresses(url: URL, post: OutboundPost, signal: AbortSignal): Promise<ResolvedAddress[]> {
  const host = hostOf(url);
  const family = isIP(host);
  const found = family === 0 ? await resolve(host, post, signal) : [{ address: host, family }];
  const allowed = found.filter(({ address }) => isAllowedAddress(address, post.allowedCidrs));
  if (allowed.length > 0) return allowed;
  throw new OutboundError('refused_address', 'the address is not allowed');
}

async function resolve(name: string, post: OutboundPost, signal: AbortSignal): Promise<readonly ResolvedAddress[]> {
  const resolving = (post.resolve ?? systemResolve)(name);
  // The system's resolver cannot be stopped; its answer comes too late then.
  const aborted = once(signal, 'abort').then(() => Promise.reject(signal.reason as Error));
  try {
    return await Promise.race([resolving, aborted]);
  } catch (error) {
    signal.throwIfAborted();
    throw new OutboundError('name_not_found', 'the name could not be resolved', error);
  } finally {
    aborted.catch(() => undefined);
    resolving.catch(() => undefined);
  }
}

function systemResolve(name: string): Promise<ResolvedAddress[]> {
  return resolveName(name, { all: true });
}

async function exchange(
  url: URL,
  addresses: readonly ResolvedAddress[],
  { post, signal }: { post: OutboundPost; signal: AbortSignal },
): Promise<OutboundAnswer> {
  const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
    method: 'POST',
    agent: false,
    signal,
    headers: {
      'user-agent': 'reelwright-webhook/1',
      ...post.headers,
      'content-length': String(Buffer.byteLength(post.body)),
      connection: 'close',
    },
    lookup: pinnedLookup(addresses),
  });
  // An error after the answer, or while it is given up, has no meaning any more.
  request.on('error', () => undefined);
  request.once('socket', (socket) => refuseOtherPeers(socket, addresses, request));
  request.end(post.body);
  const [response] = (await once(request, 'response')) as [IncomingMessage];
  readALittle(response, request);
  return { statusCode: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] ?? null };
}

/** A resolver that knows the judged addresses alone. Node asks it for one or for all, by the way it connects. */
function pinnedLookup(addresses: readonly ResolvedAddress[]): LookupFunction {
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

function isSameAddress(wanted: string, reached: string | undefined): boolean {
  return reached !== undefined && canonicalAddress(wanted) === canonicalAddress(reached);
}

const answerBytesMax = 16 * 1024;
const answerMsMax = 1_000;

/** Reads up to 16 kB or a second of the answer's body, then ends the connection. */
function readALittle(response: IncomingMessage, request: ClientRequest): void {
  let bytes = 0;
  const enough = () => request.destroy();
  const timer = setTimeout(enough, answerMsMax);
  response.on('error', () => undefined);
  response.once('close', () => clearTimeout(timer));
  response.on('data', (chunk: Buffer) => {
    bytes += chunk.length;
    if (bytes > answerBytesMax) enough();
  });
}

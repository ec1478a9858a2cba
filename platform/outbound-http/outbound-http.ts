import { type ClientRequest, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { externalWrite } from '../external-writes/external-write.ts';
import {
  type AddressRules,
  allowedAddresses,
  answerFrom,
  OutboundError,
  pinnedLookup,
  reasonOf,
  type ResolvedAddress,
} from './checked-addresses.ts';

/** Requests to receivers that callers name (checked-addresses.ts). One deadline covers everything. */

interface OutboundPost extends AddressRules {
  /** http or https. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Sent as UTF-8. */
  readonly body: string;
  /** Covers resolving, connecting, TLS and the answer's headers. */
  readonly timeoutMs: number;
  readonly signal?: AbortSignal;
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
  try {
    const response = await answerFrom(addresses, request, post.body);
    readALittle(response, request);
    return { statusCode: response.statusCode ?? 0, retryAfter: response.headers['retry-after'] ?? null };
  } catch (error) {
    const answer = answerOfEqualLengths(error);
    if (answer === null) throw error;
    return answer;
  }
}

/**
 * The answer that Node refuses for its `Content-Length`, where that names one length several times, which means this
 * length (RFC 9110, section 8.6): the receiver has the request, and must not get it again. Else null.
 */
function answerOfEqualLengths(error: unknown): OutboundAnswer | null {
  const { rawPacket } = error as { readonly rawPacket?: unknown };
  if (!Buffer.isBuffer(rawPacket)) return null;
  const [head = ''] = rawPacket.toString('latin1').split('\r\n\r\n', 1);
  const statusCode = Number(/^HTTP\/1\.[01] (\d{3})\b/.exec(head)?.[1]);
  const lengths = [...head.matchAll(/\r\ncontent-length:([^\r]*)/gi)].flatMap(([, value = '']) => value.split(','));
  const isOne = new Set(lengths.map((length) => length.trim())).size === 1 && /^\s*\d+\s*$/.test(lengths[0] ?? '');
  if (Number.isNaN(statusCode) || lengths.length < 2 || !isOne) return null;
  return { statusCode, retryAfter: /\r\nretry-after:([^\r]*)/i.exec(head)?.[1]?.trim() ?? null };
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

import { type IncomingHttpHeaders, type IncomingMessage, request as httpRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import {
  type AddressRules,
  allowedAddresses,
  answerFrom,
  OutboundError,
  pinnedLookup,
  reasonOf,
} from './checked-addresses.ts';

/** Files of servers that callers name (checked-addresses.ts), read as they come. */

interface OutboundGet extends AddressRules {
  /** http or https. */
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  /** Covers resolving, connecting, TLS and the answer's headers. */
  readonly timeoutMs: number;
  /** The longest wait for a piece of the body. */
  readonly idleMs: number;
  /** Ends everything, the body too. */
  readonly signal: AbortSignal;
}

export interface OutboundFile {
  readonly statusCode: number;
  readonly headers: IncomingHttpHeaders;
  /** Throws `OutboundError` when it ends early. Leaving a loop over it closes the connection. */
  readonly body: AsyncIterable<Buffer>;
  /** For an answer whose body is not read. */
  readonly close: () => void;
}

/**
 * Sends one GET. The answer is returned as it is; nothing of its body is read yet.
 *
 * @throws OutboundError; the reason of `signal`
 */
export async function getOutbound({
  url,
  headers,
  timeoutMs,
  idleMs,
  signal,
  ...rules
}: OutboundGet): Promise<OutboundFile> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(), timeoutMs);
  const either = AbortSignal.any([deadline.signal, signal]);
  try {
    const addresses = await allowedAddresses(url, rules, either);
    const request = (url.protocol === 'https:' ? httpsRequest : httpRequest)(url, {
      method: 'GET',
      agent: false,
      signal: either,
      headers: { 'user-agent': 'reelwright-import/1', 'accept-encoding': 'identity', ...headers, connection: 'close' },
      lookup: pinnedLookup(addresses),
    });
    const response = await answerFrom(addresses, request);
    // An answer that is closed unread has no failure that means anything.
    response.on('error', () => undefined);
    return {
      statusCode: response.statusCode ?? 0,
      headers: response.headers,
      body: piecesOf(response, idleMs, signal),
      close: () => response.destroy(),
    };
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof OutboundError) throw error;
    if (deadline.signal.aborted) throw new OutboundError('timeout', `no answer within ${timeoutMs / 1000} s`, error);
    throw new OutboundError('no_answer', `no answer (${reasonOf(error)})`, error);
  } finally {
    clearTimeout(timer);
  }
}

/** The body; the time that its reader takes between two pieces does not count. */
async function* piecesOf(response: IncomingMessage, idleMs: number, signal: AbortSignal): AsyncGenerator<Buffer> {
  const pieces = (response as AsyncIterable<Buffer>)[Symbol.asyncIterator]();
  try {
    for (;;) {
      const late = () => response.destroy(new OutboundError('timeout', `no byte within ${idleMs / 1000} s`));
      const timer = setTimeout(late, idleMs);
      const next = await pieces.next().finally(() => clearTimeout(timer));
      if (next.done === true) return;
      yield next.value;
    }
  } catch (error) {
    signal.throwIfAborted();
    if (error instanceof OutboundError) throw error;
    throw new OutboundError('no_answer', `the answer broke off (${reasonOf(error)})`, error);
  } finally {
    response.destroy();
  }
}

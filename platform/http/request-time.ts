import type { IncomingMessage } from 'node:http';
import type { Socket } from 'node:net';

/** How long a request may take to be whole, so that a slow sender does not occupy a socket. */
const requestTimeoutMs = 60_000;
/** A phone on a weak line; a slower sender would occupy a socket for hours. */
const bytesPerSecondMin = 16 * 1024;

type OnTimeout = (error: NodeJS.ErrnoException, socket: Socket) => void;

/**
 * Bounds the time in which the body of a request comes. Node has one time for all requests of a server; here a route
 * that takes large bodies gives a request the time that its size needs.
 */
export class RequestTime {
  readonly #onTimeout: OnTimeout;
  readonly #timers = new WeakMap<IncomingMessage, NodeJS.Timeout>();

  /** `onTimeout` answers and closes the connection, as for an error of Node's own. */
  constructor(onTimeout: OnTimeout) {
    this.#onTimeout = onTimeout;
  }

  /** Called with each request once its head is there. One without a body is whole, and takes no timer. */
  watch(request: IncomingMessage, timeoutMs = requestTimeoutMs): void {
    const { 'content-length': length = '0', 'transfer-encoding': encoding } = request.headers;
    if (encoding === undefined && length === '0') return;
    const clear = () => clearTimeout(this.#timers.get(request));
    this.#set(request, timeoutMs);
    request.once('end', clear);
    request.once('close', clear);
  }

  /** The body may take as long as `sizeBytes` need on a slow line, from now on. */
  allow(request: IncomingMessage, sizeBytes: number): void {
    if (this.#timers.has(request)) this.#set(request, requestTimeoutMs + (sizeBytes / bytesPerSecondMin) * 1000);
  }

  #set(request: IncomingMessage, timeoutMs: number): void {
    clearTimeout(this.#timers.get(request));
    const expire = () => {
      if (request.complete) return;
      const error = Object.assign(new Error('the request was not whole in time'), { code: 'ERR_HTTP_REQUEST_TIMEOUT' });
      this.#onTimeout(error, request.socket);
    };
    this.#timers.set(request, setTimeout(expire, timeoutMs).unref());
  }
}

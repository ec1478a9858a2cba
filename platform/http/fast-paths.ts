import type { IncomingMessage, ServerResponse } from 'node:http';
import { RecentClients } from '../rate-limit/recent-clients.ts';
import type { ClientAddresses } from './client-addresses.ts';

// Most requests of players are for something in memory. The framework costs more than such a response
// (docs/design/delivery.md), so a plain GET is offered to the fast path of its address first, and goes to the framework
// when that does not answer.

/** A plain GET has none of these. */
const unplainHeaders = [
  'range',
  'if-match',
  'if-none-match',
  'if-range',
  'content-length',
  'transfer-encoding',
] as const;

/** Hands the request to the framework after all, whose handler finds what was learnt so far by `learnt`. */
type PassOn = (learnt?: unknown) => void;

/** True when the request is answered here, or will be passed on. */
export type FastPath = (request: IncomingMessage, response: ServerResponse, passOn: PassOn) => boolean;

/** The fast paths before the framework of one server, by the beginnings of addresses. */
export class FastPaths {
  /** The clients that asked lately for addresses with a fast path, whether that answered them or not. */
  readonly recent = new RecentClients();
  readonly #clients: ClientAddresses;
  readonly #paths: { readonly prefix: string; readonly take: FastPath }[] = [];
  readonly #headers: { readonly prefix: string; readonly headers: Readonly<Record<string, string>> }[] = [];
  readonly #learnt = new WeakMap<IncomingMessage, unknown>();

  constructor(clients: ClientAddresses) {
    this.#clients = clients;
  }

  /** Offers each plain GET of an address that begins with `prefix` to `take`. */
  add(prefix: string, take: FastPath): void {
    this.#paths.push({ prefix, take });
  }

  /**
   * Sets headers of each answer of the framework to an address that begins with `prefix`: also where no route or no
   * hook handles the request, such as a method that the address does not have or an escape that is malformed.
   */
  addHeaders(prefix: string, headers: Readonly<Record<string, string>>): void {
    this.#headers.push({ prefix, headers });
  }

  answer(request: IncomingMessage, response: ServerResponse, framework: () => void): void {
    const { method, url = '', headers } = request;
    const path = this.#paths.find(({ prefix }) => url.startsWith(prefix));
    if (path !== undefined) this.recent.note(this.#clients.bucketOf(request), performance.now());
    const isPlain = path !== undefined && method === 'GET' && !unplainHeaders.some((name) => name in headers);
    const onward = () => {
      const known = this.#headers.find(({ prefix }) => url.startsWith(prefix));
      for (const [name, value] of Object.entries(known?.headers ?? {})) response.setHeader(name, value);
      framework();
    };
    const passOn: PassOn = (learnt) => {
      this.#learnt.set(request, learnt);
      onward();
    };
    if (!isPlain || !path.take(request, response, passOn)) onward();
  }

  /** The knowledge of a request's fast path from before it passed the request on; else undefined. */
  learnt(request: IncomingMessage): unknown {
    return this.#learnt.get(request);
  }
}

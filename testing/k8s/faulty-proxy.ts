import { createServer, type Server, type Socket } from 'node:net';
import { connect, createSecureContext, TLSSocket } from 'node:tls';
import { onTestFinished } from 'vitest';
import { server } from './cluster.ts';

// A proxy of the tests' own before the API server, with the server's certificate, that does to connections what
// networks and overloaded servers do: reset them, fall silent, refuse, or answer in the server's place.

interface Link {
  raw: Socket;
  client: TLSSocket;
  upstream: TLSSocket;
  /** A muted link stays open, and nothing passes any more in either direction. */
  isMuted: boolean;
  /** Called instead of passing the next answer on. */
  onAnswer?: () => void;
}

/** Calls `spring` at the `nth` request that matches: instead of passing it on, or instead of passing its answer on. */
interface Trap {
  readonly matches: RegExp;
  readonly when: 'before' | 'after';
  nth: number;
  readonly spring: () => void;
}

interface Fault {
  matches: RegExp;
  status: number;
  headers: Record<string, string>;
  body: object;
  times: number;
}

export class FaultyProxy {
  /** Every request line that came, as `GET /api/…`. */
  readonly requests: string[] = [];
  /** How many connections there have been. */
  linksEver = 0;
  readonly #links = new Set<Link>();
  readonly #server: Server;
  #faults: Fault[] = [];
  #trap: Trap | null = null;
  #isRefusing = false;
  #isMuting = false;

  private constructor() {
    this.#server = createServer((raw) => this.#link(raw));
  }

  /** A proxy on a free port, closed when the test ends. */
  static async start(): Promise<FaultyProxy> {
    const proxy = await FaultyProxy.open();
    onTestFinished(() => proxy.close());
    return proxy;
  }

  /** A proxy on a free port; who opens it closes it. */
  static async open(): Promise<FaultyProxy> {
    const proxy = new FaultyProxy();
    await new Promise<void>((resolve) => proxy.#server.listen(0, '127.0.0.1', resolve));
    return proxy;
  }

  async close(): Promise<void> {
    this.reset();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  get url(): string {
    const address = this.#server.address();
    if (typeof address !== 'object' || !address) throw new Error('the proxy does not listen');
    return `https://127.0.0.1:${address.port}`;
  }

  get openLinks(): number {
    return this.#links.size;
  }

  /** Resets every open connection. */
  reset(): void {
    for (const link of this.#links) {
      link.raw.resetAndDestroy();
      link.upstream.destroy();
    }
    this.#links.clear();
  }

  /** Lets the open connections fall silent; new ones work, unless they are to be silent too. */
  mute({ alsoNew = false } = {}): void {
    this.#isMuting = alsoNew;
    for (const link of this.#links) link.isMuted = true;
  }

  /** Ends the silence for new connections. Those that fell silent stay so and are reset. */
  speak(): void {
    this.#isMuting = false;
    this.reset();
  }

  /** Resets what is open, and what comes from now on, until `accept()`. */
  refuse(): void {
    this.#isRefusing = true;
    this.reset();
  }

  accept(): void {
    this.#isRefusing = false;
  }

  /** Answers the next `times` requests whose line matches, in the server's place. */
  answer(
    matches: RegExp,
    status: number,
    rest: { headers?: Record<string, string>; body?: object; times?: number } = {},
  ) {
    const { headers = {}, body = { kind: 'Status', code: status, message: 'by the proxy' }, times = 1 } = rest;
    this.#faults.push({ matches, status, headers, body, times });
  }

  /** Lays a trap, once; the request, or its answer, is lost with it. */
  trap(trap: Trap): void {
    this.#trap = trap;
  }

  /** How many requests came whose line matches. */
  count(matches: RegExp): number {
    return this.requests.filter((line) => matches.test(line)).length;
  }

  #link(raw: Socket): void {
    if (this.#isRefusing) return void raw.resetAndDestroy();
    const secureContext = createSecureContext({ key: server.serverKey, cert: server.caCert });
    const client = new TLSSocket(raw, { isServer: true, secureContext });
    const { hostname: host, port } = new URL(server.url);
    const upstream = connect({ host, port: Number(port), ca: server.caCert });
    const link: Link = { raw, client, upstream, isMuted: this.#isMuting };
    this.#links.add(link);
    this.linksEver += 1;
    client.on('data', (chunk: Buffer) => {
      if (!link.isMuted && !this.#answered(link, chunk)) upstream.write(chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (link.onAnswer !== undefined) {
        link.isMuted = true;
        link.onAnswer();
      }
      if (!link.isMuted) client.write(chunk);
    });
    for (const end of [raw, client, upstream]) {
      end.on('error', () => {});
      end.on('close', () => {
        this.#links.delete(link);
        client.destroy();
        upstream.destroy();
      });
    }
  }

  // Our client sends one request at a time on a connection, so a request's line is always the start of a chunk.
  #answered(link: Link, chunk: Buffer): boolean {
    const line = /^([A-Z]+ \S+) HTTP\/1\.1\r\n/.exec(chunk.toString('latin1'))?.[1];
    if (line === undefined) return false;
    this.requests.push(line);
    if (this.#trap?.matches.test(line) === true && --this.#trap.nth === 0) {
      const { when, spring } = this.#trap;
      this.#trap = null;
      if (when === 'after') link.onAnswer = spring;
      else {
        link.isMuted = true;
        spring();
        return true;
      }
    }
    const fault = this.#faults.find(({ matches, times }) => times > 0 && matches.test(line));
    if (!fault) return false;
    fault.times -= 1;
    const text = JSON.stringify(fault.body);
    const headers = { 'content-type': 'application/json', 'content-length': String(text.length), ...fault.headers };
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`);
    link.client.write(`HTTP/1.1 ${fault.status} Fault\r\n${lines.join('\r\n')}\r\n\r\n${text}`);
    return true;
  }
}

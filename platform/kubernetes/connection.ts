import { createHash } from 'node:crypto';
import { type Dispatcher, Pool, ProxyAgent } from 'undici';
import { answerBytesMax, refusalBytesMax, answerText } from './bounded-text.ts';
import type { Access, Credentials, TlsMaterial } from './credentials.ts';
import { KubeError, type KubeStatus } from './errors.ts';
import { RequestLimits } from './request-limits.ts';

/** The settings of a connection; the defaults suit an API server in the same cluster. */
export interface ConnectionOptions {
  /** The time limit of one request with its answer, in milliseconds. A watch must open within it. */
  timeoutMs?: number;
  /** The most sockets at once. A watch holds one while it runs. */
  connectionsMax?: number;
  /** The most bytes of an answer, a watch aside. */
  answerBytesMax?: number;
  /** The name of this client in the API server's audit log and metrics. */
  userAgent?: string;
}

/** One request; `path` includes the query. */
export interface KubeRequest {
  method: 'GET' | 'POST' | 'PATCH' | 'DELETE';
  path: string;
  /** Sent as JSON of this content type. */
  body?: { type: string; value: unknown };
  signal?: AbortSignal | undefined;
  /** Called right before the request is sent; when it throws, nothing is sent and the error is thrown. */
  guard?: (() => void) | undefined;
  /** The request in words, for errors: `create jobs media/mj-1`. */
  what: string;
}

/** An open stream; `close` frees its socket. */
export interface OpenStream {
  chunks: AsyncIterable<string>;
  close(): void;
}

// How long credentials are cached, to avoid a call for each request. Their source tracks when they expire.
const accessTtlMs = 10_000;

// kube-apiserver closes an idle connection after 90 s, and load balancers commonly after 60 s: this side closes first.
const idleSocketMs = 45_000;

/** Kept-alive connections to one API server, with credentials that are renewed when they change. */
export class Connection {
  readonly #credentials: Credentials;
  readonly #origin: string;
  readonly #basePath: string;
  readonly #timeoutMs: number;
  readonly #connectionsMax: number;
  readonly #answerBytesMax: number;
  readonly #userAgent: string;
  #access: { value: Promise<Access>; untilMs: number } | undefined;
  #pool: { dispatcher: Dispatcher; fingerprint: string } | undefined;
  /** That pool, and earlier ones that still have requests or watches. */
  readonly #pools = new Set<Dispatcher>();
  #isClosed = false;

  constructor(credentials: Credentials, options: ConnectionOptions = {}) {
    const server = new URL(credentials.server);
    this.#credentials = credentials;
    this.#origin = server.origin;
    this.#basePath = server.pathname.replace(/\/+$/, '');
    this.#timeoutMs = options.timeoutMs ?? 30_000;
    this.#connectionsMax = options.connectionsMax ?? 32;
    this.#answerBytesMax = options.answerBytesMax ?? answerBytesMax;
    this.#userAgent = options.userAgent ?? 'reelwright';
  }

  /** Sends a request and reads the whole answer, which is JSON. Throws `KubeError`, or the reason of an abort. */
  async exchange(request: KubeRequest): Promise<unknown> {
    using limits = new RequestLimits(request.signal, this.#timeoutMs);
    try {
      const answer = await this.#send(request, limits.signal);
      if (answer.statusCode >= 300) throw await refusal(request.what, answer);
      const text = await answerText(answer.body, this.#answerBytesMax, request.what);
      return text === '' ? undefined : JSON.parse(text);
    } catch (error) {
      throw limits.explain(request.what, error);
    }
  }

  /** Sends a request whose answer has no end of its own. The time limit is for the opening alone. */
  async open(request: KubeRequest): Promise<OpenStream> {
    const limits = new RequestLimits(request.signal, this.#timeoutMs);
    try {
      const answer = await this.#send(request, limits.signal);
      if (answer.statusCode >= 300) throw await refusal(request.what, answer);
      limits.lift();
      const { body } = answer;
      body.setEncoding('utf8');
      return { chunks: explained(body, limits, request.what), close: () => closeStream(body, limits) };
    } catch (error) {
      limits[Symbol.dispose]();
      throw limits.explain(request.what, error);
    }
  }

  /** Closes every socket at once; requests and streams that run are broken off, and later requests are refused. */
  async close(): Promise<void> {
    this.#isClosed = true;
    await Promise.all([...this.#pools].map((dispatcher) => dispatcher.destroy()));
  }

  async #send(request: KubeRequest, signal: AbortSignal): Promise<Dispatcher.ResponseData> {
    const answer = await this.#sendOnce(request, signal, false);
    if (answer.statusCode !== 401) return answer;
    // A token may have been revoked or replaced early: one more try, with credentials read again.
    await answer.body.dump();
    return this.#sendOnce(request, signal, true);
  }

  async #sendOnce(request: KubeRequest, signal: AbortSignal, isRefused: boolean): Promise<Dispatcher.ResponseData> {
    const access = await this.#currentAccess(request.what, isRefused);
    if (this.#isClosed) {
      throw new KubeError(`${request.what}: the connection was closed`, { status: 0, reason: 'Unreachable' });
    }
    const dispatcher = this.#dispatcherFor(access.tls);
    request.guard?.();
    return dispatcher.request({
      origin: this.#origin,
      path: this.#basePath + request.path,
      method: request.method,
      headers: {
        accept: 'application/json',
        'user-agent': this.#userAgent,
        ...access.headers,
        ...(request.body ? { 'content-type': request.body.type } : {}),
      },
      body: request.body ? JSON.stringify(request.body.value) : null,
      signal,
      headersTimeout: 0,
      bodyTimeout: 0,
    });
  }

  async #currentAccess(what: string, isRefused: boolean): Promise<Access> {
    const nowMs = performance.now();
    if (isRefused || !this.#access || nowMs >= this.#access.untilMs) {
      this.#access = { value: this.#credentials.access(isRefused), untilMs: nowMs + accessTtlMs };
    }
    try {
      return await this.#access.value;
    } catch (error) {
      this.#access = undefined;
      throw new KubeError(`${what}: no credentials`, { status: 0, reason: 'Unauthorized' }, { cause: error });
    }
  }

  // A changed certificate needs new connections; the old ones close with their last request or watch.
  #dispatcherFor(tls: TlsMaterial): Dispatcher {
    const fingerprint = fingerprintOf(tls);
    if (this.#pool?.fingerprint === fingerprint) return this.#pool.dispatcher;
    const old = this.#pool?.dispatcher;
    const dispatcher = this.#newDispatcher(tls);
    this.#pool = { dispatcher, fingerprint };
    this.#pools.add(dispatcher);
    if (old !== undefined) void this.#retire(old);
    return dispatcher;
  }

  async #retire(old: Dispatcher): Promise<void> {
    // It fails for a pool that was destroyed.
    await old.close().catch(() => undefined);
    this.#pools.delete(old);
  }

  #newDispatcher(tls: TlsMaterial): Dispatcher {
    const { proxy } = this.#credentials;
    // HTTP/1.1 on purpose: aborting a silent watch then closes its socket, while in HTTP/2 the dead connection would
    // still carry all other requests.
    const shape = { allowH2: false, pipelining: 1, keepAliveTimeout: idleSocketMs, connections: this.#connectionsMax };
    const connect = { timeout: 10_000, keepAlive: true, keepAliveInitialDelay: 30_000 };
    if (proxy !== undefined) return new ProxyAgent({ uri: proxy, requestTls: { ...tls, ...connect }, ...shape });
    return new Pool(this.#origin, { ...shape, connect: { ...tls, ...connect } });
  }
}

async function refusal(what: string, { statusCode, headers, body }: Dispatcher.ResponseData): Promise<KubeError> {
  const text = await answerText(body, refusalBytesMax, what);
  const retryAfter = headers['retry-after'];
  return KubeError.ofStatus(
    what,
    statusCode,
    refusalStatus(text),
    typeof retryAfter === 'string' ? retryAfter : undefined,
  );
}

function refusalStatus(text: string): KubeStatus {
  try {
    return JSON.parse(text) as KubeStatus;
  } catch {
    // Not a Status of the API server: a proxy answered.
    return { message: text.slice(0, 200) };
  }
}

async function* explained(chunks: AsyncIterable<string>, limits: RequestLimits, what: string): AsyncGenerator<string> {
  try {
    yield* chunks;
  } catch (error) {
    throw limits.explain(what, error);
  }
}

function closeStream(body: Dispatcher.ResponseData['body'], limits: RequestLimits): void {
  // A destroyed body emits an error, which has no reader any more.
  body.on('error', () => {});
  limits.abort();
  body.destroy();
}

function fingerprintOf({ ca, cert, key, servername, rejectUnauthorized }: TlsMaterial): string {
  const hash = createHash('sha256');
  for (const part of [ca, cert, key, servername]) hash.update(part ?? '').update('\0');
  return hash.update(String(rejectUnauthorized)).digest('base64');
}

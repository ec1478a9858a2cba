import { connect as connectTcp, isIP, type Socket } from 'node:net';
import { connect as connectTls } from 'node:tls';
import { KnownProblem } from '#domain/errors.ts';
import type { BlockPool } from '../../blocks.ts';
import type { ByteRange, Download } from '../../object-store.ts';
import { RawBody, type RawSource } from './raw-body.ts';
import { RawAnswerStart } from './raw-answer.ts';

// The raw path to a storage server: HTTP/1.1 on a socket whose bytes go into large blocks that are sent on as they are.
// A general HTTP client copies each body through small buffers and a stream, which costs two to three times as much
// (docs/design/delivery.md). It knows one exchange: a GET, answered by a 200 or 206 with a length or a plain refusal.
// For any other answer it closes the connection and returns null, and the caller repeats the request on the SDK path.
//
// A connection is in one of these states, and a failure in any of them ends it:
//   idle      no request is sent; an incoming byte is unexpected and closes it
//   waiting   the request is sent, the head has not come whole
//   body      the head has come; bytes go into the body's blocks until it is complete, then it is idle again
//   ended     closed

/** Shorter than servers usually keep connections: a request on one that is being closed is repeated. */
const idleTimeoutMs = 4_000;
const connectTimeoutMs = 5_000;

/** A GET of an object. */
export interface RawRequest {
  readonly key: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  /** The one that the headers request. */
  readonly range: Required<ByteRange> | undefined;
}

export interface RawAddress {
  readonly isSecure: boolean;
  readonly host: string;
  readonly port: number;
  /** The longest wait for the head of an answer, or for another byte. */
  readonly timeoutMs: number;
}

/** The parts that connections to one server share. */
export interface RawShared {
  readonly address: RawAddress;
  /** Where new blocks come from. */
  blocks: BlockPool;
  /** As of the last tick. */
  nowMs: number;
}

interface ConnectionEvents {
  /** It can take another request. */
  readonly onIdle: () => void;
  readonly onEnd: () => void;
}

/** `missing`: there is no such object. Null: an answer that this path does not understand, or a failed connection. */
export type RawAnswer = Download | 'missing' | null;

interface PendingAnswer {
  readonly key: string;
  readonly resolve: (answer: RawAnswer) => void;
  readonly reject: (error: Error) => void;
}

/** One connection. Its owner calls `onTick` at intervals. */
export class RawConnection implements RawSource {
  readonly shared: RawShared;
  readonly #events: ConnectionEvents;
  readonly #socket: Socket;
  readonly #start = new RawAnswerStart();
  #state: 'idle' | 'waiting' | 'body' | 'ended' = 'idle';
  #pending: PendingAnswer | null = null;
  #body: RawBody | null = null;
  #isKeptAlive = false;
  #isPaused = false;
  /** When it came to its state; while a body comes, the time of its last byte or of the end of a pause. */
  #sinceMs = 0;

  constructor(shared: RawShared, events: ConnectionEvents) {
    this.shared = shared;
    this.#events = events;
    this.#socket = openSocket(shared.address, { room: () => this.#room(), onRead: (count) => this.#onRead(count) });
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('end', () => this.#fail(new Error('the server closed the connection')));
    this.#socket.on('close', () => this.#fail(new Error('the connection was closed')));
  }

  /** @throws KnownProblem `storage_error` when the server fails or does not answer in time */
  async get({ key, path, headers, range }: RawRequest, signal: AbortSignal | undefined): Promise<RawAnswer> {
    const { promise, resolve, reject } = Promise.withResolvers<RawAnswer>();
    this.#pending = { key, resolve, reject };
    this.#state = 'waiting';
    this.#sinceMs = this.shared.nowMs;
    this.#start.reset(range);
    this.#socket.ref();
    this.#socket.write(requestText(path, headers), 'latin1');
    return closedByAbort(promise, this, signal);
  }

  close(): void {
    this.#fail(new Error('the connection was closed here'));
  }

  onTick(): void {
    const { nowMs, address } = this.shared;
    const elapsedMs = nowMs - this.#sinceMs;
    if (this.#state === 'idle' && elapsedMs > idleTimeoutMs) this.close();
    else if (this.#state === 'waiting') this.#checkAnswerTime(elapsedMs);
    // A reader that pauses is not the server's fault.
    else if (this.#body?.isStarted !== true || this.#isPaused) return;
    else if (elapsedMs > address.timeoutMs) this.#fail(new Error('the server stopped answering'));
    else this.#body.onTick();
  }

  #checkAnswerTime(elapsedMs: number): void {
    const { timeoutMs } = this.shared.address;
    if (this.#socket.connecting && elapsedMs > Math.min(timeoutMs, connectTimeoutMs)) this.close();
    if (elapsedMs <= timeoutMs) return;
    this.#pending?.reject(new KnownProblem('storage_error', 'Object storage did not answer in time.'));
    this.close();
  }

  /** The memory that the next read writes into. It is asked for after each read, so it must fit what comes then. */
  #room(): Buffer {
    if (this.#state === 'waiting') return this.#start.room;
    return this.#body === null || this.#body.isComplete ? this.#start.memory : this.#body.room();
  }

  /** False stops the reading until the socket is resumed. */
  #onRead(count: number): boolean {
    if (this.#state === 'waiting') this.#onStart(count);
    else if (this.#body === null || this.#body.isComplete) this.close();
    else {
      this.#sinceMs = this.shared.nowMs;
      this.#body.onBytes(count);
      this.#finishIfComplete();
    }
    return !this.#isPaused;
  }

  #onStart(count: number): void {
    const start = this.#start.onBytes(count);
    if (start.kind === 'incomplete') return;
    const pending = this.#pending;
    if (start.kind === 'unfit' || pending === null) return this.close();
    if (start.kind === 'failed') {
      const cause = new Error(`object storage answered ${start.status}`);
      pending.reject(new KnownProblem('storage_error', undefined, { cause }));
      return this.close();
    }
    this.#pending = null;
    if (start.kind === 'missing') {
      pending.resolve('missing');
      return start.isReusable ? this.#rest() : this.close();
    }
    const { bodyBytes, sizeBytes, etag, lastModified, isKeptAlive } = start.head;
    const info = { key: pending.key, sizeBytes, etag, lastModified };
    this.#body = new RawBody(this, info, { bodyBytes, early: start.early });
    this.#isKeptAlive = isKeptAlive;
    this.#state = 'body';
    // A server that closes after the whole of an answer does not fail it, so no more is read until it is taken.
    if (this.#body.isComplete) this.pause();
    pending.resolve(this.#body);
  }

  pause(): void {
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(): void {
    if (!this.#isPaused) return;
    this.#isPaused = false;
    this.#sinceMs = this.shared.nowMs;
    this.#socket.resume();
  }

  onStarted(): void {
    this.#sinceMs = this.shared.nowMs;
    if (this.#body?.isComplete === true) this.#finishIfComplete();
    else this.resume();
  }

  #finishIfComplete(): void {
    const body = this.#body;
    if (body?.isComplete !== true || !body.isStarted) return;
    const receiver = body.complete();
    // The receiver of the last piece may have closed the connection.
    if (this.#state !== 'body' || receiver === null) return;
    this.#body = null;
    if (this.#isKeptAlive) this.#rest();
    else this.close();
    receiver.onEnd();
  }

  #rest(): void {
    this.#state = 'idle';
    this.resume();
    this.#sinceMs = this.shared.nowMs;
    // An idle connection must not keep the process alive.
    this.#socket.unref();
    this.#events.onIdle();
  }

  #fail(cause: Error): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    this.#socket.destroy();
    this.#events.onEnd();
    this.#pending?.resolve(null);
    this.#pending = null;
    this.#body?.fail(cause);
    this.#body = null;
  }
}

async function closedByAbort<T>(work: Promise<T>, it: { close(): void }, signal: AbortSignal | undefined): Promise<T> {
  const onAbort = () => it.close();
  signal?.addEventListener('abort', onAbort, { once: true });
  try {
    return await work;
  } finally {
    signal?.removeEventListener('abort', onAbort);
  }
}

function requestText(path: string, headers: RawRequest['headers']): string {
  let text = `GET ${path} HTTP/1.1\r\n`;
  for (const name in headers) text += `${name}: ${headers[name]}\r\n`;
  return `${text}\r\n`;
}

interface SocketReads {
  readonly room: () => Buffer;
  readonly onRead: (count: number) => boolean;
}

function openSocket({ isSecure, host, port }: RawAddress, { room, onRead }: SocketReads): Socket {
  const options = { host, port, noDelay: true, onread: { buffer: room, callback: onRead } };
  if (!isSecure) return connectTcp(options);
  // A certificate for an address is checked against it; the server name of TLS cannot be an address (RFC 6066).
  return connectTls({ ...options, ALPNProtocols: ['http/1.1'], ...(isIP(host) === 0 && { servername: host }) });
}

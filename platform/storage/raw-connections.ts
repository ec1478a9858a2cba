import { connect, type Socket } from 'node:net';
import { KnownProblem } from '#domain/errors.ts';
import { type Block, BlockPool, type Piece } from './blocks.ts';
import type { Download, ObjectInfo, PieceReceiver } from './object-store.ts';
import { readRawHead } from './raw-head.ts';

// The fast way to a storage server that speaks plain http. A client of HTTP for everything copies each body through
// buffers of 64 kB and a stream; what that costs is most of what delivery costs (docs/decisions/0050). Here the kernel
// writes into blocks that are sent on as they are. It knows one exchange: a GET, answered by a 200 with a length. Of
// anything else it says `null`, closes the connection, and the caller asks again in the careful way.
//
// A connection is in one of these states, and a failure in any of them ends it:
//   idle      no request is out; a byte that comes is nobody's
//   waiting   the request is sent, the head has not come whole
//   open      the head has come, and nobody has started to read: the socket is paused after the next piece
//   body      bytes go into blocks; a full one is handed on, and what lies in one that is not full after a while (5 ms
//             at the beginning, for the sake of the first byte, then 25 ms: each piece costs as much as its sending)
// A body that has come whole brings it back to idle; one that is not wanted any more ends it.

const headBytesMax = 16 * 1024;
const firstHandOnAfterMs = 5;
const handOnAfterMs = 25;
/** Shorter than servers usually keep connections: a request on one that is being closed is asked again. */
const idleTimeoutMs = 4_000;
const connectTimeoutMs = 5_000;

/** A GET of an object, with its headers as lines. */
interface RawRequest {
  readonly key: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

interface Address {
  readonly host: string;
  readonly port: number;
  /** How long the server may let wait for its answer, or for another byte. */
  readonly timeoutMs: number;
}

/** Connections to one server, kept for the next request. */
export class RawConnections {
  readonly #address: Address;
  readonly #blocks = new BlockPool();
  readonly #all = new Set<RawConnection>();
  #idle: RawConnection[] = [];

  constructor(address: Address) {
    this.#address = address;
  }

  /** Null when this way does not lead there: the caller takes another, and learns what is wrong. */
  ask(request: RawRequest, signal: AbortSignal): Promise<Download | null> {
    return this.#connection().ask(request, signal);
  }

  close(): void {
    for (const connection of this.#all) connection.end();
  }

  #connection(): RawConnection {
    // The one used last: the others grow old and are closed by the server or by their own time.
    const kept = this.#idle.pop();
    if (kept?.isFresh === true) return kept;
    kept?.end();
    const connection = new RawConnection(this.#address, this.#blocks, {
      onIdle: () => this.#idle.push(connection),
      onEnd: () => {
        this.#all.delete(connection);
        this.#idle = this.#idle.filter((other) => other !== connection);
      },
    });
    this.#all.add(connection);
    return connection;
  }
}

interface ConnectionEvents {
  readonly onIdle: () => void;
  readonly onEnd: () => void;
}

class RawConnection {
  readonly #blocks: BlockPool;
  readonly #events: ConnectionEvents;
  readonly #timeoutMs: number;
  readonly #socket: Socket;
  readonly #headMemory = Buffer.allocUnsafeSlow(headBytesMax);
  #state: 'idle' | 'waiting' | 'open' | 'body' | 'ended' = 'idle';
  #headFilledBytes = 0;
  #key = '';
  #answer: ((download: Download | null) => void) | null = null;
  #download: Download | null = null;
  #isKeptAlive = false;
  #receiver: PieceReceiver | null = null;
  #block: Block | null = null;
  /** A block that was full before anyone started to read. */
  #early: Piece | null = null;
  #leftBytes = 0;
  #isPaused = false;
  #handOnTimer: NodeJS.Timeout | undefined;
  #idleSinceMs = 0;

  constructor({ host, port, timeoutMs }: Address, blocks: BlockPool, events: ConnectionEvents) {
    this.#blocks = blocks;
    this.#events = events;
    this.#timeoutMs = timeoutMs;
    this.#socket = connect({
      host,
      port,
      noDelay: true,
      onread: {
        buffer: () => this.#room(),
        callback: (count) => this.#onRead(count),
      },
    });
    this.#socket.setTimeout(Math.min(connectTimeoutMs, timeoutMs));
    this.#socket.once('connect', () => this.#watch());
    this.#socket.on('timeout', () => this.#onTimeout());
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('end', () => this.#fail(new Error('the server closed the connection')));
    this.#socket.on('close', () => this.#fail(new Error('the connection was closed')));
  }

  /** Whether it was used a moment ago. */
  get isFresh(): boolean {
    return performance.now() - this.#idleSinceMs < idleTimeoutMs;
  }

  ask({ key, path, headers }: RawRequest, signal: AbortSignal): Promise<Download | null> {
    const { promise, resolve } = Promise.withResolvers<Download | null>();
    const giveUp = () => this.end();
    signal.addEventListener('abort', giveUp, { once: true });
    this.#answer = (download) => {
      signal.removeEventListener('abort', giveUp);
      this.#answer = null;
      resolve(download);
    };
    this.#key = key;
    this.#state = 'waiting';
    this.#headFilledBytes = 0;
    this.#socket.ref();
    let request = `GET ${path} HTTP/1.1\r\n`;
    for (const name in headers) request += `${name}: ${headers[name]}\r\n`;
    this.#socket.write(`${request}\r\n`, 'latin1');
    return promise;
  }

  /** Ends the connection without a word to whoever reads. */
  end(): void {
    this.#receiver = null;
    this.#fail(new Error('the connection is not needed any more'));
  }

  /** Lets the time run anew, as each byte that is sent or comes does. */
  #watch(): void {
    this.#socket.setTimeout(this.#timeoutMs);
  }

  /** The time is that of the server, which has none to keep while a reader lets it wait. */
  #onTimeout(): void {
    if (this.#isPaused || this.#state === 'open') this.#watch();
    else this.#fail(new Error('the server stopped answering'));
  }

  /** The memory that the kernel writes into next. It is asked for after each read, so it must fit what comes then. */
  #room(): Buffer {
    if (this.#state === 'waiting') return this.#headMemory.subarray(this.#headFilledBytes);
    if (!this.#isInBody() || this.#leftBytes === 0) return this.#headMemory;
    this.#block ??= this.#blocks.take();
    const { room } = this.#block;
    // Never past the body: what comes after it is nobody's, and must be seen.
    return room.length > this.#leftBytes ? room.subarray(0, this.#leftBytes) : room;
  }

  #isInBody(): boolean {
    return this.#state === 'open' || this.#state === 'body';
  }

  /** False stops the reading until the socket is resumed. */
  #onRead(count: number): boolean {
    if (this.#state === 'waiting') this.#onHead(count);
    else if (this.#isInBody() && this.#leftBytes > 0) this.#onBody(count);
    else this.end();
    return !this.#isPaused;
  }

  #onHead(count: number): void {
    this.#headFilledBytes += count;
    const head = readRawHead(this.#headMemory.subarray(0, this.#headFilledBytes));
    if (head === 'incomplete' && this.#headFilledBytes < headBytesMax) return;
    if (head === 'incomplete' || head === 'unfit') return this.end();
    const early = this.#headMemory.subarray(head.headBytes, this.#headFilledBytes);
    // More than the body has come: this server says one thing and does another.
    if (early.length > head.sizeBytes) return this.end();
    const { sizeBytes, etag, lastModified, isKeptAlive } = head;
    this.#download = new RawDownload(this, { key: this.#key, sizeBytes, etag, lastModified });
    this.#isKeptAlive = isKeptAlive;
    this.#leftBytes = head.sizeBytes - early.length;
    this.#state = 'open';
    // What a server does after the whole of an answer is no concern of its reader.
    this.#isPaused = this.#leftBytes === 0;
    if (early.length > 0) {
      this.#block = this.#blocks.take();
      early.copy(this.#block.room);
      this.#block.fill(early.length);
    }
    this.#answer?.(this.#download);
  }

  // What follows is a download's; one that has ended has no say in what the connection does next.

  start(download: Download, receiver: PieceReceiver): void {
    if (this.#download !== download || this.#state !== 'open') {
      receiver.onFailure(storageError('The object was cut off.'));
      return;
    }
    this.#state = 'body';
    this.#receiver = receiver;
    if (this.#leftBytes > 0) {
      this.#handOnTimer = setTimeout(() => this.#handOn(), firstHandOnAfterMs);
      this.resume(download);
    }
    const early = this.#early;
    this.#early = null;
    if (early !== null) receiver.onPiece(early);
    if (this.#leftBytes === 0) this.#finish();
  }

  #onBody(count: number): void {
    this.#block?.fill(count);
    this.#leftBytes -= count;
    if (this.#block?.isFull === true) this.#handOn();
    if (this.#state === 'open') this.#isPaused = true;
    else if (this.#leftBytes === 0) this.#finish();
    else if (this.#block !== null) this.#handOnTimer ??= setTimeout(() => this.#handOn(), handOnAfterMs);
  }

  #handOn(): void {
    clearTimeout(this.#handOnTimer);
    this.#handOnTimer = undefined;
    const block = this.#block;
    if (block === null) return;
    const piece = block.handOn();
    if (block.isFull || this.#leftBytes === 0) {
      this.#block = null;
      block.release();
    }
    if (piece === null) return;
    if (this.#receiver === null) this.#early = piece;
    else this.#receiver.onPiece(piece);
  }

  #finish(): void {
    this.#handOn();
    const receiver = this.#receiver;
    // The receiver of the last piece may have ended it all.
    if (this.#state !== 'body' || receiver === null) return;
    this.#receiver = null;
    this.#state = 'idle';
    this.#download = null;
    if (this.#isKeptAlive) {
      if (this.#isPaused) this.#socket.resume();
      this.#isPaused = false;
      this.#idleSinceMs = performance.now();
      // An idle connection must not keep the process alive.
      this.#socket.unref();
      this.#events.onIdle();
    } else this.end();
    receiver.onEnd();
  }

  pause(download: Download): void {
    if (this.#download !== download || this.#state !== 'body') return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  resume(download: Download): void {
    if (this.#download !== download || this.#state !== 'body' || !this.#isPaused) return;
    this.#isPaused = false;
    this.#watch();
    this.#socket.resume();
  }

  destroy(download: Download): void {
    if (this.#download === download) this.end();
  }

  #fail(cause: Error): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    clearTimeout(this.#handOnTimer);
    this.#socket.destroy();
    this.#block?.release();
    this.#early?.release();
    this.#block = this.#early = null;
    this.#download = null;
    this.#events.onEnd();
    this.#answer?.(null);
    this.#receiver?.onFailure(storageError('The object was cut off.', cause));
    this.#receiver = null;
  }
}

/** One exchange of a connection, which is used again for others. */
class RawDownload implements Download {
  readonly info: ObjectInfo;
  readonly #connection: RawConnection;

  constructor(connection: RawConnection, info: ObjectInfo) {
    this.#connection = connection;
    this.info = info;
  }

  start(receiver: PieceReceiver): void {
    this.#connection.start(this, receiver);
  }

  pause(): void {
    this.#connection.pause(this);
  }

  resume(): void {
    this.#connection.resume(this);
  }

  destroy(): void {
    this.#connection.destroy(this);
  }
}

function storageError(message: string, cause?: Error): KnownProblem {
  return new KnownProblem('storage_error', message, cause === undefined ? {} : { cause });
}

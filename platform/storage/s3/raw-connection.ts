import { connect, type Socket } from 'node:net';
import { KnownProblem } from '#domain/errors.ts';
import type { Block, BlockPool, Piece } from '../blocks.ts';
import type { Download, ObjectInfo, PieceReceiver } from '../object-store.ts';
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
//   body      bytes go into blocks; a full one is handed on, and what lies in one that is not full after a while (at
//             once at the beginning, for the sake of the first byte, then 25 ms: each piece costs as much as its sending)
// A body that has come whole brings it back to idle; one that is not wanted any more ends it.

const headBytesMax = 16 * 1024;
const handOnAfterMs = 25;
/** Shorter than servers usually keep connections: a request on one that is being closed is asked again. */
const idleTimeoutMs = 4_000;
const connectTimeoutMs = 5_000;

/** A GET of an object. */
export interface RawRequest {
  readonly key: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
}

export interface RawAddress {
  readonly host: string;
  readonly port: number;
  /** How long the server may let wait for the head of its answer, or for another byte. */
  readonly timeoutMs: number;
}

/** What the connections to one server share. */
export interface RawShared {
  readonly address: RawAddress;
  readonly blocks: BlockPool;
  /** As of the last tick. */
  nowMs: number;
}

interface ConnectionEvents {
  /** It can be asked again. */
  readonly onIdle: () => void;
  readonly onEnd: () => void;
}

/** One connection. Its owner lets it know when time has passed. */
export class RawConnection {
  readonly #shared: RawShared;
  readonly #events: ConnectionEvents;
  readonly #socket: Socket;
  readonly #headMemory = Buffer.allocUnsafeSlow(headBytesMax);
  #state: 'idle' | 'waiting' | 'open' | 'body' | 'ended' = 'idle';
  #headFilledBytes = 0;
  #key = '';
  #answer: ((download: Download | null, error?: Error) => void) | null = null;
  #download: Download | null = null;
  #isKeptAlive = false;
  #receiver: PieceReceiver | null = null;
  #block: Block | null = null;
  /** A block that was full before anyone started to read. */
  #early: Piece | null = null;
  #leftBytes = 0;
  #isPaused = false;
  /** When it came to its state; while a body comes, its last byte or the end of a pause. */
  #sinceMs = 0;
  #handOnAtMs = 0;

  constructor(shared: RawShared, events: ConnectionEvents) {
    this.#shared = shared;
    this.#events = events;
    this.#socket = connect({
      host: shared.address.host,
      port: shared.address.port,
      noDelay: true,
      onread: {
        buffer: () => this.#room(),
        callback: (count) => this.#onRead(count),
      },
    });
    this.#socket.on('error', (error) => this.#fail(error));
    this.#socket.on('end', () => this.#fail(new Error('the server closed the connection')));
    this.#socket.on('close', () => this.#fail(new Error('the connection was closed')));
  }

  ask({ key, path, headers }: RawRequest, signal: AbortSignal | undefined): Promise<Download | null> {
    const { promise, resolve, reject } = Promise.withResolvers<Download | null>();
    const giveUp = () => this.end();
    signal?.addEventListener('abort', giveUp, { once: true });
    this.#answer = (download, error) => {
      signal?.removeEventListener('abort', giveUp);
      this.#answer = null;
      if (error === undefined) resolve(download);
      else reject(error);
    };
    this.#key = key;
    this.#state = 'waiting';
    this.#sinceMs = this.#shared.nowMs;
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

  onTick(): void {
    const { nowMs, address } = this.#shared;
    const spentMs = nowMs - this.#sinceMs;
    if (this.#state === 'idle' && spentMs > idleTimeoutMs) this.end();
    else if (this.#state === 'waiting') this.#waitFor(spentMs);
    // The server has no time to keep while a reader lets it wait.
    else if (this.#state !== 'body' || this.#isPaused) return;
    else if (spentMs > address.timeoutMs) this.#fail(new Error('the server stopped answering'));
    else if (nowMs >= this.#handOnAtMs) this.#handOn();
  }

  #waitFor(spentMs: number): void {
    const { timeoutMs } = this.#shared.address;
    if (this.#socket.connecting && spentMs > Math.min(timeoutMs, connectTimeoutMs)) this.end();
    if (spentMs <= timeoutMs) return;
    this.#answer?.(null, storageError('Object storage did not answer in time.'));
    this.end();
  }

  /** The memory that the kernel writes into next. It is asked for after each read, so it must fit what comes then. */
  #room(): Buffer {
    if (this.#state === 'waiting') return this.#headMemory.subarray(this.#headFilledBytes);
    if (!this.#isInBody() || this.#leftBytes === 0) return this.#headMemory;
    this.#block ??= this.#shared.blocks.take();
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
      this.#block = this.#shared.blocks.take();
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
      this.#sinceMs = this.#handOnAtMs = this.#shared.nowMs;
      this.resume(download);
    }
    const early = this.#early;
    this.#early = null;
    if (early !== null) receiver.onPiece(early);
    if (this.#leftBytes === 0) this.#finish();
  }

  #onBody(count: number): void {
    this.#sinceMs = this.#shared.nowMs;
    this.#block?.fill(count);
    this.#leftBytes -= count;
    if (this.#block?.isFull === true) this.#handOn();
    if (this.#state === 'open') this.#isPaused = true;
    else if (this.#leftBytes === 0) this.#finish();
  }

  #handOn(): void {
    const block = this.#block;
    if (block === null) return;
    const piece = block.handOn();
    if (block.isFull || this.#leftBytes === 0) {
      this.#block = null;
      block.release();
    }
    if (piece === null) return;
    this.#handOnAtMs = this.#shared.nowMs + handOnAfterMs;
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
      this.#sinceMs = this.#shared.nowMs;
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
    this.#sinceMs = this.#shared.nowMs;
    this.#socket.resume();
  }

  destroy(download: Download): void {
    if (this.#download === download) this.end();
  }

  #fail(cause: Error): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
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

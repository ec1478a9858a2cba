import { connect, type Socket } from 'node:net';
import { KnownProblem } from '#domain/errors.ts';
import { type Block, BlockPool } from './blocks.ts';
import type { Download, PieceReceiver } from './object-store.ts';
import { type RawHead, readRawHead } from './raw-head.ts';

// The fast way to a storage server that speaks plain http. A client of HTTP for everything copies each body through
// buffers of 64 kB and a stream; what that costs is most of what delivery costs (docs/decisions/0050). Here the kernel
// writes into blocks that are sent on as they are. It knows one exchange: a GET, answered by a 200 with a length. Of
// anything else it says `null`, closes the connection, and the caller asks again in the careful way.
//
// A connection is in one of these states, and a failure in any of them ends it:
//   idle      no request is out; a byte that comes is nobody's
//   waiting   the request is sent, the head has not come whole
//   open      the head has come; the socket is paused until someone starts to read
//   body      bytes go into blocks; a full one is handed on, and what lies in one that is not full after a while (5 ms
//             at the beginning, for the sake of the first byte, then 25 ms: each piece costs as much as its sending)
// A body that has come whole brings it back to idle; one that is not wanted any more ends it.

const headBytesMax = 16 * 1024;
const firstHandOnAfterMs = 5;
const handOnAfterMs = 25;
/** Shorter than servers usually keep connections: a request on one that is being closed is asked again. */
const idleTimeoutMs = 4_000;
const connectTimeoutMs = 5_000;

export interface RawAnswer {
  readonly head: RawHead;
  readonly body: Omit<Download, 'info'>;
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
  ask(path: string, headers: Readonly<Record<string, string>>, signal?: AbortSignal): Promise<RawAnswer | null> {
    const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`);
    return this.#connection().ask(`GET ${path} HTTP/1.1\r\n${lines.join('')}\r\n`, signal);
  }

  close(): void {
    for (const connection of this.#all) connection.end();
  }

  #connection(): RawConnection {
    // The one used last: the others grow old and are closed by the server or by their own time.
    const kept = this.#idle.pop();
    if (kept !== undefined) return kept;
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
  #answer: ((answer: RawAnswer | null) => void) | null = null;
  #head: RawHead | null = null;
  #receiver: PieceReceiver | null = null;
  #block: Block | null = null;
  #leftBytes = 0;
  #isPaused = false;
  #handOnTimer: NodeJS.Timeout | undefined;

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

  ask(request: string, signal: AbortSignal | undefined): Promise<RawAnswer | null> {
    const { promise, resolve } = Promise.withResolvers<RawAnswer | null>();
    const giveUp = () => this.end();
    signal?.addEventListener('abort', giveUp, { once: true });
    this.#answer = (answer) => {
      signal?.removeEventListener('abort', giveUp);
      this.#answer = null;
      resolve(answer);
    };
    this.#state = 'waiting';
    this.#headFilledBytes = 0;
    this.#socket.ref();
    if (!this.#socket.connecting) this.#watch();
    this.#socket.write(request, 'latin1');
    return promise;
  }

  /** Ends the connection without a word to whoever reads. */
  end(): void {
    this.#receiver = null;
    this.#fail(new Error('the connection is not needed any more'));
  }

  /** The time runs while something is awaited of the server, and not while a slow reader has paused it. */
  #watch(): void {
    this.#socket.setTimeout(this.#state === 'idle' ? idleTimeoutMs : this.#timeoutMs);
  }

  #onTimeout(): void {
    if (this.#isPaused || this.#state === 'open') return;
    this.#fail(new Error('the server stopped answering'));
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
    return this.#state !== 'open' && !this.#isPaused;
  }

  #onHead(count: number): void {
    this.#headFilledBytes += count;
    const head = readRawHead(this.#headMemory.subarray(0, this.#headFilledBytes));
    if (head === 'incomplete' && this.#headFilledBytes < headBytesMax) return;
    if (head === 'incomplete' || head === 'unfit') return this.end();
    const early = this.#headMemory.subarray(head.headBytes, this.#headFilledBytes);
    // More than the body has come: this server says one thing and does another.
    if (early.length > head.sizeBytes) return this.end();
    this.#head = head;
    this.#leftBytes = head.sizeBytes - early.length;
    this.#state = 'open';
    this.#isPaused = false;
    if (early.length > 0) {
      this.#block = this.#blocks.take();
      early.copy(this.#block.room);
      this.#block.fill(early.length);
    }
    this.#answer?.({
      head,
      body: bodyOnce({
        start: (receiver) => this.#start(receiver),
        pause: () => this.#pause(),
        resume: () => this.#resume(),
        destroy: () => this.#destroy(),
      }),
    });
  }

  #start(receiver: PieceReceiver): void {
    if (this.#state !== 'open') {
      receiver.onFailure(storageError('The object was cut off.'));
      return;
    }
    this.#state = 'body';
    this.#receiver = receiver;
    if (this.#leftBytes === 0) return this.#finish();
    this.#watch();
    this.#handOnTimer = setTimeout(() => this.#handOn(), firstHandOnAfterMs);
    this.#socket.resume();
  }

  #onBody(count: number): void {
    this.#block?.fill(count);
    this.#leftBytes -= count;
    if (this.#state !== 'body') return;
    if (this.#leftBytes === 0) this.#finish();
    else if (this.#block?.isFull === true) this.#handOn();
    else this.#handOnTimer ??= setTimeout(() => this.#handOn(), handOnAfterMs);
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
    if (this.#receiver === null) piece.release();
    else this.#receiver.onPiece(piece);
  }

  #finish(): void {
    this.#handOn();
    const receiver = this.#receiver;
    // The receiver of the last piece may have ended it all.
    if (this.#state !== 'body' || receiver === null) return;
    this.#receiver = null;
    this.#state = 'idle';
    this.#isPaused = false;
    if (this.#head?.isKeptAlive === true) {
      this.#watch();
      // An idle connection must not keep the process alive.
      this.#socket.unref();
      this.#socket.resume();
      this.#events.onIdle();
    } else this.end();
    receiver.onEnd();
  }

  #pause(): void {
    if (this.#state !== 'body') return;
    this.#isPaused = true;
    this.#socket.pause();
  }

  #resume(): void {
    if (this.#state !== 'body' || !this.#isPaused) return;
    this.#isPaused = false;
    this.#watch();
    this.#socket.resume();
  }

  #destroy(): void {
    if (this.#state === 'open' || this.#state === 'body') this.end();
  }

  #fail(cause: Error): void {
    if (this.#state === 'ended') return;
    this.#state = 'ended';
    clearTimeout(this.#handOnTimer);
    this.#socket.destroy();
    this.#block?.release();
    this.#block = null;
    this.#events.onEnd();
    this.#answer?.(null);
    this.#receiver?.onFailure(storageError('The object was cut off.', cause));
    this.#receiver = null;
  }
}

/** A body's own end: a connection is used again, and what an old body says must not reach the next one. */
function bodyOnce(body: Omit<Download, 'info'>): Omit<Download, 'info'> {
  let isOver = false;
  return {
    start: (receiver) =>
      body.start({
        onPiece: (piece) => receiver.onPiece(piece),
        onEnd: () => {
          isOver = true;
          receiver.onEnd();
        },
        onFailure: (error) => {
          isOver = true;
          receiver.onFailure(error);
        },
      }),
    pause: () => (isOver ? undefined : body.pause()),
    resume: () => (isOver ? undefined : body.resume()),
    destroy: () => (isOver ? undefined : body.destroy()),
  };
}

function storageError(message: string, cause?: Error): KnownProblem {
  return new KnownProblem('storage_error', message, cause === undefined ? {} : { cause });
}

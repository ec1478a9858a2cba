import type { IncomingMessage, Server, ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import { type ClientAddresses, addressBucket } from './client-addresses.ts';

/** The connections and times that clients may occupy. */
export interface ConnectionLimits {
  /** A connection whose response makes no progress for this time, or twice at most, is closed. */
  readonly stalledMs: number;
  /** Connections of all clients. One address, or /64, has at most as many of them as are free. */
  readonly connectionsMax: number;
  /** A client that takes fewer bytes a second of what waits for it, over `rateWindowMs`, is cut off. */
  readonly bytesPerSecondMin: number;
  readonly rateWindowMs: number;
}

/** Half of the smallest audio track, which a player needs at least. */
const defaultLimits: ConnectionLimits = {
  stalledMs: 15_000,
  connectionsMax: 8_192,
  bytesPerSecondMin: 4 * 1024,
  rateWindowMs: 30_000,
};

/** Holds the connections of a server to limits, so that clients that do not read, or hardly, cannot occupy it. */
export function limitConnections(
  server: Server,
  clients: ClientAddresses,
  given: Partial<ConnectionLimits> = {},
): void {
  const limits = { ...defaultLimits, ...given };
  new OpenConnections(clients, limits.connectionsMax).watch(server);
  closeStalled(server, limits);
  closeTrickling(server, limits);
}

/**
 * The open connections of a server. A client at its limit loses its oldest connection without a response under way,
 * such as one that never sent a whole request; the newest only when all others have a response. A trusted proxy brings
 * many clients, and may have all connections.
 */
class OpenConnections {
  readonly #clients: ClientAddresses;
  readonly #max: number;
  /** By client, the one that was active the longest ago first. */
  readonly #open = new Map<string, Set<Socket>>();
  /** The last response under way of each connection: a client may send requests without waiting. */
  readonly #answered = new WeakMap<Socket, ServerResponse>();
  #total = 0;

  constructor(clients: ClientAddresses, max: number) {
    this.#clients = clients;
    this.#max = max;
  }

  watch(server: Server): void {
    server.on('connection', (socket: Socket) => this.#onConnection(socket));
    server.on('request', (request: IncomingMessage, response: ServerResponse) => this.#onRequest(request, response));
  }

  #onConnection(socket: Socket): void {
    const address = socket.remoteAddress ?? '';
    const client = addressBucket(address);
    const open = this.#open.get(client) ?? new Set();
    const free = this.#max - this.#total;
    const isFull = this.#clients.isProxy(address) ? free === 0 : open.size >= free;
    if (isFull) {
      const idle = open.values().find((other) => !this.#answered.has(other));
      (idle ?? socket).destroy();
      if (idle === undefined) return;
      this.#forget(client, idle);
    }
    this.#open.set(client, open.add(socket));
    this.#total += 1;
    socket.once('close', () => this.#forget(client, socket));
  }

  #onRequest({ socket }: IncomingMessage, response: ServerResponse): void {
    this.#answered.set(socket, response);
    response.once('close', () => {
      if (this.#answered.get(socket) !== response) return;
      this.#answered.delete(socket);
      const open = this.#open.get(addressBucket(socket.remoteAddress ?? ''));
      // A set keeps the order of insertion.
      if (open?.delete(socket) === true) open.add(socket);
    });
  }

  #forget(client: string, socket: Socket): void {
    const open = this.#open.get(client);
    if (open?.delete(socket) !== true) return;
    this.#total -= 1;
    if (open.size === 0) this.#open.delete(client);
  }
}

/**
 * Node's socket timeout is renewed while the kernel takes bytes of a pending write. A response without a pending write,
 * such as an event stream, is left alone; idle connections have timeouts of their own.
 */
function closeStalled(server: Server, { stalledMs }: ConnectionLimits): void {
  server.setTimeout(stalledMs, (socket: Socket) => {
    const isIdle = socket.timeout !== stalledMs;
    if (isIdle || socket.writableLength > 0) socket.destroy();
  });
}

/** The state of a connection when a look at it began. */
interface Look {
  readonly atMs: number;
  readonly sentBytes: number;
  readonly queuedBytes: number;
}

/** A client that takes a few bytes at a time always makes progress; only its rate is lower than a slow one's. */
function closeTrickling(server: Server, { bytesPerSecondMin, rateWindowMs }: ConnectionLimits): void {
  const sockets = new Map<Socket, Look | null>();
  server.on('connection', (socket: Socket) => {
    sockets.set(socket, null);
    socket.once('close', () => sockets.delete(socket));
  });
  const check = () => {
    for (const [socket, before] of sockets) {
      // Without bytes that wait, it is the service that is slow.
      const now = socket.writableLength === 0 ? null : lookAt(socket);
      if (now === null || before === null) sockets.set(socket, now);
      else if (now.atMs - before.atMs >= rateWindowMs) {
        if (takenBytes(before, now) < (bytesPerSecondMin * (now.atMs - before.atMs)) / 1000) socket.destroy();
        sockets.set(socket, now);
      }
    }
  };
  const timer = setInterval(check, rateWindowMs / 4).unref();
  server.once('close', () => clearInterval(timer));
}

function lookAt(socket: Socket): Look {
  // The part of the write under way that the kernel has not taken: what Node's own timeout looks at.
  const { _handle: handle } = socket as { readonly _handle?: { readonly writeQueueSize?: number } | null };
  const queuedBytes = handle?.writeQueueSize ?? 0;
  return { atMs: performance.now(), sentBytes: socket.bytesWritten - socket.writableLength, queuedBytes };
}

/** Whole writes, and what was taken of one under way; a write that has ended may count in full. */
function takenBytes(before: Look, now: Look): number {
  const sentBytes = now.sentBytes - before.sentBytes;
  return Math.max(sentBytes, sentBytes + before.queuedBytes - now.queuedBytes);
}

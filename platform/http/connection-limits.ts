import type { Server } from 'node:http';
import type { Socket } from 'node:net';

/** What clients may occupy. */
export interface ConnectionLimits {
  /** A connection whose response makes no progress for this time, or twice at most, is closed. */
  readonly stalledMs: number;
  /** Connections over this are closed at once. */
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
export function limitConnections(server: Server, given: Partial<ConnectionLimits> = {}): void {
  const limits = { ...defaultLimits, ...given };
  server.maxConnections = limits.connectionsMax;
  closeStalled(server, limits);
  closeTrickling(server, limits);
}

/**
 * Node's socket timeout knows the progress of a pending write: it is renewed while the kernel takes bytes. A response
 * without one, such as a late one or an event stream, is left alone; other timeouts are those of idle connections.
 */
function closeStalled(server: Server, { stalledMs }: ConnectionLimits): void {
  server.setTimeout(stalledMs, (socket: Socket) => {
    const isIdle = socket.timeout !== stalledMs;
    if (isIdle || socket.writableLength > 0) socket.destroy();
  });
}

/** What a connection had taken when a look at it began. */
interface Look {
  readonly atMs: number;
  readonly sentBytes: number;
  readonly queuedBytes: number;
}

/** A client that takes a few bytes at a time makes progress for ever; only its rate differs from that of a slow one. */
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

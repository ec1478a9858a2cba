import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Piece } from '#platform/storage/blocks.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { readDownload } from '../../testing/read-download.ts';

// The fast way to a storage server, against servers that keep to HTTP in odd ways, or do not keep to it. What it cannot
// make sense of must be asked again in the careful way, and no byte may ever be taken for one of another answer.

let server: Server | undefined;
let store: ObjectStore | undefined;
let sockets: Socket[] = [];

afterEach(async () => {
  await store?.close();
  for (const socket of sockets) socket.destroy();
  sockets = [];
  await new Promise((resolve) => (server === undefined ? resolve(null) : server.close(resolve)));
  server = undefined;
});

/** Answers each request of each connection: `connection` and `request` count from 1. */
type Answer = (socket: Socket, o: { readonly connection: number; readonly request: number }) => void;

async function openAt(answer: Answer, timeoutMs = 5_000): Promise<ObjectStore> {
  let connections = 0;
  server = createServer((socket) => {
    const connection = ++connections;
    let requests = 0;
    let text = '';
    sockets.push(socket);
    socket.on('error', () => {});
    socket.on('data', (chunk: Buffer) => {
      text += chunk.toString('latin1');
      for (let end = text.indexOf('\r\n\r\n'); end >= 0; end = text.indexOf('\r\n\r\n')) {
        text = text.slice(end + 4);
        answer(socket, { connection, request: ++requests });
      }
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const keys = { accessKeyId: 'key', secretAccessKey: 'secret' };
  const rest = { region: 'us-east-1', forcePathStyle: true, chainVariables: {}, checksums: 'when_supported' as const };
  store = openObjectStore({ bucket: 'bucket', s3: { endpoint, keys, timeoutMs, ...rest } });
  return store;
}

function headOf(length: number, more = ''): string {
  return `HTTP/1.1 200 OK\r\nContent-Length: ${length}\r\nETag: "e"\r\nLast-Modified: Fri, 21 Nov 2025 00:00:00 GMT\r\n${more}\r\n`;
}

async function read(from: ObjectStore): Promise<Buffer | null> {
  const download = await from.download('key');
  return download === null ? null : readDownload(download);
}

const body = randomBytes(700_000);
const whole = (socket: Socket) => {
  socket.write(headOf(body.length));
  socket.write(body);
};

describe('the fast way', () => {
  it('reads one object after another over one connection', async () => {
    const seen: string[] = [];
    const from = await openAt((socket, { connection, request }) => {
      seen.push(`${connection}.${request}`);
      whole(socket);
    });
    for (let n = 0; n < 5; n++) expect((await read(from))?.equals(body)).toBe(true);
    expect(seen).toEqual(['1.1', '1.2', '1.3', '1.4', '1.5']);
  });

  it.each([1, 3, 50, 199, 200, 201, 5000])(
    'reads an answer that comes in pieces of %d bytes at first',
    async (size) => {
      const answer = Buffer.concat([Buffer.from(headOf(20_000)), body.subarray(0, 20_000)]);
      const from = await openAt((socket) => {
        void (async () => {
          const slowly = Math.min(answer.length, size * 40);
          for (let at = 0; at < slowly; at += size) {
            socket.write(answer.subarray(at, Math.min(at + size, slowly)));
            await sleep(1);
          }
          socket.write(answer.subarray(slowly));
        })();
      });
      for (let n = 0; n < 2; n++) expect((await read(from))?.equals(body.subarray(0, 20_000))).toBe(true);
    },
  );

  it('reads empty and tiny objects', async () => {
    const lengths = [0, 1, 0, 5, 0];
    let asked = 0;
    const from = await openAt((socket) => {
      const length = lengths[asked++] ?? 0;
      socket.write(Buffer.concat([Buffer.from(headOf(length)), body.subarray(0, length)]));
    });
    for (const length of lengths) expect(await read(from)).toEqual(body.subarray(0, length));
  });

  it('opens another connection when the server closes one', async () => {
    const from = await openAt((socket) => {
      socket.write(headOf(10, 'Connection: close\r\n'));
      socket.end(body.subarray(0, 10));
    });
    for (let n = 0; n < 3; n++) expect(await read(from)).toEqual(body.subarray(0, 10));
  });

  it('asks again when a kept connection has died meanwhile', async () => {
    const from = await openAt((socket, { request }) => {
      if (request === 1) whole(socket);
      else socket.resetAndDestroy();
    });
    for (let n = 0; n < 3; n++) expect((await read(from))?.equals(body)).toBe(true);
  });

  it('hands on what has come, without waiting for a full block', async () => {
    const from = await openAt((socket) => socket.write(headOf(1000) + 'x'.repeat(10)));
    const download = await from.download('key');
    const received = await new Promise<Piece>((resolve, reject) => {
      download?.start({ onPiece: resolve, onEnd: () => {}, onFailure: reject });
    });
    expect(received.bytes).toHaveLength(10);
    // In a block of the fast way, and not in memory of the careful one.
    expect(received.block.sizeBytes).toBeGreaterThan(64 * 1024);
    download?.destroy();
  });

  it('waits for a reader who starts late', async () => {
    let asked = 0;
    const large = Buffer.concat([body, body, body]);
    const from = await openAt((socket) => {
      asked += 1;
      socket.write(Buffer.concat([Buffer.from(headOf(large.length)), large]));
    });
    for (let n = 1; n <= 3; n++) {
      const download = (await from.download('key'))!;
      await sleep(100);
      expect((await readDownload(download)).equals(large)).toBe(true);
      expect(asked).toBe(n);
    }
  });

  it('stops reading when it is told to, and goes on', async () => {
    const large = Buffer.alloc(64 * 1024 * 1024, 'x');
    const from = await openAt((socket) => socket.write(Buffer.concat([Buffer.from(headOf(large.length)), large])));
    const download = (await from.download('key'))!;
    let received = 0;
    const ended = Promise.withResolvers<void>();
    download.start({
      onPiece: (piece) => {
        received += piece.bytes.length;
        piece.release();
        if (received < 1_000_000) download.pause();
      },
      onEnd: () => ended.resolve(),
      onFailure: ended.reject,
    });
    await sleep(300);
    expect(received).toBeLessThan(1_000_000);
    const timer = setInterval(() => download.resume(), 5);
    await ended.promise;
    clearInterval(timer);
    expect(received).toBe(large.length);
  });
});

describe('an answer that is not what was asked for', () => {
  const missing = 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n';

  it('is told by the careful way: nothing there', async () => {
    expect(await read(await openAt((socket) => socket.write(missing)))).toBeNull();
  });

  it.each([
    ['chunked', `${headOf(0).replace('Content-Length: 0', 'Transfer-Encoding: chunked')}5\r\nhello\r\n0\r\n\r\n`],
    ['without a length', headOf(0).replace('Content-Length: 0\r\n', '')],
    ['with two lengths', headOf(5, 'Content-Length: 6\r\n')],
    ['no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
    ['with a head that has no end', `HTTP/1.1 200 OK\r\n${'x-a: 1\r\n'.repeat(10_000)}`],
    ['longer than it says', headOf(5) + 'hello and more'],
  ])('and is %s is no object', async (_what, answer) => {
    const from = await openAt((socket) => socket.write(answer), 1_000);
    const outcome = await read(from).catch((error: { code?: string }) => error.code);
    // A length of five and more bytes behind it: the careful way takes the five, and the connection is used no more.
    expect(['storage_error', Buffer.from('hello')]).toContainEqual(outcome);
  });

  it('leaves nothing behind for the next request', async () => {
    const from = await openAt((socket, { connection, request }) => {
      // Bytes that nobody asked for, long after a whole answer: they must not become the next one's.
      whole(socket);
      if (connection === 1 && request === 1) setTimeout(() => socket.write(headOf(4) + 'evil'), 50);
    });
    expect((await read(from))?.equals(body)).toBe(true);
    await sleep(150);
    for (let n = 0; n < 3; n++) expect((await read(from))?.equals(body)).toBe(true);
  });
});

describe('a server that fails in the middle', () => {
  const error = expect.objectContaining({ name: 'KnownProblem', code: 'storage_error' });

  it.each([
    ['closes', (socket: Socket) => socket.end()],
    ['resets', (socket: Socket) => socket.resetAndDestroy()],
  ])('and %s fails the reading', async (_what, end) => {
    const from = await openAt((socket) => {
      socket.write(Buffer.concat([Buffer.from(headOf(body.length)), body.subarray(0, 1000)]));
      setTimeout(() => end(socket), 50);
    });
    await expect(read(from)).rejects.toEqual(error);
  });

  it('and falls silent fails it in time', async () => {
    const from = await openAt((socket) => socket.write(headOf(body.length) + 'x'), 500);
    const startedAt = performance.now();
    await expect(read(from)).rejects.toEqual(error);
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });

  it('before anyone reads tells its first reader', async () => {
    const from = await openAt((socket) => {
      socket.write(headOf(body.length) + 'x');
      setTimeout(() => socket.resetAndDestroy(), 20);
    });
    const download = (await from.download('key'))!;
    await sleep(100);
    await expect(readDownload(download)).rejects.toEqual(error);
  });
});

describe('a reading that is not wanted any more', () => {
  it('ends its connection', async () => {
    let closed = 0;
    const from = await openAt((socket) => {
      socket.once('close', () => (closed += 1));
      socket.write(headOf(body.length) + 'x');
    });
    (await from.download('key'))?.destroy();
    await vi.waitFor(() => expect(closed).toBe(1));
  });

  it('and is given up before the server answers fails with the reason', async () => {
    const from = await openAt(() => {});
    const giveUp = new AbortController();
    const opening = from.download('key', giveUp.signal);
    setTimeout(() => giveUp.abort(new Error('not wanted')), 50);
    await expect(opening).rejects.toThrow('not wanted');
  });
});

import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { createServer as createTlsServer } from 'node:tls';
import { afterEach, beforeAll, describe, expect, it, vi } from 'vitest';
import type { Piece } from '#platform/storage/blocks.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { certificate, trustCertificate } from '../../testing/certificate.ts';
import { readDownload } from '../../testing/read-download.ts';

// The raw path to a storage server, against servers that keep to HTTP in odd ways, or do not keep to it. What it does
// not understand must be requested again on the SDK path, and no byte may ever be taken for one of another answer.

beforeAll(trustCertificate);

let scheme: 'http' | 'https' = 'http';
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
type Answer = (socket: Socket, count: { readonly connection: number; readonly request: number }) => void;

async function openAt(answer: Answer, timeoutMs = 5_000): Promise<ObjectStore> {
  let connections = 0;
  const onConnection = (socket: Socket) => {
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
  };
  server = scheme === 'http' ? createServer(onConnection) : createTlsServer(certificate, onConnection);
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const endpoint = `${scheme}://127.0.0.1:${(server.address() as AddressInfo).port}`;
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

/** A TLS socket cannot be reset, only closed without the end of TLS. */
const reset = (socket: Socket) => (scheme === 'http' ? socket.resetAndDestroy() : socket.destroy());
const body = randomBytes(700_000);
const whole = (socket: Socket) => {
  socket.write(headOf(body.length));
  socket.write(body);
};

describe.each(['http', 'https'] as const)('over %s', (of) => {
  beforeAll(() => {
    scheme = of;
  });

  describe('objects', () => {
    it.each([1, 3, 50, 199, 200, 201, 5000])(
      'the raw path reads an answer that comes in pieces of %d bytes at first',
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

    it('the raw path reads ranges and whole objects over one connection, and leaves another range to the SDK path', async () => {
      const range = { start: 10, end: 19 };
      const partOf = (start: number) =>
        headOf(10, `Content-Range: bytes ${start}-${start + 9}/${body.length}\r\n`).replace(
          '200 OK',
          '206 Partial Content',
        );
      const seen: string[] = [];
      const from = await openAt((socket, { connection, request }) => {
        seen.push(`${connection}.${request}`);
        if (seen.length === 2) whole(socket);
        else socket.write(Buffer.concat([Buffer.from(partOf(seen.length === 4 ? 0 : 10)), body.subarray(10, 20)]));
      });
      const readRange = async () => readDownload((await from.download('key', { range }))!);
      expect(await readRange()).toEqual(body.subarray(10, 20));
      expect((await read(from))?.equals(body)).toBe(true);
      expect(await readRange()).toEqual(body.subarray(10, 20));
      expect(seen).toEqual(['1.1', '1.2', '1.3']);
      // The fourth answer has another range.
      expect(await readRange()).toEqual(body.subarray(10, 20));
      expect(seen).toEqual(['1.1', '1.2', '1.3', '1.4', '2.1']);
    });

    it('the raw path opens another connection when the server closes one', async () => {
      const from = await openAt((socket) => {
        socket.write(headOf(10, 'Connection: close\r\n'));
        socket.end(body.subarray(0, 10));
      });
      for (let n = 0; n < 3; n++) expect(await read(from)).toEqual(body.subarray(0, 10));
    });

    it('a request on a kept connection that has died meanwhile is repeated', async () => {
      const from = await openAt((socket, { request }) => {
        if (request === 1) whole(socket);
        else reset(socket);
      });
      for (let n = 0; n < 3; n++) expect((await read(from))?.equals(body)).toBe(true);
    });

    it('the raw path hands on received bytes without waiting for a full block', async () => {
      const from = await openAt((socket) => socket.write(headOf(1000) + 'x'.repeat(10)));
      const download = await from.download('key');
      const received = await new Promise<Piece>((resolve, reject) => {
        download?.start({ onPiece: resolve, onEnd: () => {}, onFailure: reject });
      });
      expect(received.bytes).toHaveLength(10);
      // In a block of the raw path, and not in memory of the SDK path.
      expect(received.block.sizeBytes).toBeGreaterThan(64 * 1024);
      download?.destroy();
    });

    it('a paused download stops reading from the server and goes on when it is resumed', async () => {
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
      // Another download passes it meanwhile.
      expect(await read(from)).toHaveLength(large.length);
      expect(received).toBeLessThan(1_000_000);
      const timer = setInterval(() => download.resume(), 5);
      await ended.promise;
      clearInterval(timer);
      expect(received).toBe(large.length);
    });
  });

  describe('unfit answers', () => {
    const missing = 'HTTP/1.1 404 Not Found\r\nContent-Length: 0\r\n\r\n';

    it('a 404 means that there is no such object', async () => {
      expect(await read(await openAt((socket) => socket.write(missing)))).toBeNull();
    });

    it.each([
      [
        'a chunked answer',
        `${headOf(0).replace('Content-Length: 0', 'Transfer-Encoding: chunked')}5\r\nhello\r\n0\r\n\r\n`,
      ],
      ['an answer without a length', headOf(0).replace('Content-Length: 0\r\n', '')],
      ['an answer with two lengths', headOf(5, 'Content-Length: 6\r\n')],
      ['an answer that is no HTTP', 'SSH-2.0-OpenSSH_9.2\r\n\r\n'],
      ['an answer whose head has no end', `HTTP/1.1 200 OK\r\n${'x-a: 1\r\n'.repeat(10_000)}`],
      ['an answer longer than its length', headOf(5) + 'hello and more'],
    ])('%s is never read as another object', async (_what, answer) => {
      const from = await openAt((socket) => socket.write(answer), 1_000);
      const outcome = await read(from).catch((error: { code?: string }) => error.code);
      // A length of five and more bytes behind it: the SDK path takes the five, and the connection is used no more.
      expect(['storage_error', Buffer.from('hello')]).toContainEqual(outcome);
    });

    it('unexpected bytes after an answer do not become part of the next one', async () => {
      const from = await openAt(whole);
      expect((await read(from))?.equals(body)).toBe(true);
      // Bytes that were not requested, after a whole answer: they must not become the next one's.
      const [socket] = sockets;
      socket?.write(headOf(4) + 'evil');
      await vi.waitFor(() => expect(socket?.destroyed).toBe(true));
      for (let n = 0; n < 3; n++) expect((await read(from))?.equals(body)).toBe(true);
    });
  });

  describe('failures', () => {
    const error = expect.objectContaining({ name: 'KnownProblem', code: 'storage_error' });

    it.each([
      ['closes the connection', (socket: Socket) => socket.end()],
      ['resets the connection', (socket: Socket) => reset(socket)],
    ])('a server that %s in the middle of a body fails the download', async (_what, end) => {
      const from = await openAt((socket) => {
        socket.write(Buffer.concat([Buffer.from(headOf(body.length)), body.subarray(0, 1000)]));
        setTimeout(() => end(socket), 50);
      });
      await expect(read(from)).rejects.toEqual(error);
    });

    it('a server that stops sending in the middle of a body fails the download in time', async () => {
      const from = await openAt((socket) => socket.write(headOf(body.length) + 'x'), 500);
      const startedAt = performance.now();
      await expect(read(from)).rejects.toEqual(error);
      expect(performance.now() - startedAt).toBeLessThan(3_000);
    });
  });

  describe('cancellation', () => {
    it('destroying a download closes its connection', async () => {
      let closed = 0;
      const from = await openAt((socket) => {
        socket.once('close', () => (closed += 1));
        socket.write(headOf(body.length) + 'x');
      });
      (await from.download('key'))?.destroy();
      await vi.waitFor(() => expect(closed).toBe(1));
    });

    it('a download that is aborted before the server answers fails with the reason of the abort', async () => {
      const from = await openAt(() => {});
      const giveUp = new AbortController();
      const opening = from.download('key', { signal: giveUp.signal });
      setTimeout(() => giveUp.abort(new Error('not wanted')), 50);
      await expect(opening).rejects.toThrow('not wanted');
    });
  });
});

describe('a store that ignores Range', () => {
  const object = Buffer.concat(Array.from({ length: 64 }, (_, n) => Buffer.alloc(10_000, n)));

  it.each([
    ['of its begin', { start: 0, end: 4 }],
    ['within it', { start: 9_998, end: 400_001 }],
    ['of its last byte', { start: object.length - 1, end: object.length - 1 }],
    ['to its end', { start: 600_000, end: undefined }],
  ])('C22.28: a range %s is read out of the whole object', async (_what, { start, end }) => {
    const from = await openAt((socket) => socket.write(Buffer.concat([Buffer.from(headOf(object.length)), object])));
    const wanted = object.subarray(start, (end ?? object.length) + 1);
    const got = await from.get('key', { range: { start, ...(end === undefined ? {} : { end }) } });
    expect([got?.info.sizeBytes, (await buffer(got!.body)).equals(wanted)]).toEqual([object.length, true]);
    if (end === undefined) return;
    const download = await from.download('key', { range: { start, end } });
    expect((await readDownload(download!)).equals(wanted)).toBe(true);
  });

  it('C22.28: a range past the end of the object is a storage error, and one that nobody reads ends its request', async () => {
    const closed = Promise.withResolvers<undefined>();
    const from = await openAt((socket) => {
      socket.once('close', () => closed.resolve(undefined));
      socket.write(Buffer.concat([Buffer.from(headOf(1e9)), object]));
    });
    await expect(from.get('key', { range: { start: 1e9 } })).rejects.toMatchObject({ code: 'storage_error' });
    (await from.get('key', { range: { start: 5 } }))?.body.destroy();
    await closed.promise;
  });
});

import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import type { ConnectionOptions } from '#platform/kubernetes/connection.ts';
import { KubeClient } from '#platform/kubernetes/client.ts';
import { pods } from '#platform/kubernetes/objects.ts';

// Answers of an API server that do not end, or are longer than any that it gives.

const mebibyte = 2 ** 20;
const piece = Buffer.alloc(mebibyte / 8, 'a');
/** Where the server pauses for ever, so that a client without a limit does not fill the memory of the tests. */
const sentBytesMax = 64 * mebibyte;

let server: Server | undefined;
let client: KubeClient | undefined;
let sentBytes = 0;
let closed: Promise<void>;

afterEach(async () => {
  await client?.close();
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(null) : server.close(resolve)));
});

async function clientOf(answer: RequestListener, options: ConnectionOptions = {}): Promise<KubeClient> {
  server = createServer(answer);
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const credentials = { server: url, access: () => Promise.resolve({ headers: {}, tls: {} }) };
  return (client = new KubeClient(credentials, { timeoutMs: 4000, ...options }));
}

/** Answers with this status and a body without an end. */
const endless =
  (status: number): RequestListener =>
  (_request, response) => {
    const { promise, resolve } = Promise.withResolvers<void>();
    sentBytes = 0;
    closed = promise;
    const send = () => {
      while (sentBytes < sentBytesMax) {
        sentBytes += piece.length;
        if (!response.write(piece)) return;
      }
    };
    response.writeHead(status).on('drain', send).on('close', resolve);
    send();
  };

const watchOf = (from: KubeClient) => from.watch(pods, { resourceVersion: '1', timeoutSeconds: 300 }).next();
const get = (from: KubeClient) => from.get(pods, { namespace: 'media', name: 'a' });

test.each([
  ['a list', 200, (from: KubeClient) => from.list(pods), '1048576 bytes'],
  ['a refusal', 500, get, '4194304 bytes'],
  ['a refusal of a write', 409, (from: KubeClient) => from.apply(pods, { metadata: { name: 'a' } }), '4194304 bytes'],
  ['a refusal of a watch', 410, watchOf, '4194304 bytes'],
  ['an event of a watch', 200, watchOf, '8388608 characters'],
])(
  '%s without an end is Unreachable, and its connection is closed',
  async (_what, status, request, limit) => {
    const asking = request(await clientOf(endless(status), { answerBytesMax: mebibyte }));
    await expect(asking).rejects.toMatchObject({
      name: 'KubeError',
      reason: 'Unreachable',
      message: expect.stringContaining(limit) as unknown,
    });
    await closed;
    // What the sockets of both sides hold comes on top.
    expect(sentBytes).toBeLessThan(sentBytesMax / 2);
  },
  10_000,
);

test('an answer of the longest length is read, one more byte is refused, and the next answer is read again', async () => {
  const lengths = [mebibyte, mebibyte + 1, mebibyte];
  const from = await clientOf(
    (_request, response) => {
      const head = '{"kind":"';
      response.end(`${head}${'a'.repeat((lengths.shift() ?? 0) - head.length - 2)}"}`);
    },
    { answerBytesMax: mebibyte },
  );
  expect((await get(from)).kind).toHaveLength(mebibyte - 11);
  await expect(get(from)).rejects.toMatchObject({ reason: 'Unreachable' });
  expect((await get(from)).kind).toHaveLength(mebibyte - 11);
});

test('characters that lie in two chunks are read whole', async () => {
  const bytes = Buffer.from('{"kind":"Wörter"}');
  const from = await clientOf((_request, response) => {
    response.write(bytes.subarray(0, 11));
    setTimeout(() => response.end(bytes.subarray(11)), 50);
  });
  expect(await get(from)).toEqual({ kind: 'Wörter' });
});

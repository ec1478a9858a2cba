import { once } from 'node:events';
import { createServer, type RequestListener, type Server } from 'node:http';
import { type AddressInfo, createServer as createTcpServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { OutboundError } from '#platform/outbound-http/checked-addresses.ts';
import { getOutbound } from '#platform/outbound-http/outbound-get.ts';
import { postOutbound } from '#platform/outbound-http/outbound-http.ts';

// Receivers on this machine's loopback address, which the tests allow by name and the service never does by itself.

const loopback = ['127.0.0.0/8', '::1/128'];
const open: { close: () => unknown; closeAllConnections?: () => void }[] = [];

afterEach(() => {
  for (const server of open.splice(0)) {
    server.closeAllConnections?.();
    server.close();
  }
});

async function portOf(server: Server | ReturnType<typeof createTcpServer>, host = '127.0.0.1'): Promise<number> {
  open.push(server);
  server.listen(0, host);
  await once(server, 'listening');
  return (server.address() as AddressInfo).port;
}

const receiver = (answer: RequestListener) => portOf(createServer(answer));

/** A receiver that is no HTTP server. */
const rawReceiver = (onConnection: (socket: Socket) => void) =>
  portOf(
    createTcpServer((socket) => {
      socket.on('error', () => undefined);
      onConnection(socket);
    }),
  );

type Post = Parameters<typeof postOutbound>[0];
const post = (url: string, more: Partial<Post> = {}) =>
  postOutbound({ url, headers: {}, body: '{}', timeoutMs: 2_000, allowedCidrs: loopback, ...more });

const unknownName = () => Promise.reject(Object.assign(new Error('no'), { code: 'ENOTFOUND' }));
const endless = () => new Promise<never>(() => undefined);

const failure = (code: OutboundError['code']) => expect.objectContaining({ name: 'OutboundError', code }) as unknown;

describe('outbound requests', () => {
  it('an outbound request sends the exact bytes of its body and returns status and Retry-After of the answer', async () => {
    const seen: { method: string | undefined; headers: unknown; body: string }[] = [];
    const port = await receiver((request, response) => {
      const { method, headers } = request;
      request.setEncoding('utf8').once('data', (body: string) => {
        seen.push({ method, headers, body });
        response.writeHead(503, { 'retry-after': '7' }).end('later');
      });
    });
    const answer = await post(`http://127.0.0.1:${port}/hook?x=1`, {
      body: '{"é":"☃"}',
      headers: { 'x-signature': 'a' },
    });
    expect(answer).toEqual({ statusCode: 503, retryAfter: '7' });
    expect(seen).toEqual([
      {
        method: 'POST',
        body: '{"é":"☃"}',
        headers: expect.objectContaining({
          'x-signature': 'a',
          'content-length': '12',
          connection: 'close',
        }) as unknown,
      },
    ]);
  });

  it.each(['http://127.0.0.1', 'http://[::1]', 'http://2130706433', 'http://0x7f.1', 'http://[::ffff:127.0.0.1]'])(
    'an outbound request to the literal address %s is refused unless it is allowed',
    async (origin) => {
      let visits = 0;
      const port = await receiver(() => (visits += 1));
      await expect(post(`${origin}:${port}/`, { allowedCidrs: [] })).rejects.toEqual(failure('refused_address'));
      expect(visits).toBe(0);
    },
  );

  it('C21.16: an outbound request goes to the address that was checked, also when the name resolves to another one later', async () => {
    const port = await receiver((_request, response) => response.end());
    const answers = ['127.0.0.1', '169.254.169.254'];
    let asked = 0;
    const resolve = () => Promise.resolve([{ address: answers[asked++] ?? '', family: 4 }]);
    expect(await post(`http://rebinding.example:${port}/`, { resolve })).toMatchObject({ statusCode: 200 });
    expect(asked).toBe(1);
  });

  it('an outbound request skips the refused addresses of a name and is refused when no other is left', async () => {
    const port = await receiver((_request, response) => response.end());
    let visits = 0;
    const refused = createServer((_request, response) => response.end(String((visits += 1))));
    open.push(refused);
    refused.listen(port, '127.0.0.2');
    await once(refused, 'listening');
    const names: Record<string, string[]> = {
      'mixed.example': ['127.0.0.2', '127.0.0.1'],
      'inner.example': ['127.0.0.2'],
    };
    const resolve = (name: string) => Promise.resolve((names[name] ?? []).map((address) => ({ address, family: 4 })));
    const rules = { resolve, allowedCidrs: ['127.0.0.1/32'] };
    expect(await post(`http://mixed.example:${port}/`, rules)).toMatchObject({ statusCode: 200 });
    await expect(post(`http://inner.example:${port}/`, rules)).rejects.toEqual(failure('refused_address'));
    expect(visits).toBe(0);
  });

  it('an outbound request to an unknown name fails with name_not_found', async () => {
    await expect(post('http://nowhere.example/', { resolve: unknownName })).rejects.toEqual(failure('name_not_found'));
  });

  it.each([
    ['two equal headers', 'Content-Length: 2\r\ncontent-length: 2', { statusCode: 503, retryAfter: '7' }],
    ['one header of two equal lengths', 'Content-Length: 2, 2', { statusCode: 503, retryAfter: '7' }],
    ['two lengths', 'Content-Length: 2\r\nContent-Length: 3', 'no_answer'],
    ['a length and chunks', 'Content-Length: 2\r\nTransfer-Encoding: chunked', 'no_answer'],
    ['a length that is none', 'Content-Length: +2, +2', 'no_answer'],
  ] as const)(
    'C21.27: an answer to a webhook with %s in Content-Length counts or not',
    async (_what, lines, expected) => {
      const head = `HTTP/1.1 503 Service Unavailable\r\nRetry-After: 7\r\n${lines}\r\n\r\nok`;
      const port = await rawReceiver((socket) => socket.once('data', () => socket.end(head)));
      const answer = post(`http://127.0.0.1:${port}/`);
      if (typeof expected === 'string') await expect(answer).rejects.toEqual(failure(expected));
      else expect(await answer).toEqual(expected);
    },
  );

  it('an outbound request whose receiver changes the protocol ends at once', async () => {
    const head = 'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n';
    const port = await rawReceiver((socket) => socket.once('data', () => socket.write(head)));
    await expect(post(`http://127.0.0.1:${port}/`)).rejects.toEqual(failure('no_answer'));
    const url = new URL(`http://127.0.0.1:${port}/`);
    const signal = new AbortController().signal;
    const get = getOutbound({ url, headers: {}, timeoutMs: 2_000, idleMs: 2_000, allowedCidrs: loopback, signal });
    await expect(get).rejects.toEqual(failure('no_answer'));
  });

  it('an outbound request has one deadline for the name, the connection and the answer', async () => {
    const silent = await rawReceiver(() => undefined);
    const slow = await rawReceiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\n');
      const timer = setInterval(() => socket.write('x-more: 1\r\n'), 100);
      socket.on('close', () => clearInterval(timer));
    });
    const deadline = { timeoutMs: 400 };
    const startedAt = performance.now();
    await expect(post('http://hangs.example/', { ...deadline, resolve: endless })).rejects.toEqual(failure('timeout'));
    await expect(post(`http://127.0.0.1:${silent}/`, deadline)).rejects.toEqual(failure('timeout'));
    await expect(post(`https://127.0.0.1:${silent}/`, deadline)).rejects.toEqual(failure('timeout'));
    await expect(post(`http://127.0.0.1:${slow}/`, deadline)).rejects.toEqual(failure('timeout'));
    expect(performance.now() - startedAt).toBeLessThan(3_000);
  });

  it('an outbound request takes the status of an answer whose body never ends, and closes the connection', async () => {
    const closed = Promise.withResolvers<number>();
    const port = await rawReceiver((socket) => {
      socket.write('HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n');
      const piece = `${(64 * 1024).toString(16)}\r\n${'x'.repeat(64 * 1024)}\r\n`;
      const timer = setInterval(() => socket.write(piece), 5);
      socket.on('close', () => {
        clearInterval(timer);
        closed.resolve(socket.bytesWritten);
      });
    });
    expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ statusCode: 200 });
    expect(await closed.promise).toBeLessThan(8 * 1024 * 1024);
  });

  it('the error of an outbound request shows no more than a system code', async () => {
    const closedPort = await portOf(createServer());
    await new Promise((resolve) => (open.pop() as Server).close(resolve));
    await expect(post(`http://127.0.0.1:${closedPort}/`)).rejects.toMatchObject({
      code: 'no_answer',
      message: 'no answer (ECONNREFUSED)',
    });
    const garbage = await rawReceiver((socket) => socket.end('SSH-2.0-nonsense\r\n'));
    await expect(post(`http://127.0.0.1:${garbage}/`)).rejects.toEqual(failure('no_answer'));
    await expect(post(`https://127.0.0.1:${garbage}/`)).rejects.toEqual(failure('no_answer'));
  });

  it('an outbound request is aborted with the reason of its signal', async () => {
    const silent = await rawReceiver(() => undefined);
    const stopping = new AbortController();
    const sent = post(`http://127.0.0.1:${silent}/`, { signal: stopping.signal });
    setTimeout(() => stopping.abort(new Error('stopping')), 50);
    await expect(sent).rejects.toThrow('stopping');
  });
});

import { once } from 'node:events';
import { get, type IncomingMessage, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { buffer } from 'node:stream/consumers';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { stalledClients, startDelivery, statusOf } from './delivery-rig.ts';

// One address takes all that it can get (127.0.0.2); another one (127.0.0.1) is served as before. Nothing here measures
// time: while the first one holds what it got, each request of the other is answered at all.

const hog = '127.0.0.2';
const segment = (n: number | string) => `/stream/movie/0123456789abcdef/video/r360_h264/seg_${n}.m4s`;
const mebibyte = 1024 * 1024;

interface Refusal {
  readonly status: number | undefined;
  readonly retryAfter: string | undefined;
  readonly connection: string | undefined;
}

async function answerTo(port: number, path: string, from: string, range?: string): Promise<Refusal> {
  const headers = { connection: 'keep-alive', ...(range !== undefined && { range }) };
  const asked = get({ host: '127.0.0.1', port, path, localAddress: from, headers, agent: false });
  const [response] = (await once(asked, 'response')) as [IncomingMessage];
  response.destroy();
  const { connection, 'retry-after': retryAfter } = response.headers;
  return { status: response.statusCode, retryAfter, connection };
}

/** Objects of eight mebibytes, of which the bucket gives one byte; of `seg_small` it gives all. */
const slowBucket: RequestListener = (request, response) => {
  const isSmall = request.url?.includes('seg_small') === true;
  const sizeBytes = isSmall ? 100 : 8 * mebibyte;
  const last = Number(/^bytes=0-(\d+)$/.exec(request.headers.range ?? '')?.[1] ?? sizeBytes - 1);
  const head = { etag: '"e"', 'last-modified': 'Fri, 21 Nov 2025 00:00:00 GMT', 'content-length': last + 1 };
  const range = { 'content-range': `bytes 0-${last}/${sizeBytes}` };
  if (request.method === 'HEAD') response.writeHead(200, head).end();
  else {
    if (request.headers.range === undefined) response.writeHead(200, head);
    else response.writeHead(206, { ...head, ...range });
    if (isSmall) response.end(Buffer.alloc(sizeBytes));
    else response.write('x');
  }
};

it.each([
  ['ranges', 'Range: bytes=0-\r\n', 'bytes=0-99'],
  ['whole objects', '', undefined],
])(
  'C17.27: an address that reads hundreds of %s slowly is refused more and disconnected, and another one reads on',
  async (_what, header, range) => {
    const { port, requests } = await startDelivery(slowBucket, { timeoutMs: 60_000 });
    const request = (n: number) => `GET ${segment(n)} HTTP/1.1\r\nHost: a\r\n${header}\r\n`;
    const sockets = await stalledClients(port, 320, request, hog);
    const reads = () => requests.filter((line) => line.startsWith('GET')).length;
    await expect.poll(reads, { timeout: 40_000 }).toBe(288);
    const refusal = { status: 503, retryAfter: '1', connection: 'close' };
    expect(await answerTo(port, segment('more'), hog, range)).toEqual(refusal);
    expect((await answerTo(port, segment('small'), '127.0.0.1', range)).status).toBe(range === undefined ? 200 : 206);
    for (const socket of sockets) socket.destroy();
    // What it held is given back.
    await expect.poll(async () => (await answerTo(port, segment('small'), hog, range)).status).toBeLessThan(300);
  },
  60_000,
);

it('C17.36: ranges of one address take their time while another one makes requests', async () => {
  const bytes = Buffer.alloc(8 * mebibyte);
  const { port } = await startDelivery((request, response) => {
    const [start = 0, end = bytes.length - 1] =
      /^bytes=(\d+)-(\d+)$/
        .exec(request.headers.range ?? '')
        ?.slice(1)
        .map(Number) ?? [];
    const body = bytes.subarray(start, end + 1);
    const head = { etag: '"e"', 'last-modified': 'Fri, 21 Nov 2025 00:00:00 GMT', 'content-length': body.length };
    if (request.headers.range === undefined) response.writeHead(200, head);
    else response.writeHead(206, { ...head, 'content-range': `bytes ${start}-${end}/${bytes.length}` });
    response.end(request.method === 'HEAD' ? undefined : body);
  });
  const readAll = async (n: number, from: string) => {
    const headers = { range: 'bytes=0-' };
    const asked = get({ host: '127.0.0.1', port, path: segment(n), localAddress: from, headers, agent: false });
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    return (await buffer(response)).length;
  };
  expect(await readAll(0, '127.0.0.1')).toBe(bytes.length);
  const startedAtMs = performance.now();
  const sizes = await Promise.all(Array.from({ length: 8 }, (_, n) => readAll(n, hog)));
  expect(sizes).toEqual(sizes.map(() => bytes.length));
  // All but the first mebibyte, and what a client that waits has been given already.
  expect(performance.now() - startedAtMs).toBeGreaterThan((1000 * (64 - 2)) / 32);
});

const isOpen = (socket: Socket | undefined) => socket?.destroyed === false;

it('C17.26: an address at its limit of connections loses its oldest idle one, and another one connects', async () => {
  const { port, connectionCount } = await startDelivery((_request, response) => response.writeHead(404).end(), {
    connectionsMax: 40,
    addRoutes: (app) => app.get('/late', async () => sleep(2_000, 'late')),
  });
  const [answered] = await stalledClients(port, 1, 'GET /late HTTP/1.1\r\nHost: a\r\n\r\n', hog);
  const halfSent: Socket[] = [];
  for (let n = 0; n < 100; n++) halfSent.push(...(await stalledClients(port, 1, 'GET / HTTP/1.1\r\n', hog)));
  for (const socket of halfSent) socket.resume();
  await expect.poll(connectionCount).toBe(20);
  await expect.poll(() => halfSent.filter(isOpen).length).toBe(19);
  expect(isOpen(halfSent.at(0))).toBe(false);
  expect(isOpen(halfSent.at(-1))).toBe(true);
  expect(await statusOf(port, '/healthz')).toBe(200);
  // The one that is being answered is left alone, though it is the oldest.
  let text = '';
  answered?.on('data', (chunk: Buffer) => (text += chunk.toString())).resume();
  await expect.poll(() => text).toContain('late');
  for (const socket of halfSent) socket.destroy();
});

it('C17.28: a request whose head is not whole within ten seconds is answered 408', async () => {
  const { port } = await startDelivery((_request, response) => response.writeHead(404).end());
  const [half, silent] = await stalledClients(port, 2, (n) => (n === 0 ? 'GET / HTTP/1.1\r\n' : ''));
  let text = '';
  half?.on('data', (chunk: Buffer) => (text += chunk.toString())).resume();
  silent?.on('data', () => expect.unreachable('a client that sent nothing gets no answer')).resume();
  await Promise.all([half, silent].map((socket) => once(socket as Socket, 'close')));
  expect(text).toContain('HTTP/1.1 408');
}, 30_000);

const requestOf = (n: number) => `GET ${segment(`slow_${n}`)} HTTP/1.1\r\nHost: a\r\n\r\n`;

/** Reads at most 64 KiB at a time, twice a second: makes progress, and holds its connection for minutes. */
function trickle(socket: Socket): void {
  socket.on('data', () => {
    socket.pause();
    setTimeout(() => socket.resume(), 500);
  });
  socket.resume();
}

it('C17.25: hundreds of clients that read nothing or a little are closed, and healthy ones play on', async () => {
  const bytes = Buffer.alloc(8 * mebibyte, 'x');
  const head = { etag: '"e"', 'last-modified': 'Fri, 21 Nov 2025 00:00:00 GMT' };
  const { port, requests, connectionCount } = await startDelivery(
    (request, response) => {
      const body = request.url?.includes('healthy') === true ? bytes.subarray(0, mebibyte / 2) : bytes;
      response.writeHead(200, { ...head, 'content-length': body.length }).end(body);
    },
    // A busy machine answers for its bucket after more than ten seconds.
    { stalledMs: 60_000, bytesPerSecondMin: mebibyte / 4, rateWindowMs: 5_000, timeoutMs: 60_000 },
  );
  const rssBefore = process.memoryUsage().rss;
  const slow = await stalledClients(port, 400, requestOf);
  for (const [n, socket] of slow.entries()) if (n % 2 === 0) trickle(socket);
  await expect.poll(() => requests.length).toBeGreaterThan(250);
  let [played, rss] = [0, 0];
  // Each request goes over a connection of its own.
  while ((await connectionCount()) > 10) {
    const path = segment(`healthy_${played}`);
    const asked = get({ host: '127.0.0.1', port, path, localAddress: '127.0.0.2', agent: false });
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    expect((await buffer(response)).length).toBe(mebibyte / 2);
    played += 1;
    rss = Math.max(rss, process.memoryUsage().rss);
  }
  expect(played).toBeGreaterThan(1);
  expect(rss - rssBefore).toBeLessThan(500 * mebibyte);
});

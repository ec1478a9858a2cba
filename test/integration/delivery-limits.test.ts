import { once } from 'node:events';
import { get, type IncomingMessage, request as httpRequest, type RequestListener } from 'node:http';
import type { Socket } from 'node:net';
import { setTimeout as sleep } from 'node:timers/promises';
import type { FastifyInstance } from 'fastify';
import { Agent, interceptors, request as fetchBy } from 'undici';
import { describe, expect, it } from 'vitest';
import { videoKey } from '#domain/media/object-keys.ts';
import { stalledClients, startDelivery, statusOf } from './delivery-rig.ts';

// What anonymous clients can cost.

const mebibyte = 1024 * 1024;

const rev = '0123456789abcdef';
const segment = `/stream/movie/${rev}/video/r360_h264/seg_1.m4s`;
const playlist = `/stream/movie/${rev}/video/r360_h264/playlist.m3u8`;
const segmentKey = videoKey('movie', rev, 'video/r360_h264/seg_1.m4s');

describe('a bucket', () => {
  it.each([
    ['a segment', segment],
    ['a segment below an alias', '/stream/movie/video/r360_h264/seg_1.m4s'],
  ])('C17.21: three requests for %s that is missing are one request to the bucket', async (_what, path) => {
    const { port, requests } = await startDelivery((_request, response) => response.writeHead(404).end());
    for (let n = 0; n < 3; n++) expect(await statusOf(port, path)).toBe(404);
    expect(requests).toHaveLength(1);
  });

  it('C17.21: requests of every kind at once for an object that is missing are one request to the bucket', async () => {
    const { port, requests } = await startDelivery(
      (_request, response) => void setTimeout(() => response.writeHead(404).end(), 100),
    );
    const kinds = [
      { method: 'HEAD' },
      { headers: { range: 'bytes=0-1' } },
      { headers: { 'if-none-match': '"e"' } },
      { headers: { range: 'bytes=5-', 'if-range': '"e"' } },
    ];
    for (const [path, more] of [
      [segment, []],
      [segment.replace('seg_1', 'seg_2'), [{}]],
      [playlist, [{}]],
    ] as const) {
      const before = requests.length;
      // Plain ones last: the others have asked the bucket by then.
      const asked = [...kinds, ...kinds, ...more].map(async (kind) => {
        const request = httpRequest({ host: '127.0.0.1', port, path, agent: false, ...kind }).end();
        const [response] = (await once(request, 'response')) as [IncomingMessage];
        response.resume();
        return response.statusCode;
      });
      expect(new Set(await Promise.all(asked))).toEqual(new Set([404]));
      expect(requests.slice(before)).toHaveLength(1);
    }
  });

  it('C17.21: a missing object is found about a second after it was written', async () => {
    let isThere = false;
    const body = Buffer.from('segment');
    const { port } = await startDelivery((_request, response) =>
      isThere
        ? response
            .writeHead(200, { 'content-length': 7, etag: '"e"', 'last-modified': new Date().toUTCString() })
            .end(body)
        : response.writeHead(404).end(),
    );
    expect(await statusOf(port, segment)).toBe(404);
    isThere = true;
    await expect.poll(() => statusOf(port, segment), { timeout: 3_000 }).toBe(200);
  });

  it.each([
    ['GET of a segment', segment, {}],
    ['HEAD of a segment', segment, { method: 'HEAD' }],
    ['a range of a segment', segment, { headers: { range: 'bytes=0-1' } }],
  ])('C17.22: while the bucket answers 503, %s is one request to it', async (_what, path, more) => {
    const { port, requests } = await startDelivery((_request, response) => response.writeHead(503).end());
    const asked = get({ host: '127.0.0.1', port, path, agent: false, ...more });
    const [response] = (await once(asked, 'response')) as [IncomingMessage];
    response.resume();
    expect(response.statusCode).toBe(500);
    expect(requests).toHaveLength(1);
  });

  it('C17.40: while the bucket never answers, requests of every kind fail within its timeout', async () => {
    // Long beside what a busy machine takes for a hundred requests.
    const timeoutMs = 9_000;
    const { port } = await startDelivery(() => {}, { timeoutMs });
    const range = { range: 'bytes=0-1' };
    const kinds = [{}, { method: 'HEAD' }, { headers: range }, { headers: { 'if-none-match': '"e"' } }];
    const requests = [
      ...kinds.map((kind) => ({ path: segment, ...kind })),
      ...kinds.map((kind) => ({ path: playlist, ...kind })),
      ...Array.from({ length: 100 }, (_, n) => ({ path: segment.replace('seg_1', `seg_${n + 2}`) })),
    ];
    const startedAtMs = performance.now();
    const statuses = requests.map(async (request) => {
      const asked = httpRequest({ host: '127.0.0.1', port, agent: false, ...request }).end();
      const [response] = (await once(asked, 'response')) as [IncomingMessage];
      response.resume();
      return response.statusCode;
    });
    expect(new Set(await Promise.all(statuses))).toEqual(new Set([500]));
    // A request that waits for another one of its object, and is then made by itself, takes twice as long.
    expect(performance.now() - startedAtMs).toBeLessThan(1.8 * timeoutMs);
  });

  it('C17.23: hundreds of range responses under way do not delay the playlists of other streams', async () => {
    const sizeBytes = 8 * 1024 * 1024;
    const master = Buffer.from('#EXTM3U\n');
    const { port, requests } = await startDelivery(
      (request, response) => {
        const head = { etag: '"e"', 'last-modified': 'Fri, 21 Nov 2025 00:00:00 GMT', 'content-length': sizeBytes };
        const range = { 'content-range': `bytes 0-${sizeBytes - 1}/${sizeBytes}` };
        if (request.url !== `/media/${segmentKey}`)
          response.writeHead(200, { ...head, 'content-length': master.length }).end(master);
        else if (request.method === 'HEAD') response.writeHead(200, head).end();
        // The rest never comes, so that each response occupies its connection to the bucket.
        else response.writeHead(206, { ...head, ...range }).write('x');
      },
      { timeoutMs: 240_000 },
    );
    const sockets = await stalledClients(port, 300, `GET ${segment} HTTP/1.1\r\nHost: a\r\nRange: bytes=0-\r\n\r\n`);
    const bodies = () => requests.filter((request) => request === `GET ${segmentKey}`).length;
    await expect.poll(bodies, { timeout: 120_000 }).toBeGreaterThan(200);
    // A playlist that waited for one of them would wait for minutes.
    const startedAtMs = performance.now();
    for (const hash of ['one', 'two', 'three']) expect(await statusOf(port, `/stream/${hash}/master.m3u8`)).toBe(200);
    expect(performance.now() - startedAtMs).toBeLessThan(60_000);
    for (const socket of sockets) socket.destroy();
  }, 300_000);

  it.each([
    ['a whole segment', ''],
    ['a range', 'Range: bytes=5-\r\n'],
  ])(
    'C17.34, C17.35: a client that reads nothing of %s has no connection to the bucket, and every byte later',
    async (_what, range) => {
      const bytes = Buffer.from(Uint32Array.from({ length: 4 * mebibyte }, (_, n) => n).buffer);
      const open = new Set<Socket>();
      const askedBytes: number[] = [];
      const { port } = await startDelivery(
        (request, response) => {
          const [start, end] = /bytes=(\d+)-(\d*)/.exec(request.headers.range ?? '')?.slice(1) ?? [];
          const body = bytes.subarray(Number(start ?? 0), end ? Number(end) + 1 : undefined);
          const head = { etag: '"e"', 'last-modified': 'Fri, 21 Nov 2025 00:00:00 GMT', 'content-length': body.length };
          const part = { 'content-range': `bytes ${start}-${Number(start) + body.length - 1}/${bytes.length}` };
          open.add(request.socket);
          if (request.method === 'GET') askedBytes.push(body.length);
          response.once('close', () => open.delete(request.socket));
          response.writeHead(start === undefined ? 200 : 206, { ...head, ...(start === undefined ? {} : part) });
          if (request.method === 'HEAD') response.end();
          else response.end(body);
        },
        { cacheBytesMax: 0 },
      );
      const [socket] = await stalledClients(
        port,
        1,
        `GET ${segment} HTTP/1.1\r\nHost: a\r\nConnection: close\r\n${range}\r\n`,
      );
      // A piece of a range may have been sent by now.
      if (range === '') await expect.poll(() => open.size).toBe(1);
      else await expect.poll(() => askedBytes.length).toBeGreaterThan(0);
      await expect.poll(() => open.size, { timeout: 5_000 }).toBe(0);
      const received: Buffer[] = [];
      let sizeBytes = 0;
      socket?.on('data', (chunk: Buffer) => {
        received.push(chunk);
        // Slow once more on the way.
        if (sizeBytes < 6 * mebibyte && sizeBytes + chunk.length >= 6 * mebibyte) {
          socket.pause();
          setTimeout(() => socket.resume(), 1_500);
        }
        sizeBytes += chunk.length;
      });
      socket?.resume();
      await once(socket as Socket, 'end');
      const whole = Buffer.concat(received);
      const body = whole.subarray(whole.indexOf('\r\n\r\n') + 4);
      expect(body.equals(bytes.subarray(range === '' ? 0 : 5))).toBe(true);
      // Of a range the bucket is asked for a little at first, and for twice that while the client takes it.
      if (range === '') return;
      expect(askedBytes[0]).toBe(mebibyte / 4);
      expect(askedBytes.every((asked, n) => n === 0 || asked <= 2 * (askedBytes[n - 1] ?? 0))).toBe(true);
      expect(Math.max(...askedBytes)).toBe(mebibyte / 2);
    },
    20_000,
  );
});

/** A request for a segment of its own. */
const nothing: RequestListener = (_request, response) => response.writeHead(404).end();

describe('clients that do not read', () => {
  const large = Buffer.alloc(32 * 1024 * 1024, 'x');
  const addRoutes = (app: FastifyInstance): void => {
    app.get('/large', (_request, reply) => reply.send(large));
    app.get('/late', async () => {
      await sleep(2_500);
      return 'late';
    });
  };

  it('C17.24: a connection whose response makes no progress is closed', async () => {
    const { port, connectionCount } = await startDelivery(nothing, { stalledMs: 400, addRoutes });
    const [socket] = await stalledClients(port, 1, 'GET /large HTTP/1.1\r\nHost: a\r\n\r\n');
    await expect.poll(connectionCount).toBe(0);
    // What the kernel had taken still comes, and then the end long before the whole.
    let received = 0;
    socket?.on('data', (chunk: Buffer) => (received += chunk.length));
    socket?.resume();
    await once(socket as Socket, 'close');
    expect(received).toBeLessThan(large.length);
  });

  it('C17.24: a slow client and a late response are not cut off', async () => {
    // A busy machine may hold up a client that reads; the response takes four times as long.
    const { port } = await startDelivery(nothing, { stalledMs: 2_000, addRoutes });
    expect(await statusOf(port, '/late')).toBe(200);
    const [socket] = await stalledClients(port, 1, 'GET /large HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n');
    let received = 0;
    socket?.on('data', (chunk: Buffer) => {
      received += chunk.length;
      socket.pause();
      setTimeout(() => socket.resume(), 14);
    });
    socket?.resume();
    await once(socket as Socket, 'end');
    expect(received).toBeGreaterThan(large.length);
  });
});

const masterOf = (revision: string) => `#EXTM3U\n#EXT-X-STREAM-INF:BANDWIDTH=1\n${revision}/video/p.m3u8\n`;

describe('a stream that is replaced', () => {
  const other = 'fedcba9876543210';
  it('C17.32: a cache that has the old stream gets the new one once the setting has run out', async () => {
    let published = rev;
    const { port } = await startDelivery(
      (_request, response) => {
        const body = masterOf(published);
        const head = { etag: `"${published}"`, 'last-modified': 'Fri, 21 Nov 2025 00:00:00 GMT' };
        response.writeHead(200, { ...head, 'content-length': body.length }).end(body);
      },
      { mutableCacheControl: 'public, max-age=1' },
    );
    const cache = new Agent().compose(interceptors.cache());
    const address = `http://127.0.0.1:${port}/stream/movie/master.m3u8`;
    const read = async () => (await fetchBy(address, { dispatcher: cache })).body.text();
    expect(await read()).toBe(masterOf(rev));
    published = other;
    await expect.poll(read).toBe(masterOf(other));
    await cache.close();
  });
});

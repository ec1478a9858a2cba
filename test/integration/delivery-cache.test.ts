import { hash as hashOf, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, request, type RequestListener } from 'node:http';
import { connect } from 'node:net';
import { describe, expect, it, vi } from 'vitest';
import { masterKey, videoKey } from '#domain/media/object-keys.ts';
import { startDelivery as startWith } from './delivery-rig.ts';

// Delivery over a storage server of the test, which counts what it is asked and answers when and as far as the test
// says.

const mebibyte = 1024 * 1024;
const hash = 'movie';
const rev = '0123456789abcdef';
const segmentPath = (n: number) => `video/r360_h264/seg_${n}.m4s`;

const startDelivery = (origin: RequestListener, cacheBytesMax = 64 * mebibyte) => startWith(origin, { cacheBytesMax });

function headOf(bytes: Buffer): Record<string, string> {
  return {
    'content-length': String(bytes.length),
    etag: `"${hashOf('md5', bytes)}"`,
    'last-modified': 'Fri, 21 Nov 2025 00:00:00 GMT',
  };
}

/** An origin of whole objects, by their keys. */
function originOf(objects: Readonly<Record<string, Buffer>>): RequestListener {
  return (asked, answer) => {
    const bytes = objects[(asked.url ?? '').replace('/media/', '')];
    if (bytes === undefined) {
      answer.writeHead(404).end();
      return;
    }
    const [, start, end] = /^bytes=(\d+)-(\d*)$/.exec(asked.headers.range ?? '') ?? [];
    if (start === undefined) {
      answer.writeHead(200, headOf(bytes)).end(asked.method === 'HEAD' ? '' : bytes);
      return;
    }
    const part = bytes.subarray(Number(start), end === '' ? undefined : Number(end) + 1);
    const range = `bytes ${start}-${Number(start) + part.length - 1}/${bytes.length}`;
    answer
      .writeHead(206, { ...headOf(bytes), 'content-length': String(part.length), 'content-range': range })
      .end(part);
  };
}

interface Answer {
  readonly status: number;
  readonly headers: IncomingMessage['headers'];
  readonly bytes: Buffer;
}

/** Fails when the connection ends before the promised length. */
async function get(port: number, path: string, headers: Record<string, string> = {}, method = 'GET'): Promise<Answer> {
  const asked = request({ host: '127.0.0.1', port, path: `/stream/${hash}/${path}`, headers, method, agent: false });
  asked.end();
  const [answer] = (await once(asked, 'response')) as [IncomingMessage];
  const chunks: Buffer[] = [];
  for await (const chunk of answer as AsyncIterable<Buffer>) chunks.push(chunk);
  return { status: answer.statusCode ?? 0, headers: answer.headers, bytes: Buffer.concat(chunks) };
}

/** A client that reads the head and no more, until the test lets it. */
async function openSlowly(port: number, path: string) {
  const socket = connect(port, '127.0.0.1');
  socket.on('error', () => {});
  socket.write(`GET /stream/${hash}/${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nconnection: close\r\n\r\n`);
  await once(socket, 'readable');
  return {
    leave: () => socket.destroy(),
    /** The rest of the body. */
    readOn: async (): Promise<Buffer> => {
      const chunks: Buffer[] = [];
      for await (const chunk of socket as AsyncIterable<Buffer>) chunks.push(chunk);
      const answer = Buffer.concat(chunks);
      return answer.subarray(answer.indexOf('\r\n\r\n') + 4);
    },
  };
}

/** An answer without what differs from one to the next. */
function plain({ status, headers, bytes }: Answer) {
  const { date: _date, 'x-trace-id': _trace, ...rest } = headers;
  return { status, headers: rest, bytes: bytes.toString('hex') };
}

describe('equal requests at once', () => {
  it('equal requests at once are one read of the bucket, and each gets the whole object', async () => {
    const segment = randomBytes(2 * mebibyte);
    const delivery = await startDelivery((_asked, answer) => {
      answer.writeHead(200, headOf(segment)).write(segment.subarray(0, mebibyte));
      setTimeout(() => answer.end(segment.subarray(mebibyte)), 300);
    });
    const asked = Array.from({ length: 50 }, () => get(delivery.port, `${rev}/${segmentPath(1)}`));
    const answers = await Promise.all(asked);
    expect(answers.every(({ status, bytes }) => status === 200 && bytes.equals(segment))).toBe(true);
    expect(delivery.reads).toHaveLength(1);
  });

  it('a shared read continues when its first client leaves', async () => {
    const segment = randomBytes(2 * mebibyte);
    const go = Promise.withResolvers<void>();
    const delivery = await startDelivery((_asked, answer) => {
      answer.writeHead(200, headOf(segment)).write(segment.subarray(0, 1000));
      void go.promise.then(() => answer.end(segment.subarray(1000)));
    });
    const first = await openSlowly(delivery.port, `${rev}/${segmentPath(1)}`);
    const others = [1, 2, 3].map(() => get(delivery.port, `${rev}/${segmentPath(1)}`));
    await expect.poll(delivery.connectionCount).toBe(4);
    first.leave();
    await expect.poll(delivery.connectionCount).toBe(3);
    go.resolve();
    for (const { bytes } of await Promise.all(others)) expect(bytes.equals(segment)).toBe(true);
    // The first bytes may have been sent before the second client came, who then begins a reading for all others.
    expect(delivery.reads.length).toBeLessThanOrEqual(2);
  });
});

describe('clients', () => {
  it('a client that leaves ends a read without other readers', async () => {
    const segment = randomBytes(32 * mebibyte);
    let closed = 0;
    const delivery = await startDelivery((_asked, answer) => {
      answer.once('close', () => (closed += answer.writableFinished ? 0 : 1));
      answer.writeHead(200, headOf(segment)).end(segment);
    });
    const client = await openSlowly(delivery.port, `${rev}/${segmentPath(1)}`);
    client.leave();
    await vi.waitFor(() => expect(closed).toBe(1), { timeout: 5000 });
  });
});

describe('a bucket that cuts an object off', () => {
  it('when an object is cut off each client gets the rest by range requests', async () => {
    const segment = randomBytes(2 * mebibyte);
    const whole = originOf({ [videoKey(hash, rev, segmentPath(1))]: segment });
    const ranges: (string | undefined)[] = [];
    const delivery = await startDelivery((asked, answer) => {
      ranges.push(asked.headers.range);
      if (ranges.length > 1) return whole(asked, answer);
      answer.writeHead(200, headOf(segment)).write(segment.subarray(0, mebibyte));
      setTimeout(() => asked.socket.destroy(), 300);
    });
    const asked = [1, 2, 3].map(() => get(delivery.port, `${rev}/${segmentPath(1)}`));
    for (const { bytes } of await Promise.all(asked)) expect(bytes.equals(segment)).toBe(true);
    // A quarter of a mebibyte, twice as much, and what is left.
    const starts = [1, 1.25, 1.75, 2].map((place) => place * mebibyte);
    const pieces = starts.slice(1).map((end, n) => `bytes=${starts[n]}-${end - 1}`);
    expect(ranges.map(String).toSorted()).toEqual([...pieces, ...pieces, ...pieces, 'undefined'].toSorted());
  });

  it('when the object was replaced meanwhile the response is cut off and never mixes two objects', async () => {
    const [before, after] = [randomBytes(2 * mebibyte), randomBytes(2 * mebibyte)];
    const changed = originOf({ [videoKey(hash, rev, segmentPath(1))]: after });
    const delivery = await startDelivery((asked, answer) => {
      const { range, 'if-match': ifMatch } = asked.headers;
      if (ifMatch === headOf(before)['etag']) return answer.writeHead(412).end();
      if (range !== undefined) return changed(asked, answer);
      answer.writeHead(200, headOf(before)).write(before.subarray(0, mebibyte));
      setTimeout(() => asked.socket.destroy(), 100);
    });
    await expect(get(delivery.port, `${rev}/${segmentPath(1)}`)).rejects.toThrow(/aborted|hang up/);
  });

  it('C22.28: a store that ignores Range gets each range of a player answered', async () => {
    const segment = randomBytes(2 * mebibyte);
    const key = videoKey(hash, rev, segmentPath(1));
    const delivery = await startDelivery((asked, answer) => {
      delete asked.headers.range;
      originOf({ [key]: segment })(asked, answer);
    }, 0);
    for (const [start, end] of [
      [0, 9],
      [mebibyte, segment.length - 1],
    ] as const) {
      const answer = await get(delivery.port, `${rev}/${segmentPath(1)}`, { range: `bytes=${start}-${end}` });
      expect([answer.status, answer.bytes.equals(segment.subarray(start, end + 1))]).toEqual([206, true]);
    }
  });

  it('C17.15: when the object of a range is replaced before it is read the new one is answered whole', async () => {
    const [before, after] = [randomBytes(1000), randomBytes(1000)];
    const changed = originOf({ [videoKey(hash, rev, segmentPath(1))]: after });
    const delivery = await startDelivery((asked, answer) => {
      const { range, 'if-match': ifMatch } = asked.headers;
      if (asked.method === 'HEAD') return answer.writeHead(200, headOf(before)).end();
      if (range !== undefined && ifMatch === headOf(before)['etag']) return answer.writeHead(412).end();
      return changed(asked, answer);
    });
    const { status, headers, bytes } = await get(delivery.port, `${rev}/${segmentPath(1)}`, { range: 'bytes=0-9' });
    expect([status, headers.etag, bytes.equals(after)]).toEqual([200, headOf(after)['etag'], true]);
  });

  it('a response that is cut off closes its connection, so that the next response is not read as its rest', async () => {
    const segment = randomBytes(2 * mebibyte);
    const delivery = await startDelivery((asked, answer) => {
      answer.writeHead(200, headOf(segment)).write(segment.subarray(0, mebibyte));
      setTimeout(() => asked.socket.destroy(), 100);
    });
    const client = connect(delivery.port, '127.0.0.1');
    const asking = `GET /stream/${hash}/${rev}/${segmentPath(1)} HTTP/1.1\r\nHost: x\r\n\r\n`;
    client.write(asking + asking);
    const received: Buffer[] = [];
    client.on('data', (chunk: Buffer) => received.push(chunk));
    client.on('error', () => {});
    await once(client, 'close');
    expect(
      Buffer.concat(received)
        .toString('latin1')
        .match(/HTTP\/1\.1 200/g),
    ).toHaveLength(1);
  });
});

describe('objects in memory', () => {
  const segment = randomBytes(300_000);
  const playlist = Buffer.from(`#EXTM3U\n${'#EXTINF:6,\nseg.m4s\n'.repeat(100)}`);
  const objects = {
    [videoKey(hash, rev, segmentPath(1))]: segment,
    [videoKey(hash, rev, 'video/p.m3u8')]: playlist,
  };
  const asks: [string, Record<string, string>, string][] = [
    [segmentPath(1), {}, 'GET'],
    [segmentPath(1), {}, 'HEAD'],
    [segmentPath(1), { range: 'bytes=10-99999' }, 'GET'],
    [segmentPath(1), { range: 'bytes=-7' }, 'GET'],
    [segmentPath(1), { range: 'bytes=300000-' }, 'GET'],
    [segmentPath(1), { 'if-none-match': headOf(segment)['etag'] ?? '' }, 'GET'],
    ['video/p.m3u8', {}, 'GET'],
    ['video/p.m3u8', {}, 'HEAD'],
    ['video/p.m3u8', { 'accept-encoding': 'gzip' }, 'GET'],
    ['video/p.m3u8', { 'accept-encoding': 'gzip' }, 'HEAD'],
    ['video/p.m3u8', { range: 'bytes=0-9', 'accept-encoding': 'gzip' }, 'GET'],
    ['video/p.m3u8', { 'if-none-match': headOf(playlist)['etag'] ?? '' }, 'GET'],
  ];

  it.each(asks)('%s with %j to %s is answered from memory as it is without a cache', async (path, headers, method) => {
    let asked = 0;
    const origin: RequestListener = (incoming, answer) => {
      asked += 1;
      originOf(objects)(incoming, answer);
    };
    const [kept, unkept] = [await startDelivery(origin), await startDelivery(origin, 0)];
    const below = `${rev}/${path}`;
    for (const more of [{}, {}, { 'accept-encoding': 'gzip' }]) await get(kept.port, below, more);
    asked = 0;
    const [first, again] = [await get(kept.port, below, headers, method), await get(kept.port, below, headers, method)];
    expect(asked).toBe(0);
    const expected = await get(unkept.port, below, headers, method);
    expect(plain(first)).toEqual(plain(expected));
    expect(plain(again)).toEqual(plain(expected));
    expect(asked).toBeGreaterThan(0);
  });

  it('responses from memory are counted like every other', async () => {
    const delivery = await startDelivery(originOf(objects));
    for (let n = 0; n < 5; n++) await get(delivery.port, `${rev}/video/p.m3u8`);
    const text = await delivery.metrics.registry.metrics();
    expect(text).toMatch(/svc_http_requests_total\{method="GET",route="\/stream\/\{hash\}\/\*",status="200"\} 5/);
  });

  it('a top master stays in memory for a second, so a new one is served within two', async () => {
    const [older, newer] = ['0123456789abcdef', 'fedcba9876543210'];
    const changing: Record<string, Buffer> = { [masterKey(hash)]: Buffer.from(`#EXTM3U\n${older}/p.m3u8\n`) };
    const delivery = await startDelivery((asked, answer) => originOf(changing)(asked, answer));
    const burst = await Promise.all(Array.from({ length: 20 }, () => get(delivery.port, 'master.m3u8')));
    expect(new Set(burst.map(({ bytes }) => bytes.toString()))).toEqual(new Set([`#EXTM3U\n${older}/p.m3u8\n`]));
    changing[masterKey(hash)] = Buffer.from(`#EXTM3U\n${newer}/p.m3u8\n`);
    const isNew = async () =>
      expect((await get(delivery.port, 'master.m3u8')).bytes.toString()).toBe(`#EXTM3U\n${newer}/p.m3u8\n`);
    await vi.waitFor(isNew, { timeout: 2000, interval: 50 });
    // Not once for each of the requests, but once for each second.
    expect(delivery.reads.length).toBeLessThanOrEqual(4);
  });

  it('C17.22: a range that the bucket fails to give is 500, and the whole object is not sent in its place', async () => {
    const whole = originOf(objects);
    const delivery = await startDelivery((asked, answer) => {
      if (asked.headers.range === undefined) whole(asked, answer);
      else answer.writeHead(503).end();
    });
    const answer = await get(delivery.port, `${rev}/${segmentPath(1)}`, { range: 'bytes=0-9' });
    expect([answer.status, delivery.requests.length]).toEqual([500, 2]);
  });

  it('a slow client gets the rest from the bucket when its object is evicted meanwhile', async () => {
    // More than the sockets of both sides hold in the kernel, and a ninth of the memory for objects.
    const bytes = randomBytes(6 * mebibyte);
    const keys = Array.from({ length: 10 }, (_, n) => videoKey(hash, rev, segmentPath(n)));
    const origin = originOf(Object.fromEntries(keys.map((key) => [key, bytes])));
    const delivery = await startDelivery(origin, 62 * mebibyte);
    const askTwice = async (n: number) => {
      for (const _ of [1, 2]) await get(delivery.port, `${rev}/${segmentPath(n)}`);
    };
    await askTwice(0);
    const slow = await openSlowly(delivery.port, `${rev}/${segmentPath(0)}`);
    for (let n = 1; n < keys.length; n++) await askTwice(n);
    expect((await slow.readOn()).equals(bytes)).toBe(true);
    // The two reads before, and the rest in pieces of half a mebibyte.
    const pieces = delivery.reads.filter((key) => key === keys[0]).length - 2;
    expect(pieces).toBeGreaterThan(1);
    expect(pieces).toBeLessThanOrEqual(14);
  });
});

import { randomBytes } from 'node:crypto';
import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';
import { buffer } from 'node:stream/consumers';
import { afterEach, describe, expect, inject, it } from 'vitest';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { openObjectStore } from '#platform/storage/open.ts';

// What becomes of a store whose server fails: always `storage_error`, and never later than the timeout.

const contentType = 'application/octet-stream';
const storageError = expect.objectContaining({ name: 'KnownProblem', code: 'storage_error' });
const timeoutMs = 700;

let server: Server | undefined;
let stores: ObjectStore[] = [];

afterEach(async () => {
  await Promise.all(stores.map((store) => store.close()));
  stores = [];
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(null) : server.close(resolve)));
  server = undefined;
});

function openAt(endpoint: string, keys = { accessKeyId: 'key', secretAccessKey: 'secret' }): ObjectStore {
  const rest = { region: 'us-east-1', forcePathStyle: true, chainVariables: {}, checksums: 'when_supported' as const };
  const store = openObjectStore({ bucket: 'bucket', s3: { endpoint, keys, timeoutMs, ...rest } });
  stores.push(store);
  return store;
}

async function openAgainst(answer: RequestListener): Promise<ObjectStore> {
  server = createServer(answer);
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  return openAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
}

const stall: RequestListener = (request) => request.resume();
const switching = 'HTTP/1.1 101 Switching Protocols\r\nConnection: Upgrade\r\nUpgrade: other\r\n\r\n';
const nonsense: RequestListener = (request, response) => {
  request.resume();
  response.writeHead(500, { 'content-type': 'text/html' }).end('<html>oh no');
};

function objectHead(sizeBytes: number): Record<string, string> {
  return {
    'content-length': String(sizeBytes),
    etag: '"e"',
    'last-modified': 'Fri, 21 Nov 2025 00:00:00 GMT',
  };
}

/** Each operation of a store, so that each is held to the same. */
const operations: Record<string, (store: ObjectStore) => Promise<unknown>> = {
  head: (store) => store.head('key'),
  get: (store) => store.get('key'),
  download: (store) => store.download('key'),
  'put of bytes': (store) => store.put('key', 'value', { contentType }),
  'put of a long stream': (store) =>
    store.put('key', Readable.from(Array.from({ length: 13 }, () => randomBytes(1024 * 1024))), { contentType }),
  list: async (store) => {
    for await (const info of store.list('')) throw new Error(`nothing should be listed: ${info.key}`);
  },
  delete: (store) => store.delete(['key']),
  ping: (store) => store.ping(),
};

async function failsInTime(work: Promise<unknown>): Promise<void> {
  const start = performance.now();
  await expect(work).rejects.toEqual(storageError);
  expect(performance.now() - start).toBeLessThan(timeoutMs + 500);
}

describe.each(Object.entries(operations))('%s', (_name, operate) => {
  it('a request fails in time when the server never answers', async () => {
    await failsInTime(operate(await openAgainst(stall)));
  });

  it('a request fails in time when the server resets every connection', async () => {
    await failsInTime(operate(await openAgainst((request) => request.socket.resetAndDestroy())));
  });

  it('a request fails in time when the server switches to another protocol', async () => {
    const store = await openAgainst(stall);
    server!.on('connection', (socket) => socket.once('data', () => socket.write(switching)));
    await failsInTime(operate(store));
  }, 5000);

  it('a request fails in time when nothing listens', async () => {
    await failsInTime(operate(openAt('http://127.0.0.1:1')));
  });

  it('a request fails when the server answers nonsense', async () => {
    await failsInTime(operate(await openAgainst(nonsense)));
  });
});

describe('a download', () => {
  it('a download that is aborted while the endpoint is resolved sends no request', async () => {
    let asked = 0;
    const store = await openAgainst(() => (asked += 1));
    const giveUp = new AbortController();
    const opening = store.download('key', { signal: giveUp.signal });
    giveUp.abort(new Error('not wanted'));
    await expect(opening).rejects.toThrow('not wanted');
    expect(asked).toBe(0);
  });
});

describe('a body', () => {
  const sizeBytes = 4 * 1024 * 1024;

  it('a body fails in time when the server stalls in the middle of it', async () => {
    const store = await openAgainst((_request, response) => {
      response.writeHead(200, objectHead(sizeBytes)).write(randomBytes(1000));
    });
    const { body } = (await store.get('key'))!;
    await failsInTime(buffer(body));
  });

  it('a body fails when the server closes in the middle of it', async () => {
    const store = await openAgainst((_request, response) => {
      response.writeHead(200, objectHead(sizeBytes)).write(randomBytes(1000));
      setTimeout(() => response.destroy(), 50);
    });
    const { body } = (await store.get('key'))!;
    await failsInTime(buffer(body));
  });

  it('a body with another range than the requested one is refused', async () => {
    const head = { ...objectHead(3), 'content-range': 'bytes 4-6/10' };
    const store = await openAgainst((_request, response) => response.writeHead(206, head).end('456'));
    await failsInTime(store.get('key', { range: { start: 3, end: 5 } }));
  });
});

describe('a server that fails twice', () => {
  it('a server that keeps failing is requested three times at most', async () => {
    let asked = 0;
    const store = await openAgainst((request, response) => {
      request.resume();
      asked += 1;
      response.writeHead(503).end();
    });
    await failsInTime(store.head('key'));
    expect(asked).toBe(3);
  });
});

describe('a bucket that is not there', () => {
  it.skipIf(inject('s3') === null)('a missing bucket is an error and not a missing object', async () => {
    const { endpoint, accessKeyId, secretAccessKey } = inject('s3')!;
    const store = openAt(endpoint, { accessKeyId, secretAccessKey });
    await expect(store.get('key')).rejects.toEqual(storageError);
    await expect(store.ping()).rejects.toEqual(storageError);
    await expect(store.ping()).rejects.toThrow('The bucket bucket does not answer.');
    await expect(operations['list']!(store)).rejects.toEqual(storageError);
  });
});

describe('rights', () => {
  const denied = '<?xml version="1.0"?><Error><Code>AccessDenied</Code></Error>';
  const list = '<?xml version="1.0"?><ListBucketResult><KeyCount>0</KeyCount></ListBucketResult>';
  /** A bucket whose keys may read objects and not list them: it has one object, `there`. */
  const withoutListing: RequestListener = (request, response) => {
    request.resume();
    if (request.url?.startsWith('/bucket/there') === true) response.writeHead(200, objectHead(5)).end();
    else response.writeHead(403, { 'content-type': 'application/xml' }).end(request.method === 'HEAD' ? '' : denied);
  };

  it('C22.10: where listing is denied, a missing object is null and not an error', async () => {
    const store = await openAgainst(withoutListing);
    expect(await store.head('there')).toMatchObject({ sizeBytes: 5 });
    expect(await store.head('missing')).toBeNull();
    expect(await store.get('missing')).toBeNull();
    expect(await store.download('missing')).toBeNull();
  });

  it('an object whose reading is denied for a moment is no missing one, where listing is denied too', async () => {
    let denials = 0;
    const store = await openAgainst((request, response) => {
      const isDenied = (denials += 1) <= 2;
      if (!isDenied && request.method === 'HEAD') response.writeHead(200, objectHead(5)).end();
      else response.writeHead(403, { 'content-type': 'application/xml' }).end(request.method === 'HEAD' ? '' : denied);
    });
    expect(await store.head('there')).toMatchObject({ sizeBytes: 5 });
  });

  it('C22.10: a version that was seen is no missing object when it is denied, whatever else is', async () => {
    const store = await openAgainst(withoutListing);
    await expect(store.get('missing', { ifMatch: '"seen"' })).rejects.toEqual(storageError);
  });

  it('C22.10: after a listing, what is denied for a moment is no missing object, whatever else is', async () => {
    let isListed = false;
    const store = await openAgainst((request, response) => {
      request.resume();
      response.writeHead(isListed ? 403 : 200, { 'content-type': 'application/xml' }).end(isListed ? denied : list);
      isListed = true;
    });
    expect(await Array.fromAsync(store.list(''))).toEqual([]);
    await expect(store.head('key')).rejects.toEqual(storageError);
    await expect(store.get('key')).rejects.toEqual(storageError);
  });

  it('C22.10: where listing is denied, the bucket can be reached and the missing right is named', async () => {
    const store = await openAgainst(withoutListing);
    await store.ping();
    expect(await store.missingRights()).toEqual(['s3:ListBucket']);
  });

  it('a denied object is an error where listing is allowed', async () => {
    const store = await openAgainst((request, response) => {
      request.resume();
      const isList = request.url?.includes('list-type=2') === true;
      response.writeHead(isList ? 200 : 403, { 'content-type': 'application/xml' }).end(isList ? list : denied);
    });
    await expect(store.head('key')).rejects.toEqual(storageError);
  });

  it('an answer without metadata names the bucket, the object and the missing header', async () => {
    const { 'last-modified': _date, ...rest } = objectHead(5);
    const store = await openAgainst((request, response) => {
      request.resume();
      response.writeHead(200, rest).end();
    });
    const message = 'Object storage described "key" in the bucket bucket without Last-Modified.';
    await expect(store.head('key')).rejects.toThrow(message);
  });

  it.each([
    ['without an ETag', undefined],
    ['with a weak ETag', 'W/"e"'],
  ])('C22.26: an object %s is read as the version that was seen, until it is another', async (_, etag) => {
    let date = 'Fri, 21 Nov 2025 00:00:00 GMT';
    let isOther = false;
    const store = await openAgainst((request, response) => {
      request.resume();
      // As servers compare by RFC 9110: a weak one is no strong one, and what has none matches nothing.
      const version = etag === undefined ? {} : { etag: isOther ? 'W/"f"' : etag };
      const status = request.headers['if-match'] === undefined ? 200 : 412;
      response.writeHead(status, { 'content-length': '5', 'last-modified': date, ...version });
      response.end(request.method === 'HEAD' ? undefined : 'bytes');
    });
    const seen = (await store.head('key'))?.etag ?? '';
    const read = await store.get('key', { ifMatch: seen });
    expect((await buffer(read?.body ?? Readable.from([]))).toString()).toBe('bytes');
    [date, isOther] = ['Fri, 21 Nov 2025 00:00:01 GMT', true];
    await expect(store.get('key', { ifMatch: seen })).rejects.toThrow(
      expect.objectContaining({ code: 'source_changed' }),
    );
  });
});

import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import type { MultipartStore } from '#platform/storage/multipart-store.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { openS3Multipart } from '#platform/storage/s3/s3-multipart.ts';
import { openS3Store } from '#platform/storage/s3/s3-store.ts';

// Answers of an S3 server that do not end, and the longest that are allowed.

const mebibyte = 2 ** 20;
const piece = Buffer.alloc(mebibyte / 8, 'a');
/** Where the server pauses for ever, so that a client without a limit does not fill the memory of the tests. */
const sentBytesMax = 64 * mebibyte;
const contentType = 'application/octet-stream';

let server: Server | undefined;
let store: ObjectStore;
let uploads: MultipartStore;

afterEach(async () => {
  await Promise.all([store.close(), uploads.close()]);
  server?.closeAllConnections();
  await new Promise((resolve) => (server === undefined ? resolve(null) : server.close(resolve)));
});

async function openAgainst(answer: RequestListener): Promise<void> {
  server = createServer((request, response) => answer(request.resume(), response));
  await new Promise<void>((resolve) => server?.listen(0, '127.0.0.1', resolve));
  const settings = {
    endpoint: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    region: 'us-east-1',
    forcePathStyle: true,
    keys: { accessKeyId: 'key', secretAccessKey: 'secret' },
    chainVariables: {},
    checksums: 'when_supported' as const,
    timeoutMs: 5000,
  };
  store = openS3Store('bucket', settings);
  uploads = openS3Multipart('bucket', settings);
}

const part = { body: Buffer.from('value'), sizeBytes: 5 };
const requests: Record<string, () => Promise<unknown>> = {
  put: () => store.put('key', 'value', { contentType }),
  'put of a new object': () => store.putNew('key', Buffer.from('value'), { contentType }),
  list: () => Array.fromAsync(store.list('')),
  'delete of several': () => store.delete(['key', 'other']),
  'delete of one': () => store.delete(['\u0001']),
  'the right to list': () => store.missingRights(),
  'begin of an upload': () => uploads.begin('key', { contentType }),
  'put of a part': () => uploads.put({ key: 'key', id: 'id' }, 1, part),
  'list of parts': () => uploads.list({ key: 'key', id: 'id' }),
  'completion of an upload': () => uploads.complete({ key: 'key', id: 'id' }, []),
  'abort of an upload': () => uploads.abort('key'),
};
// The SDK reads refusals of all operations in one place.
const refusals = ['put', 'list'].flatMap((name) => [400, 403, 503].map((status) => [name, status] as const));
const endless = [...Object.keys(requests).map((name) => [name, 200] as const), ...refusals];

it.each(endless)(
  '%s: an answer %i without an end is refused, and its connection is closed',
  async (name, status) => {
    const ends: Promise<void>[] = [];
    let sentBytes = 0;
    await openAgainst((_request, response) => {
      const { promise, resolve } = Promise.withResolvers<void>();
      ends.push(promise);
      let leftBytes = sentBytesMax;
      const send = () => {
        while (leftBytes > 0) {
          leftBytes -= piece.length;
          sentBytes += piece.length;
          if (!response.write(piece)) return;
        }
      };
      response.writeHead(status).on('drain', send).on('close', resolve);
      send();
    });
    await expect(requests[name]!()).rejects.toMatchObject({
      code: 'storage_error',
      cause: { message: expect.stringContaining('8388608 bytes') as unknown },
    });
    await Promise.all(ends);
    // Three attempts at most; what the sockets of both sides hold comes on top.
    expect(ends.length).toBeLessThanOrEqual(3);
    expect(sentBytes / ends.length).toBeLessThan(sentBytesMax / 2);
  },
  10_000,
);

describe('long answers', () => {
  it('a page of 1,000 of the longest keys is read, escaped as far as a key can be', async () => {
    const [head, tail] = [
      '<?xml version="1.0"?><ListBucketResult><IsTruncated>false</IsTruncated>',
      '</ListBucketResult>',
    ];
    const rest =
      '<LastModified>2026-01-01T00:00:00.000Z</LastModified><ETag>&quot;0123456789abcdef0123456789abcdef-10000&quot;' +
      '</ETag><Size>5497558138880</Size><StorageClass>INTELLIGENT_TIERING</StorageClass><Owner><ID>' +
      `${'f'.repeat(64)}</ID><DisplayName>${'n'.repeat(256)}</DisplayName></Owner>`;
    const entry = `<Contents><Key>${'&quot;'.repeat(1024)}</Key>${rest}</Contents>`;
    await openAgainst((_request, response) => {
      response.writeHead(200, { 'content-type': 'application/xml' }).end(head + entry.repeat(1000) + tail);
    });
    const found = await Array.fromAsync(store.list(''));
    expect([found.length, found[999]?.key]).toEqual([1000, '"'.repeat(1024)]);
  });
});

import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest';
import { interceptWrites } from '#platform/external-writes/external-write.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { ImportStore } from '#platform/postgres/import-store.ts';
import { openUploadBucket, type UploadBucket } from '#platform/storage/upload-bucket.ts';
import { transfer } from '../../controller/imports/transfer.ts';
import { migratedDatabase } from '../../testing/databases.ts';
import { type FileServer, startFileServer } from '../../testing/file-server.ts';
import { newStorage } from '../contract/api-under-test.ts';

// An import whose worker dies before or after each of its writes, and the attempt that follows.

const mebibyte = 1024 * 1024;
const partSizeBytes = 8 * mebibyte;
const file = randomBytes(17 * mebibyte);
file.write('\0\0\0\x18ftypmp42', 'latin1');

let dir: string;
let testDatabase: Awaited<ReturnType<typeof migratedDatabase>>;
let database: Database;
let server: FileServer;
beforeAll(async () => {
  dir = await mkdtemp(join(tmpdir(), 'reelwright-import-crashes-'));
  testDatabase = await migratedDatabase();
  database = openDatabase(testDatabase.url);
  server = await startFileServer(() => ({ bytes: file, etag: '"v1"' }));
});
afterEach(() => interceptWrites((_write, send) => send()));
afterAll(async () => {
  await server.close();
  await database.close();
  await testDatabase.drop();
  await rm(dir, { recursive: true, force: true });
});

/** From write `at` on, nothing more leaves this process; `isSent`: that one has left it, and its answer is lost. */
function crashAt(at: number, isSent: boolean): () => number {
  let writes = 0;
  interceptWrites(async (_write, send) => {
    const number = (writes += 1);
    if (number < at || (number === at && isSent)) {
      const answer = await send();
      if (number < at) return answer;
    }
    throw new Error('the process has ended');
  });
  return () => writes;
}

async function importOnce(bucket: UploadBucket, rows: ImportStore): Promise<void> {
  const [row] = await rows.claim(1, 60_000);
  if (row === undefined) throw new Error('no import is due');
  const settings = { hosts: [server.host], allowedCidrs: ['127.0.0.1/32'], bytesMax: 32 * mebibyte, concurrency: 1 };
  await transfer(row, { rows, bucket, settings, countBytes: () => undefined }, new AbortController().signal);
}

async function begin(rows: ImportStore): Promise<{ id: string; source: string }> {
  const id = randomUUID();
  const source = `uploads/${id}/a.mp4`;
  const row = { id, keyId: 'key', url: `${server.url}/a.mp4`, name: 'a.mp4', source, sha256: null, partSizeBytes };
  await rows.insert(row, { openMax: 100, waitMsMax: 60_000 });
  return { id, source };
}

describe.each(['folder', 'bucket'])('the writes of an import to a %s', (kind) => {
  it(`C30.25: whichever write to a ${kind} the worker dies at, the next attempt completes the import, and leaves no part`, async () => {
    const folder = join(dir, kind);
    await mkdir(join(folder, 'source'), { recursive: true });
    const store =
      kind === 'folder' ? { bucket: 'source', dir: join(folder, 'source') } : await newStorage(folder, 'imports');
    const limits = { publicEndpoint: undefined, prefix: 'uploads/', expiryMs: 60_000, openMax: 100 };
    const bucket = openUploadBucket({ store, ...limits });
    const rows = new ImportStore(database);
    let isWhole = false;
    for (let at = 2; !isWhole; at += 1) {
      for (const isSent of [false, true]) {
        interceptWrites((_write, send) => send());
        const { id, source } = await begin(rows);
        // The first write is the claim.
        const written = crashAt(at, isSent);
        await importOnce(bucket, rows).catch(() => undefined);
        isWhole = written() < at;
        interceptWrites((_write, send) => send());
        await database.pool.query(`update imports set due_at = now() where id = $1 and status = 'running'`, [id]);
        const before = await rows.find(id);
        if (before?.status === 'running') await importOnce(bucket, rows);
        const row = await rows.find(id);
        expect([at, isSent, row?.status, row?.storedBytes]).toEqual([at, isSent, 'completed', file.length]);
        const found = await bucket.objects.get(source);
        const stored = Buffer.concat(await Array.fromAsync((found?.body ?? []) as AsyncIterable<Buffer>));
        expect(stored.equals(file)).toBe(true);
        expect((await bucket.parts.list({ key: source, id: row?.multipartId ?? '' })) ?? []).toEqual([]);
        await bucket.objects.delete([source]);
      }
      // It begins, notes the file, stores three parts, notes each and the whole, completes and ends.
      if (isWhole) expect(at).toBeGreaterThan(9);
    }
    await bucket.close();
  }, 120_000);
});

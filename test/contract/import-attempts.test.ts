import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { interceptWrites } from '#platform/external-writes/external-write.ts';
import { cleanUpImports } from '../../controller/imports/import-cleanup.ts';
import { until } from '../../testing/controller-rig.ts';
import { type Answer, sendFile } from '../../testing/file-server.ts';
import { newStorage } from './api-under-test.ts';
import {
  begin,
  fileOf,
  find,
  type ImportApi,
  isNothingLeft,
  mebibyte,
  newFolder,
  partBytes,
  reached,
  serve,
  sha256,
  startImportApi,
  stored,
} from './imports-rig.ts';

// docs/reference/contract.md, "Imports": what leads from one attempt at an import to the next, and to its end.

const stores = { folder: newFolder, ...(inject('s3') === null ? {} : { bucket: () => newStorage('', 'source') }) };

/** What a server answers to one request after another; the last one for all that follow. */
function inTurn(...answers: Answer[]): Answer {
  let request = 0;
  return (...given) => (answers[Math.min(request++, answers.length - 1)] as Answer)(...given);
}

const refuse: Answer = (_request, response) => response.writeHead(503).end() === response;
const plain: Answer = () => false;

/** Sends a file, or its rest, whose connection breaks after so many bytes. */
const cut =
  (bytes: Buffer, cutAt: number, etag = '"v1"'): Answer =>
  (request, response) => {
    sendFile(request, response, { bytes, etag, cutAt });
    return true;
  };

/** Sends the bytes of a file up to `at`, and leaves the answer open. */
function held(bytes: Buffer, at: number) {
  const opened = Promise.withResolvers<ServerResponse>();
  const answer: Answer = (_request, response) => {
    response.writeHead(200, { 'content-length': bytes.length, etag: '"v1"' });
    response.write(bytes.subarray(0, at), () => opened.resolve(response));
    return true;
  };
  return { answer, opened: opened.promise };
}

describe.each(Object.entries(stores))('attempts at an import to a %s', (kind, newStore) => {
  let api: ImportApi;
  beforeAll(async () => {
    api = await startImportApi(await newStore());
    await api.startWorker();
  });
  afterAll(() => api.close());
  afterEach(() => interceptWrites((_write, send) => send()));

  it(`C30.21: another digest than announced fails an import to a ${kind} also when it was cut between`, async () => {
    const file = fileOf(12 * mebibyte);
    const server = await serve(api, file, inTurn(cut(file, 10 * mebibyte), plain));
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4`, sha256: sha256(Buffer.from('other')) });
    expect((await reached(api, begun.import_id, 'failed')).error).toMatchObject({ code: 'sha256_mismatch' });
    expect(server.requests.map(({ range }) => range)).toEqual([undefined, `bytes=${partBytes}-`]);
    await until(
      () => isNothingLeft(api, begun.import_id),
      (isLeft) => isLeft,
    );
  });

  it(`C30.22: an object that comes under the key while an import to a ${kind} is fetched stays as it is`, async () => {
    const file = fileOf(1000);
    const { answer, opened } = held(file, 500);
    const server = await serve(api, file, answer);
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4` });
    const response = await opened;
    await until(
      () => api.rows.find(begun.import_id),
      (row) => row?.multipartId !== null,
    );
    await api.bucket.objects.put(begun.source, "another's", { contentType: 'text/plain' });
    response.end(file.subarray(500));
    expect((await reached(api, begun.import_id, 'failed')).error).toMatchObject({ code: 'key_exists' });
    await cleanUpImports({ rows: api.rows, bucket: api.bucket, log: api.d.log }, new AbortController().signal);
    expect((await stored(api, begun.source))?.toString()).toBe("another's");
  });

  it(`C30.24: an import to a ${kind} that is cancelled after its last part becomes no object`, async () => {
    const server = await serve(api, fileOf(1000));
    const writes: string[] = [];
    const cancelled = Promise.withResolvers<boolean>();
    interceptWrites(async ({ kind: system, name }, send) => {
      const answer = await send();
      if (system === 'object') writes.push(name);
      // Its only part is stored and noted: what remains is to make the object of it.
      if (name.includes('stored_bytes_max')) cancelled.resolve(cancelAll());
      if (name.includes('stored_bytes_max')) await cancelled.promise;
      return answer;
    });
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4` });
    const cancelAll = () => api.rows.cancel({ id: begun.import_id, url: begun.url });
    expect(await cancelled.promise).toBe(true);
    await until(
      () => leaseOf(api, begun.import_id),
      (lease) => lease === null,
    );
    expect(await api.bucket.objects.head(begun.source)).toBeNull();
    expect(writes.filter((name) => name.startsWith('complete'))).toEqual([]);
    expect(await find(api, begun.import_id)).toMatchObject({ status: 'cancelled', error: null });
  });
});

describe('what ends an import, and what does not', () => {
  let api: ImportApi;
  beforeAll(async () => {
    api = await startImportApi(await newFolder());
    await api.startWorker();
  });
  afterAll(() => api.close());

  it('C30.20: a range of a file whose size is another one now is not taken, whatever its ETag', async () => {
    for (const sizeBytes of [18 * mebibyte, 22 * mebibyte]) {
      const [first, second] = [fileOf(20 * mebibyte), fileOf(sizeBytes)];
      const rest: Answer = (request, response) => {
        sendFile(request, response, { bytes: second, etag: '"v1"' });
        return true;
      };
      const server = await serve(api, first, inTurn(cut(first, 10 * mebibyte), rest));
      const { json: begun } = await begin(api, { url: `${server.url}/a.mp4`, sha256: sha256(second) });
      expect(await reached(api, begun.import_id, 'completed')).toMatchObject({
        size: sizeBytes,
        sha256: sha256(second),
      });
      expect((await stored(api, begun.source))?.equals(second)).toBe(true);
      expect(server.requests.map(({ range }) => range)).toEqual([undefined, `bytes=${partBytes}-`, undefined]);
    }
  });

  // The worker of these tests gives up after four attempts without progress.
  it.each([
    ['before and after a part is stored', [refuse, refuse, 'part', refuse, refuse]],
    ['up to the last attempt, which stores a part', [refuse, refuse, refuse, 'part', refuse, refuse]],
  ] as const)('C30.23: attempts that store nothing are counted from the last progress on: %s', async (_, answers) => {
    const file = fileOf(12 * mebibyte);
    const turns = answers.map((answer) => (answer === 'part' ? cut(file, 10 * mebibyte) : answer));
    const server = await serve(api, file, inTurn(...turns, plain));
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4`, sha256: sha256(file) });
    expect(await reached(api, begun.import_id, 'completed')).toMatchObject({ sha256: sha256(file) });
    expect(server.requests).toHaveLength(answers.length + 1);
  });

  it('C30.23: a file that changes at every attempt makes no progress, and ends the import', async () => {
    const file = fileOf(12 * mebibyte);
    let version = 0;
    const server = await serve(api, file, (...given) => cut(file, 10 * mebibyte, `"v${(version += 1)}"`)(...given));
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4` });
    expect((await reached(api, begun.import_id, 'failed')).error).toMatchObject({ code: 'unavailable' });
    expect(server.requests).toHaveLength(4);
  });
});

/** The attempt that has the import now. */
async function leaseOf(api: ImportApi, id: string): Promise<string | null> {
  const lease = 'select lease_owner as owner from imports where id = $1';
  const { rows } = await api.d.database.pool.query<{ owner: string | null }>(lease, [id]);
  return rows[0]?.owner ?? null;
}

describe('the imports of one worker', () => {
  let api: ImportApi;
  beforeAll(async () => {
    api = await startImportApi(await newFolder());
  });
  afterAll(() => api.close());

  it('C30.25: a worker has no more than IMPORT_CONCURRENCY imports at a time, also when one has ended', async () => {
    const file = fileOf(1000);
    const opened: ServerResponse[] = [];
    const server = await serve(api, file, (_request, response) => {
      response.writeHead(200, { 'content-length': file.length }).write(file.subarray(0, 500));
      return opened.push(response) > 0;
    });
    const statuses = async () => {
      const { rows } = await api.d.database.pool.query<{ status: string }>(
        'select status from imports order by status',
      );
      return rows.map(({ status }) => status);
    };
    const openedAre = (count: number) =>
      until(
        () => opened.length,
        (open) => open >= count,
      );
    for (let n = 0; n < 5; n += 1) await begin(api, { url: `${server.url}/${n}.mp4` });
    const worker = await api.startWorker();
    await openedAre(2);
    expect(await statuses()).toEqual(['queued', 'queued', 'queued', 'running', 'running']);
    opened[0]?.end(file.subarray(500));
    await openedAre(3);
    expect(await statuses()).toEqual(['completed', 'queued', 'queued', 'running', 'running']);
    for (let n = 1; n < 5; n += 1) {
      await openedAre(n + 1);
      opened[n]?.end(file.subarray(500));
    }
    await until(statuses, (now) => now.every((status) => status === 'completed'));
    await worker.stop();
  });

  it('C30.25: a worker that stops leaves its import to another one at once, and its stored parts', async () => {
    const file = fileOf(12 * mebibyte);
    const { answer } = held(file, 10 * mebibyte);
    const server = await serve(api, file, inTurn(answer, plain));
    const stopping = await api.startWorker({ leaseMs: 600_000 });
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4`, sha256: sha256(file) });
    await until(
      () => find(api, begun.import_id),
      ({ bytes }) => bytes === partBytes,
    );
    await stopping.stop();
    expect([await leaseOf(api, begun.import_id), (await api.rows.find(begun.import_id))?.failures]).toEqual([null, 0]);
    await api.startWorker();
    expect(await reached(api, begun.import_id, 'completed')).toMatchObject({ sha256: sha256(file) });
    expect(server.requests.map(({ range }) => range)).toEqual([undefined, `bytes=${partBytes}-`]);
  });
});

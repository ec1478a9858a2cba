import { randomUUID } from 'node:crypto';
import type { ServerResponse } from 'node:http';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from 'vitest';
import { KnownProblem } from '#domain/errors.ts';
import { interceptWrites } from '#platform/external-writes/external-write.ts';
import type { ImportLease } from '#platform/postgres/import-store.ts';
import type { Multipart } from '#platform/storage/multipart-store.ts';
import { importCleanupTask } from '../../controller/imports/import-cleanup.ts';
import { until } from '../../testing/controller-rig.ts';
import type { Answer } from '../../testing/file-server.ts';
import {
  begin,
  cutAt,
  fileOf,
  find,
  type ImportApi,
  isNothingLeft,
  mebibyte,
  newFolder,
  partBytes,
  reached,
  remove,
  serve,
  sha256,
  startImportApi,
  stored,
  stores,
} from './imports-rig.ts';

// docs/reference/contract.md, "Imports": what leads from one attempt at an import to the next, and to its end.

/** The answers of a server to one request after another; the last one stands for all that follow. */
function inTurn(...answers: Answer[]): Answer {
  let request = 0;
  return (...given) => (answers[Math.min(request++, answers.length - 1)] as Answer)(...given);
}

const refuse: Answer = (_request, response) => response.writeHead(503).end() === response;
const plain: Answer = () => false;

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
    await importCleanupTask({ rows: api.rows, bucket: api.bucket, log: api.d.log }).work(new AbortController().signal);
    expect((await stored(api, begun.source))?.toString()).toBe("another's");
  });
});

/** An import whose bucket is still joining its parts when it is cancelled; `finish` lets the bucket end. */
async function cancelledWhileJoined(api: ImportApi) {
  const [joining, go] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  interceptWrites(async ({ name }, send) => {
    if (!name.startsWith('complete ')) return send();
    joining.resolve();
    await go.promise;
    return send();
  });
  const server = await serve(api, fileOf(1000));
  const { json: begun } = await begin(api, { url: `${server.url}/a.mp4` });
  await joining.promise;
  await remove(api, begun.import_id);
  return { id: begun.import_id as string, source: begun.source as string, finish: () => go.resolve() };
}

describe('an import that is cancelled while its object is made', () => {
  let api: ImportApi;
  beforeAll(async () => {
    api = await startImportApi(await newFolder());
    await api.startWorker({ leaseMs: 600_000 });
  });
  afterAll(() => api.close());
  afterEach(() => interceptWrites((_write, send) => send()));

  const cleanUp = () => importCleanupTask({ ...api, log: api.d.log }).work(new AbortController().signal);
  const due = (id: string) => api.d.database.pool.query('update imports set due_at = now() where id = $1', [id]);
  const dueInMinutes = async (id: string) => {
    const query = 'select extract(epoch from due_at - now()) / 60 as minutes, cleaned_up_at from imports where id = $1';
    const [row] = (await api.d.database.pool.query<{ minutes: string; cleaned_up_at: Date | null }>(query, [id])).rows;
    return [Math.round(Number(row?.minutes)), row?.cleaned_up_at ?? null];
  };

  it('C30.24: its object is removed, also when it appears after the cleanup of a lapsed lease', async () => {
    const { id, source, finish } = await cancelledWhileJoined(api);
    await due(id);
    await cleanUp();
    expect(await dueInMinutes(id)).toEqual([60, null]);
    // A bucket that has begun to join the parts ends it, whatever is aborted meanwhile.
    await api.bucket.objects.put(source, 'joined', { contentType: 'video/mp4' });
    finish();
    await due(id);
    await cleanUp();
    expect([await isNothingLeft(api, id), (await dueInMinutes(id))[1]]).toEqual([true, expect.any(Date)]);
  });
});

describe('what ends an import, and what does not', () => {
  let api: ImportApi;
  beforeAll(async () => {
    api = await startImportApi(await newFolder());
    await api.startWorker();
  });
  afterAll(() => api.close());

  it.each([
    ['smaller, by the same ETag', 18 * mebibyte, '"v1"'],
    ['as large, by another ETag', 20 * mebibyte, '"v2"'],
    ['as large, by a weak ETag', 20 * mebibyte, 'W/"v1"'],
  ])(
    'C30.20: a range of a file that is %s now, whatever its server makes of If-Range, is not taken',
    async (...given) => {
      const [, sizeBytes, etag] = given;
      const [first, second] = [fileOf(20 * mebibyte), fileOf(sizeBytes)];
      const rest: Answer = (request, response) => {
        const from = Number(/^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1] ?? 0);
        const range = from === 0 ? {} : { 'content-range': `bytes ${from}-${sizeBytes - 1}/${sizeBytes}` };
        response.writeHead(from === 0 ? 200 : 206, { ...(etag === undefined ? {} : { etag }), ...range });
        return response.end(second.subarray(from)) === response;
      };
      const server = await serve(
        api,
        first,
        inTurn(cutAt(api, { bytes: first, etag: '"v1"', at: 10 * mebibyte }), rest),
      );
      const { json: begun } = await begin(api, { url: `${server.url}/a.mp4`, sha256: sha256(second) });
      expect(await reached(api, begun.import_id, 'completed')).toMatchObject({
        size: sizeBytes,
        sha256: sha256(second),
      });
      expect((await stored(api, begun.source))?.equals(second)).toBe(true);
      expect(server.requests.map(({ range }) => range)).toEqual([undefined, `bytes=${partBytes}-`, undefined]);
    },
  );

  it('C30.20: a server that ignores Range sends the file again, from its begin', async () => {
    const file = fileOf(20 * mebibyte);
    const whole: Answer = (_request, response) => {
      response.writeHead(200, { 'content-length': file.length, etag: '"v1"' });
      return response.end(file) === response;
    };
    const server = await serve(api, file, inTurn(cutAt(api, { bytes: file, etag: '"v1"', at: 10 * mebibyte }), whole));
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4`, sha256: sha256(file) });
    await reached(api, begun.import_id, 'completed');
    expect((await stored(api, begun.source))?.equals(file)).toBe(true);
    expect(server.requests.map(({ range }) => range)).toEqual([undefined, `bytes=${partBytes}-`]);
  });

  // The worker of these tests gives up after four attempts without progress.
  it.each([
    ['before and after a part is stored', [refuse, refuse, 'part', refuse, refuse]],
    ['up to the last attempt, which stores a part', [refuse, refuse, refuse, 'part', refuse, refuse]],
  ] as const)('C30.23: attempts that store nothing are counted from the last progress on: %s', async (_, answers) => {
    const file = fileOf(12 * mebibyte);
    const cut = cutAt(api, { bytes: file, etag: '"v1"', at: 10 * mebibyte });
    const turns = answers.map((answer) => (answer === 'part' ? cut : answer));
    const server = await serve(api, file, inTurn(...turns, plain));
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4`, sha256: sha256(file) });
    expect(await reached(api, begun.import_id, 'completed')).toMatchObject({ sha256: sha256(file) });
    expect(server.requests).toHaveLength(answers.length + 1);
  });
});

/** The attempt that has the import now. */
async function leaseOf(api: ImportApi, id: string): Promise<string | null> {
  const lease = 'select lease_owner as owner from imports where id = $1';
  const { rows } = await api.d.database.pool.query<{ owner: string | null }>(lease, [id]);
  return rows[0]?.owner ?? null;
}

describe('what an earlier attempt left', () => {
  let api: ImportApi;
  let worker: { stop: () => Promise<void> };
  beforeEach(async () => {
    worker = await api.startWorker();
  });
  beforeAll(async () => {
    api = await startImportApi(await newFolder());
  });
  afterEach(() => worker.stop());
  afterAll(() => api.close());

  // Three whole parts and the rest.
  const file = fileOf(25 * mebibyte);

  /** An import of which an attempt noted the file, and did more; the next one is due. */
  async function interrupted(
    url: string,
    validator: string | null,
    did: (of: Multipart, lease: ImportLease) => Promise<unknown>,
    bytes = file,
  ): Promise<{ readonly id: string; readonly source: string }> {
    const id = randomUUID();
    const source = `uploads/${id}/a.mp4`;
    // No worker takes it meanwhile.
    const values = [id, id, url, 'a.mp4', source, sha256(bytes), partBytes];
    await api.d.database.pool.query(
      `insert into imports (id, key_id, url, name, source, sha256, part_size_bytes, deadline_at, status, lease_owner,
           due_at)
         values ($1, $2, $3, $4, $5, $6, $7, now() + interval '1 hour', 'running', $1, now() + interval '1 hour')`,
      values,
    );
    const lease = { id, owner: id };
    const of = { key: source, id: await api.bucket.parts.begin(source, { contentType: 'video/mp4' }) };
    const noted = { multipartId: of.id, sizeBytes: bytes.length, contentType: 'video/mp4', validator };
    await api.rows.noteFile(lease, { ...noted, transferMsMax: 3_600_000 });
    await did(of, lease);
    await api.rows.release(lease, { delayMs: 0, failures: 0 });
    return { id, source };
  }
  const put = (of: Multipart, number: number, body: Buffer) =>
    api.bucket.parts.put(of, number, { body, sizeBytes: body.length });

  it.each<[string, string | null, readonly (readonly [number, number])[], string | undefined]>([
    [
      'goes on after whole parts',
      '"v1"',
      [
        [1, partBytes],
        [2, partBytes],
      ],
      `bytes=${2 * partBytes}-`,
    ],
    [
      'does not count a part that is not whole',
      '"v1"',
      [
        [1, partBytes],
        [2, mebibyte],
      ],
      `bytes=${partBytes}-`,
    ],
    ['begins again without a validator of the file', null, [[1, partBytes]], undefined],
  ])('C30.20: the next attempt %s', async (_, validator, parts, range) => {
    const server = await serve(api, file);
    const { id, source } = await interrupted(`${server.url}/a.mp4`, validator, async (of) => {
      for (const [number, size] of parts) {
        const at = (number - 1) * partBytes;
        await put(of, number, file.subarray(at, Math.min(at + size, file.length)));
      }
    });
    expect(await reached(api, id, 'completed')).toMatchObject({ sha256: sha256(file) });
    expect((await stored(api, source))?.equals(file)).toBe(true);
    expect(server.requests.map((request) => request.range)).toEqual([range]);
  });

  it('C30.22: an object of another size than an import stored is not its own, and stays', async () => {
    const server = await serve(api, file);
    const { id, source } = await interrupted(`${server.url}/a.mp4`, '"v1"', async (of, lease) => {
      await api.rows.noteProgress(lease, 1000);
      await api.bucket.objects.put(of.key, fileOf(999), { contentType: 'video/mp4' });
    });
    expect((await reached(api, id, 'failed')).error).toMatchObject({ code: 'key_exists' });
    await importCleanupTask({ rows: api.rows, bucket: api.bucket, log: api.d.log }).work(new AbortController().signal);
    expect(await stored(api, source)).toHaveLength(999);
    expect(server.requests).toEqual([]);
  });

  it('C30.23: an import whose time has passed fails without a request', async () => {
    const server = await serve(api, file);
    const { id } = await interrupted(`${server.url}/a.mp4`, '"v1"', () =>
      api.d.database.pool.query(`update imports set deadline_at = now() - interval '1 s' where url like $1`, [
        `${server.url}%`,
      ]),
    );
    expect((await reached(api, id, 'failed')).error).toMatchObject({ code: 'deadline_exceeded' });
    expect(server.requests).toEqual([]);
  });
});

describe('the lease of an import', () => {
  let api: ImportApi;
  beforeAll(async () => {
    api = await startImportApi(await newFolder());
    // A server that sends nothing more ends no attempt here: only the lease does.
    await api.startWorker({ leaseMs: 1_500, idleMs: 600_000 });
  });
  afterAll(() => api.close());
  afterEach(() => interceptWrites((_write, send) => send()));

  const file = fileOf(1000);
  const query = (text: string, id: string) => api.d.database.pool.query(text, [id]);

  /** An import whose server sends a half and waits; `closed` once its worker has given up. */
  async function heldImport() {
    const { answer, opened } = held(file, 500);
    const server = await serve(api, file, answer);
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4` });
    const response = await opened;
    // What it writes before would find the lease lost by itself.
    await until(
      () => api.rows.find(begun.import_id as string),
      (row) => row?.multipartId !== null,
    );
    const closed = new Promise<boolean>((resolve) => response.once('close', () => resolve(true)));
    return { id: begun.import_id as string, response, closed };
  }

  it('C30.25: a worker keeps an import for longer than its lease', async () => {
    const { id, response } = await heldImport();
    const owner = await leaseOf(api, id);
    const dueAt = async () => (await query('select due_at from imports where id = $1', id)).rows[0].due_at as Date;
    const first = await dueAt();
    await until(dueAt, (due) => due.getTime() > first.getTime() + 1_500);
    expect([owner, await leaseOf(api, id)]).toEqual([expect.any(String), owner]);
    response.end(file.subarray(500));
    await reached(api, id, 'completed');
    expect(await leaseOf(api, id)).toBeNull();
  });

  it('C30.25: an attempt ends itself before its lease does when no renewal is answered', async () => {
    const { id, closed } = await heldImport();
    interceptWrites(({ name }, send) =>
      name.includes('returning deadline_at <= now()') ? new Promise(() => undefined) : send(),
    );
    expect(await closed).toBe(true);
    await remove(api, id);
  });

  it('C30.23: a storage that fails interrupts an import and counts as no failure of its server', async () => {
    const refused = Promise.withResolvers<boolean>();
    interceptWrites(({ name }, send) => {
      if (!name.startsWith('put part')) return send();
      refused.resolve(true);
      throw new KnownProblem('storage_error');
    });
    const server = await serve(api, file);
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4` });
    await refused.promise;
    await until(
      () => leaseOf(api, begun.import_id),
      (lease) => lease === null,
    );
    const due = 'select failures, due_at > now() + interval \'10 s\' as "isLater" from imports where id = $1';
    expect((await query(due, begun.import_id)).rows).toEqual([{ failures: 0, isLater: true }]);
    await remove(api, begun.import_id);
  });
});

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

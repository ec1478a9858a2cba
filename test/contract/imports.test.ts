import { randomUUID } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { importErrors } from '#domain/imports/import.ts';
import { importCleanupTask } from '../../controller/imports/import-cleanup.ts';
import { until } from '../../testing/controller-rig.ts';
import { sendFile } from '../../testing/file-server.ts';
import { olderApiKey, startApi } from './api-under-test.ts';
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

// docs/reference/contract.md, "Bring in": imports, from a real server of files to a bucket and to a folder.

describe.each(Object.entries(stores))('imports to a %s', (kind, newStore) => {
  let api: ImportApi;
  beforeAll(async () => {
    api = await startImportApi(await newStore());
    await api.startWorker();
  });
  afterAll(() => api.close());

  it(`C30.17, C38.13: a file that is imported to a ${kind} is a source, to which a job is submitted`, async () => {
    const file = fileOf(9 * mebibyte);
    const server = await serve(api, file);
    const begun = await begin(api, { url: `${server.url}/a/Clip%201.mp4?sig=secret`, title: 'São Paulo' });
    expect([begun.status, begun.headers.get('location')]).toEqual([202, `/api/imports/${begun.json.import_id}`]);
    expect(begun.json).toMatchObject({ status: 'queued', bytes: 0, size: null, error: null, name: 'Clip 1.mp4' });
    expect(begun.json.title).toBe('São Paulo');
    expect(begun.json.source).toBe(`uploads/${begun.json.import_id}/Clip_1.mp4`);
    expect(begun.json.url).toBe(`${server.url}/a/Clip%201.mp4`);
    const ended = await reached(api, begun.json.import_id, 'completed');
    expect(ended).toMatchObject({ bytes: file.length, size: file.length, content_type: 'video/mp4', error: null });
    expect(ended.sha256).toBe(sha256(file));
    expect((await stored(api, ended.source))?.equals(file)).toBe(true);
    expect((await api.d.source.head(ended.source))?.etag).toBe(ended.etag);
    expect(server.requests).toEqual([{ path: '/a/Clip%201.mp4?sig=secret', range: undefined, ifRange: undefined }]);
    expect(JSON.stringify(await api.rows.find(ended.import_id))).not.toContain('secret');
    const job = await api.submit({ type: 'video:cover', hash: `im-${kind}`, source: ended.source });
    expect(job.status).toBe(202);
  });

  it(`C30.20: an import to a ${kind} that is cut goes on by range after the last stored part`, async () => {
    const file = fileOf(20 * mebibyte);
    const cut = cutAt(api, { bytes: file, etag: '"v1"', at: 12 * mebibyte });
    const server = await serve(api, file, (...given) => server.requests.length === 1 && cut(...given));
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4`, sha256: sha256(file).toUpperCase() });
    expect(await reached(api, begun.import_id, 'completed')).toMatchObject({ sha256: sha256(file) });
    expect((await stored(api, begun.source))?.equals(file)).toBe(true);
    expect(server.requests.map(({ range, ifRange }) => [range, ifRange])).toEqual([
      [undefined, undefined],
      [`bytes=${partBytes}-`, '"v1"'],
    ]);
  });

  it(`C30.20: an import to a ${kind} whose file changed meanwhile begins again, and mixes nothing`, async () => {
    const [first, second] = [fileOf(20 * mebibyte), fileOf(18 * mebibyte)];
    const cut = cutAt(api, { bytes: first, etag: '"v1"', at: 17 * mebibyte });
    const server = await serve(api, first, (request, response) => {
      if (server.requests.length === 1) return cut(request, response);
      sendFile(request, response, { bytes: second, etag: '"v2"' });
      return true;
    });
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4`, sha256: sha256(second) });
    expect(await reached(api, begun.import_id, 'completed')).toMatchObject({ size: second.length });
    expect((await stored(api, begun.source))?.equals(second)).toBe(true);
    expect(server.requests[1]?.range).toBe(`bytes=${2 * partBytes}-`);
  });

  it(`C30.21: another digest than announced fails an import to a ${kind}, and nothing of it stays`, async () => {
    const server = await serve(api, fileOf(1000));
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4`, sha256: sha256(Buffer.from('other')) });
    const { error } = await reached(api, begun.import_id, 'failed');
    expect(error).toEqual({ code: 'sha256_mismatch', message: importErrors.sha256_mismatch, http_status: null });
    await until(
      () => isNothingLeft(api, begun.import_id),
      (isLeft) => isLeft,
    );
  });

  it(`C30.22: an object that is under the key of an import to a ${kind} is neither replaced nor deleted`, async () => {
    const server = await serve(api, fileOf(1000));
    const source = `uploads/taken-${kind}.mp4`;
    await api.bucket.objects.put(source, "another's", { contentType: 'text/plain' });
    const id = randomUUID();
    const row = { id, keyId: 'other', url: `${server.url}/a.mp4`, name: 'a.mp4', source, sha256: null };
    await api.rows.insert({ ...row, partSizeBytes: partBytes }, { openMax: 10, waitMsMax: 60_000 });
    expect((await reached(api, id, 'failed')).error.code).toBe('key_exists');
    await importCleanupTask({ rows: api.rows, bucket: api.bucket, log: api.d.log }).work(new AbortController().signal);
    expect((await stored(api, source))?.toString()).toBe("another's");
    expect(server.requests).toEqual([]);
  });

  it(`C30.24: a cancelled import to a ${kind} ends its worker's work and leaves nothing`, async () => {
    const file = fileOf(20 * mebibyte);
    const isOpen = Promise.withResolvers<boolean>();
    const server = await serve(api, file, (_request, response) => {
      response.writeHead(200, { 'content-length': file.length, etag: '"v1"' });
      response.write(file.subarray(0, 10 * mebibyte));
      response.once('close', () => isOpen.resolve(false));
      return true;
    });
    const { json: begun } = await begin(api, { url: `${server.url}/a.mp4` });
    await until(
      () => find(api, begun.import_id),
      ({ bytes }) => bytes === partBytes,
    );
    expect([(await remove(api, begun.import_id)).status, (await remove(api, begun.import_id)).status]).toEqual([
      204, 204,
    ]);
    expect(await find(api, begun.import_id)).toMatchObject({ status: 'cancelled', error: null });
    expect(await isOpen.promise).toBe(false);
    const cleanUp = () =>
      importCleanupTask({ rows: api.rows, bucket: api.bucket, log: api.d.log }).work(new AbortController().signal);
    await until(
      async () => cleanUp().then(() => isNothingLeft(api, begun.import_id)),
      (isLeft) => isLeft,
    );
  });

  it(`C30.25: an import to a ${kind} that was completed before its worker died is only checked by the next one`, async () => {
    const server = await serve(api, fileOf(10));
    const file = fileOf(1000);
    const id = randomUUID();
    const source = `uploads/${id}/a.mp4`;
    const row = { id, keyId: 'other', url: `${server.url}/a.mp4`, name: 'a.mp4', source, sha256: sha256(file) };
    await api.bucket.objects.put(source, file, { contentType: 'video/mp4' });
    await api.d.database.transaction(async (client) => {
      const values = [row.id, row.keyId, row.url, row.name, row.source, row.sha256, partBytes, file.length];
      await client.query(
        `insert into imports (id, key_id, url, name, source, sha256, part_size_bytes, stored_bytes, status,
           multipart_id, lease_owner, deadline_at)
         values ($1, $2, $3, $4, $5, $6, $7, $8, 'running', 'parts', gen_random_uuid(), now() + interval '1 hour')`,
        values,
      );
    });
    expect(await reached(api, id, 'completed')).toMatchObject({ size: file.length, sha256: sha256(file) });
    expect((await stored(api, source))?.equals(file)).toBe(true);
    expect(server.requests).toEqual([]);
  });
});

describe('what an import may be', () => {
  let api: ImportApi;
  beforeAll(async () => {
    api = await startImportApi(await newFolder());
  });
  afterAll(() => api.close());

  it.each([
    [{}, ['/url']],
    [{ url: 'ftp://a.example/b', name: '', sha256: 'ab' }, ['/url', '/name', '/sha256']],
    [{ url: 'https://user:password@a.example/b' }, ['/url']],
    [{ url: 'https://a.example/b', key: 'other' }, ['/key']],
    [{ url: 'https://not-listed.example/a.mp4' }, ['/url']],
  ])('C30.18: %j is refused with every fault', async (body, pointers) => {
    const answer = await begin(api, body);
    expect([answer.status, answer.json.code]).toEqual([400, 'invalid_request']);
    expect(answer.json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers);
  });

  it('C30.24: imports are listed a page at a time, the newest first; a completed one cannot be cancelled', async () => {
    const server = await serve(api, fileOf(1000));
    const begun: string[] = [];
    for (let n = 0; n < 5; n += 1) begun.push((await begin(api, { url: `${server.url}/${n}.mp4` })).json.import_id);
    const listed: string[] = [];
    for (let cursor: string | null = ''; cursor !== null;) {
      const page = await api.call(`/api/imports?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
      expect(page.json.imports.length).toBeLessThanOrEqual(2);
      listed.push(...page.json.imports.map(({ import_id: id }: { import_id: string }) => id));
      cursor = page.json.next_cursor as string | null;
    }
    expect(listed).toEqual(begun.toReversed());
    expect((await api.call('/api/imports?cursor=x')).status).toBe(400);
    // As many are open as may be, of this API key.
    const change = (status: string) =>
      api.d.database.pool.query('update imports set status = $2 where id = $1', [begun[0], status]);
    await change('running');
    const refused = await begin(api, { url: `${server.url}/6.mp4` });
    await change('queued');
    expect([refused.status, refused.headers.get('retry-after')]).toEqual([429, expect.stringMatching(/^[1-9]\d?$/)]);
    const other = await begin(api, { url: `${server.url}/6.mp4` }, { 'x-api-key': olderApiKey });
    expect(other.status).toBe(202);
    const worker = await api.startWorker();
    await reached(api, other.json.import_id, 'completed');
    expect((await remove(api, other.json.import_id)).status).toBe(409);
    await worker.stop();
  });

  it('C30.24: the routes of imports need an API key; unknown imports and malformed ids are 404', async () => {
    for (const path of ['/api/imports/none', '/api/imports/0b6f1c52-7d0e-4c7a-9d2b-3f5a1e8c6d40']) {
      expect((await api.call(path)).status).toBe(404);
      expect((await api.call(path, { method: 'DELETE' })).status).toBe(404);
      expect((await api.call(path, { headers: { 'x-api-key': 'wrong' } })).status).toBe(401);
    }
  });
});

it('C30.18: a service that names no hosts says which variable lets imports in', async () => {
  const api = await startApi();
  try {
    const answer = await begin(api as ImportApi, { url: 'https://a.example/b.mp4' });
    expect([answer.status, answer.json.code]).toEqual([403, 'not_configured']);
    expect(answer.json.detail).toContain('IMPORT_HOSTS');
    for (const path of ['/api/imports', '/api/imports/none']) expect((await api.call(path)).status).toBe(403);
  } finally {
    await api.close();
  }
});

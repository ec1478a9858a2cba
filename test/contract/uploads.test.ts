import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { connect } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { text as textOf } from 'node:stream/consumers';
import { afterAll, afterEach, beforeAll, describe, expect, inject, it } from 'vitest';
import { partSecretsOf, signPartPath } from '#domain/uploads/part-address.ts';
import type { Upload } from '#domain/uploads/upload.ts';
import { completeUpload } from '#jobs/uploads/complete.ts';
import type { StorageSettings } from '#platform/config/storage-settings.ts';
import { interceptWrites } from '#platform/external-writes/external-write.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { openUploadBucket, type UploadBucket } from '#platform/storage/upload-bucket.ts';
import { uploadExpiryTask } from '../../controller/upkeep/upload-expiry.ts';
import { UploadStore } from '#platform/postgres/upload-store.ts';
import { type Answer, type ApiUnderTest, newStorage, olderApiKey, startApi } from './api-under-test.ts';
import { findProgram } from '../../testing/servers.ts';

// docs/reference/contract.md, "Bring in": uploads, to a bucket and to a folder by one protocol.

const mebibyte = 1024 * 1024;
const expiryMs = 3_600_000;

interface Part {
  readonly number: number;
  readonly size: number;
  readonly url: string;
  readonly uploaded: boolean;
}

interface UploadApi extends ApiUnderTest {
  readonly bucket: UploadBucket;
  readonly rows: UploadStore;
}

/** An API whose uploads go to its source store. */
async function startUploadApi(storage: StorageSettings, openMax = 100): Promise<UploadApi> {
  const bucket = openUploadBucket({ store: storage, publicEndpoint: undefined, prefix: 'uploads/', expiryMs, openMax });
  const replace = { source: openObjectStore(storage), uploads: bucket };
  const api = await startApi({ maxFileSizeBytes: 64 * mebibyte }, replace);
  const close = async () => {
    await api.close();
    await bucket.close();
  };
  return { ...api, bucket, rows: new UploadStore(api.d.database), close };
}

/** A file that a job reads by its first bytes. */
function fileOf(sizeBytes: number): Buffer {
  const bytes = randomBytes(sizeBytes);
  bytes.write('\0\0\0\x18ftypmp42', 'latin1');
  return bytes;
}

const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
const begin = (api: UploadApi, body: object, headers = {}) =>
  api.call('/api/uploads', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
const complete = (api: UploadApi, id: string) => api.call(`/api/uploads/${id}/complete`, { method: 'POST' });
const find = (api: UploadApi, id: string) => api.call(`/api/uploads/${id}`);

async function put(part: Part, file: Buffer, partSize: number): Promise<Response> {
  const start = (part.number - 1) * partSize;
  return fetch(part.url, { method: 'PUT', body: new Uint8Array(file.subarray(start, start + part.size)) });
}

const send = (address: string, body: string) => fetch(address, { method: 'PUT', body });

async function putAll(upload: Answer['json'], file: Buffer): Promise<void> {
  for (const part of upload.parts) expect((await put(part, file, upload.part_size)).status).toBe(200);
}

async function stored(api: UploadApi, key: string): Promise<Buffer | null> {
  const found = await api.bucket.objects.get(key);
  return found === null ? null : Buffer.concat(await Array.fromAsync(found.body as AsyncIterable<Buffer>));
}

const isNothingStored = async (api: UploadApi) =>
  (await Array.fromAsync(api.bucket.objects.list('uploads/'))).length === 0;

const folders: string[] = [];
afterAll(() => Promise.all(folders.map((dir) => rm(dir, { recursive: true, force: true }))));
async function newFolder(): Promise<StorageSettings> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-uploads-'));
  folders.push(dir);
  await mkdir(join(dir, 'source'));
  return { bucket: `file:${join(dir, 'source')}`, dir: join(dir, 'source') };
}

const stores = { folder: newFolder, ...(inject('s3') === null ? {} : { bucket: () => newStorage('', 'source') }) };

describe.each(Object.entries(stores))('uploads to a %s', (kind, newStore) => {
  let api: UploadApi;
  beforeAll(async () => {
    api = await startUploadApi(await newStore());
  });
  afterAll(() => api.close());
  afterEach(() => interceptWrites((_write, write) => write()));

  it(`C30.1, C30.2, C38.13: a file that is put in parts to a ${kind} is a source, to which a job is submitted`, async () => {
    const file = fileOf(9 * mebibyte);
    const begun = await begin(api, {
      name: 'Clip 1.mp4',
      size: file.length,
      content_type: 'video/mp4',
      title: 'São Paulo',
    });
    expect([begun.json.title, (await find(api, begun.json.upload_id)).json.title]).toEqual(['São Paulo', 'São Paulo']);
    expect([begun.status, begun.headers.get('location')]).toEqual([201, `/api/uploads/${begun.json.upload_id}`]);
    expect(begun.json).toMatchObject({ status: 'open', part_size: 8 * mebibyte, next_part: null, etag: null });
    expect(begun.json.source).toBe(`uploads/${begun.json.upload_id}/Clip_1.mp4`);
    expect(begun.json.parts).toMatchObject([
      { number: 1, size: 8 * mebibyte },
      { number: 2, size: mebibyte },
    ]);
    await putAll(begun.json, file);
    const completed = await complete(api, begun.json.upload_id);
    expect([completed.status, completed.json.status, completed.json.parts]).toEqual([200, 'completed', []]);
    expect((await stored(api, completed.json.source))?.equals(file)).toBe(true);
    expect((await api.d.source.head(completed.json.source))?.etag).toBe(completed.json.etag);
    const job = await api.submit({ type: 'video:cover', hash: `up-${kind}`, source: completed.json.source });
    expect(job.status).toBe(202);
  });

  it(`C30.3: an upload to a ${kind} that was interrupted says which parts are there and goes on`, async () => {
    const file = fileOf(17 * mebibyte);
    const { json: begun } = await begin(api, { name: 'a.mp4', size: file.length, sha256: sha256(file).toUpperCase() });
    expect((await put(begun.parts[2], file, begun.part_size)).status).toBe(200);
    const early = await complete(api, begun.upload_id);
    expect([early.status, early.json.code]).toEqual([409, 'upload_conflict']);
    expect(early.json.detail).toContain('2 parts are missing or not of their size: 1, 2.');
    const { json: found } = await find(api, begun.upload_id);
    expect(found.parts.map(({ uploaded }: Part) => uploaded)).toEqual([false, false, true]);
    for (const part of found.parts.filter(({ uploaded }: Part) => !uploaded)) await put(part, file, begun.part_size);
    // A part that comes again replaces the one before.
    await put(found.parts[0], file, begun.part_size);
    const completed = await complete(api, begun.upload_id);
    expect([completed.status, completed.json.sha256]).toEqual([200, sha256(file)]);
    expect((await stored(api, found.source))?.equals(file)).toBe(true);
  });

  it(`C30.4: completing an upload to a ${kind} again, and by many at once, gives the same answer`, async () => {
    const file = fileOf(1000);
    const { json: begun } = await begin(api, { name: 'a.mp4', size: file.length });
    await putAll(begun, file);
    const atOnce = await Promise.all(Array.from({ length: 5 }, () => complete(api, begun.upload_id)));
    const again = await complete(api, begun.upload_id);
    expect([...atOnce, again].map(({ status }) => status)).toEqual(Array(6).fill(200));
    expect(new Set([...atOnce, again].map(({ text }) => text)).size).toBe(1);
    expect((await api.call(`/api/uploads/${begun.upload_id}`, { method: 'DELETE' })).status).toBe(409);
    expect((await stored(api, begun.source))?.equals(file)).toBe(true);
  });

  it(`C30.4: of two servers that complete an upload to a ${kind}, one that comes late changes nothing`, async () => {
    const file = fileOf(1000);
    const { json: begun } = await begin(api, { name: 'a.mp4', size: file.length, sha256: sha256(file) });
    await putAll(begun, file);
    const { rows, bucket } = api;
    const completing = () => completeUpload({ rows, bucket, log: api.d.log }, begun.upload_id);
    // One server is about to make the object of the parts when the other does it all.
    const early: Promise<Upload>[] = [];
    interceptWrites(async ({ name }, write) => {
      if (name === `complete ${begun.source}` && early.length === 0) await early[early.push(completing()) - 1];
      return write();
    });
    const late = await completing();
    expect([late.status, late.etag]).toEqual(['completed', (await early[0])?.etag]);
    expect((await bucket.objects.head(begun.source))?.etag).toBe(late.etag);
  });

  it(`C30.5: another digest than announced is refused on completion, and the object in the ${kind} is deleted`, async () => {
    const file = fileOf(1000);
    const { json: begun } = await begin(api, {
      name: 'a.mp4',
      size: file.length,
      sha256: sha256(Buffer.from('other')),
    });
    await putAll(begun, file);
    for (const answer of [await complete(api, begun.upload_id), await complete(api, begun.upload_id)])
      expect([answer.status, answer.json.code]).toEqual([409, 'upload_mismatch']);
    expect(await stored(api, begun.source)).toBeNull();
    expect((await find(api, begun.upload_id)).json).toMatchObject({ status: 'aborted', reason: 'sha256_mismatch' });
  });

  it(`C30.5: an object of another size than announced is refused, and deleted in the ${kind}`, async () => {
    const { json: begun } = await begin(api, { name: 'a.mp4', size: 1000 });
    await api.rows.beginCompletion(begun.upload_id, 60_000);
    await api.bucket.objects.put(begun.source, fileOf(999), { contentType: 'video/mp4' });
    const answer = await complete(api, begun.upload_id);
    expect([answer.status, answer.json.code]).toEqual([409, 'upload_mismatch']);
    expect(await stored(api, begun.source)).toBeNull();
    expect((await find(api, begun.upload_id)).json).toMatchObject({ status: 'aborted', reason: 'size_mismatch' });
  });

  it(`C30.6: what no job can read is refused on completion, and the object in the ${kind} is deleted`, async () => {
    const file = Buffer.from('%PDF-1.7 not a video');
    const { json: begun } = await begin(api, { name: 'a.mp4', size: file.length, content_type: 'video/mp4' });
    await putAll(begun, file);
    const answer = await complete(api, begun.upload_id);
    expect([answer.status, answer.json.code]).toEqual([400, 'unsupported']);
    expect(await stored(api, begun.source)).toBeNull();
  });

  it(`C30.7: a deleted upload to a ${kind} leaves nothing and takes nothing`, async () => {
    const file = fileOf(1000);
    const { json: begun } = await begin(api, { name: 'a.mp4', size: file.length });
    await putAll(begun, file);
    const remove = () => api.call(`/api/uploads/${begun.upload_id}`, { method: 'DELETE' });
    expect([(await remove()).status, (await remove()).status]).toEqual([204, 204]);
    expect((await put(begun.parts[0], file, begun.part_size)).status).toBeGreaterThanOrEqual(400);
    expect((await complete(api, begun.upload_id)).status).toBe(409);
    expect((await find(api, begun.upload_id)).json).toMatchObject({ status: 'aborted', reason: 'deleted', parts: [] });
    expect(await api.rows.claimToCleanUp(10)).toEqual([]);
  });

  it(`C30.7: an upload to a ${kind} that is being completed, or has been, is not deleted`, async () => {
    const file = fileOf(1000);
    const { json: begun } = await begin(api, { name: 'a.mp4', size: file.length });
    await putAll(begun, file);
    expect(await api.rows.beginCompletion(begun.upload_id, expiryMs)).toBe(true);
    const remove = () => api.call(`/api/uploads/${begun.upload_id}`, { method: 'DELETE' });
    const [meanwhile, completed, after] = [await remove(), await complete(api, begun.upload_id), await remove()];
    expect([meanwhile, completed, after].map(({ status }) => status)).toEqual([409, 200, 409]);
    expect(await stored(api, begun.source)).toEqual(file);
  });

  it(`C30.8: an upload to a ${kind} that is not completed in time expires, and its parts are removed`, async () => {
    const file = fileOf(1000);
    const { json: begun } = await begin(api, { name: 'a.mp4', size: file.length });
    await putAll(begun, file);
    await api.d.database.pool.query(`update uploads set expires_at = now() - interval '1 s' where id = $1`, [
      begun.upload_id,
    ]);
    await uploadExpiryTask({ rows: api.rows, bucket: api.bucket, log: api.d.log }).work(new AbortController().signal);
    expect((await find(api, begun.upload_id)).json).toMatchObject({ status: 'expired', parts: [] });
    const refused = await complete(api, begun.upload_id);
    expect([refused.status, refused.json.code]).toEqual([409, 'upload_conflict']);
    const upload = await api.rows.find(begun.upload_id);
    const of = { key: begun.source, id: upload?.multipartId ?? '' };
    expect((await api.bucket.parts.list(of)) ?? []).toEqual([]);
  });

  // moto takes any signature, and so any size.
  const isChecked = kind !== 'bucket' || findProgram('versitygw') !== null;
  it.skipIf(!isChecked)(`C30.28: the address of a part takes no body of another size into a ${kind}`, async () => {
    const { json: begun } = await begin(api, { name: 'a.mp4', size: 1000 });
    const [{ url }] = begun.parts;
    for (const size of [999, 1001]) {
      const refused = await fetch(url, { method: 'PUT', body: new Uint8Array(size) });
      expect([400, 403]).toContain(refused.status);
    }
    expect((await find(api, begun.upload_id)).json.parts[0].uploaded).toBe(false);
    await putAll(begun, fileOf(1000));
    expect((await find(api, begun.upload_id)).json.parts[0].uploaded).toBe(true);
  });

  it(`C30.8: an upload to a ${kind} that expired while it was being completed becomes no source`, async () => {
    const file = fileOf(1000);
    const { json: begun } = await begin(api, { name: 'a.mp4', size: file.length });
    await putAll(begun, file);
    interceptWrites(async ({ name }, write) => {
      const result = await write();
      if (name === `complete ${begun.source}`)
        await api.d.database.pool.query(`update uploads set status = 'expired', ended_at = now() where id = $1`, [
          begun.upload_id,
        ]);
      return result;
    });
    const answer = await complete(api, begun.upload_id);
    expect([answer.status, answer.json.code]).toEqual([409, 'upload_conflict']);
    expect(await stored(api, begun.source)).toBeNull();
  });

  it(`C30.4: a completion to a ${kind} that crashed after any of its writes is finished by the next one`, async () => {
    const file = fileOf(1000);
    const crashes = {
      'after the row': async (upload: Answer['json']) =>
        void (await api.rows.beginCompletion(upload.upload_id, 60_000)),
      'after the object': async (upload: Answer['json']) => {
        await api.rows.beginCompletion(upload.upload_id, 60_000);
        const row = await api.rows.find(upload.upload_id);
        const of = { key: upload.source, id: row?.multipartId ?? '' };
        await api.bucket.parts.complete(of, (await api.bucket.parts.list(of)) ?? []);
      },
    };
    for (const crash of Object.values(crashes)) {
      const { json: begun } = await begin(api, { name: 'a.mp4', size: file.length, sha256: sha256(file) });
      await putAll(begun, file);
      await crash(begun);
      expect((await complete(api, begun.upload_id)).status).toBe(200);
      expect((await stored(api, begun.source))?.equals(file)).toBe(true);
    }
    // The store began the parts, and the row never learnt of them.
    const { json: begun } = await begin(api, { name: 'a.mp4', size: file.length });
    await putAll(begun, file);
    await api.d.database.pool.query(
      `update uploads set multipart_id = null, expires_at = now() - interval '1 s' where id = $1`,
      [begun.upload_id],
    );
    const before = await api.rows.find(begun.upload_id);
    expect(before?.multipartId).toBeNull();
    // Another one began to complete, and no caller came back to it.
    const { json: left } = await begin(api, { name: 'a.mp4', size: file.length });
    await api.rows.beginCompletion(left.upload_id, 0);
    await api.d.database.pool.query(`update uploads set expires_at = now() - interval '1 s' where id = $1`, [
      left.upload_id,
    ]);
    await uploadExpiryTask({ rows: api.rows, bucket: api.bucket, log: api.d.log }).work(new AbortController().signal);
    expect((await put(begun.parts[0], file, begun.part_size)).status).toBeGreaterThanOrEqual(400);
    expect((await find(api, left.upload_id)).json.status).toBe('expired');
  });
});

describe('what an upload may be', () => {
  let api: UploadApi;
  beforeAll(async () => {
    api = await startUploadApi(await newFolder(), 3);
  });
  afterAll(() => api.close());

  it.each([
    [{}, ['/name', '/size']],
    [{ name: '', size: 0 }, ['/name', '/size']],
    [{ name: 'a\u0000', size: 1.5 }, ['/name', '/size']],
    [{ name: 'a', size: 1, content_type: 'video' }, ['/content_type']],
    [{ name: 'a', size: 1, sha256: 'ab' }, ['/sha256']],
    [{ name: 'a', size: 1, key: 'other' }, ['/key']],
  ])('C30.1: %j is refused with every fault', async (body, pointers) => {
    const answer = await begin(api, body);
    expect([answer.status, answer.json.code]).toEqual([400, 'invalid_request']);
    expect(answer.json.errors.map(({ pointer }: { pointer: string }) => pointer)).toEqual(pointers);
  });

  it('C30.1: a file over MAX_FILE_SIZE is refused with 413 before a byte is sent', async () => {
    const answer = await begin(api, { name: 'a', size: 64 * mebibyte + 1 });
    expect([answer.status, answer.json.errors[0].pointer]).toEqual([413, '/size']);
  });

  it('C23.4, C30.9: an API key has at most UPLOADS_OPEN_MAX open uploads, also when it begins many at once', async () => {
    const body = { name: 'a.mp4', size: 10 };
    const answers = await Promise.all(Array.from({ length: 8 }, () => begin(api, body)));
    const begun = answers.filter(({ status }) => status === 201);
    const refused = answers.filter(({ status }) => status === 429);
    expect([begun.length, refused.length]).toEqual([3, 5]);
    for (const { headers } of refused) expect(headers.get('retry-after')).toMatch(/^[1-9]\d?$/);
    expect((await begin(api, body, { 'x-api-key': olderApiKey })).status).toBe(201);
    for (const { json } of begun) await api.call(`/api/uploads/${json.upload_id}`, { method: 'DELETE' });
    const next = await begin(api, body);
    expect(next.status).toBe(201);
    // One that is being completed counts too: its object is not a source yet.
    const others = await Promise.all([begin(api, body), begin(api, body)]);
    for (const { json } of others) await api.rows.beginCompletion(json.upload_id, 60_000);
    expect((await begin(api, body)).status).toBe(429);
    const ids = [next, ...others].map(({ json }) => json.upload_id);
    await api.d.database.pool.query('delete from uploads where id = any($1)', [ids]);
  });

  it('C30.10: the routes of uploads need an API key; unknown uploads and malformed ids are 404', async () => {
    for (const path of ['/api/uploads/none', '/api/uploads/0b6f1c52-7d0e-4c7a-9d2b-3f5a1e8c6d40']) {
      expect((await api.call(path)).status).toBe(404);
      expect((await api.call(`${path}/complete`, { method: 'POST' })).status).toBe(404);
      expect((await api.call(path, { method: 'DELETE' })).status).toBe(404);
      expect((await api.call(path, { headers: { 'x-api-key': 'wrong' } })).status).toBe(401);
    }
  });

  it('C30.11: the address of a part holds for its part and its time, and takes exactly its bytes', async () => {
    const { json: begun } = await begin(api, { name: 'a.mp4', size: 10 });
    const url = begun.parts[0].url as string;
    expect((await send(url.replace('/parts/1?', '/parts/2?'), '0123456789')).status).toBe(403);
    expect((await send(url.replace('/parts/1?', '/parts/2?number=1&'), '0123456789')).status).toBe(403);
    expect((await send(url.replace(/exp=\d+/, 'exp=9999999999'), '0123456789')).status).toBe(403);
    expect((await send(url.replace(/sig=./, 'sig='), '0123456789')).status).toBe(403);
    expect((await send(url.replace(/\?.*/, ''), '0123456789')).status).toBe(403);
    for (const wrong of ['', '012345678', '0123456789a']) expect((await send(url, wrong)).status).toBe(400);
    expect((await find(api, begun.upload_id)).json.parts[0].uploaded).toBe(false);
    const answer = await send(url, '0123456789');
    expect(answer.headers.get('etag')).toBe('"781e5e245d69b566979b86e28d23f2c7"');
    expect((await find(api, begun.upload_id)).json.parts[0]).toMatchObject({
      uploaded: true,
      etag: answer.headers.get('etag'),
    });
  });

  it('C30.11: a part whose bytes have another digest than its Content-MD5 is refused, and nothing of it stays', async () => {
    const { json: begun } = await begin(api, { name: 'a.mp4', size: 10 });
    const putBy = (md5: string) =>
      fetch(begun.parts[0].url as string, { method: 'PUT', body: '0123456789', headers: { 'content-md5': md5 } });
    const digest = createHash('md5').update('0123456789').digest('base64');
    const other = createHash('md5').update('012345678').digest('base64');
    for (const wrong of [other, 'x', `${digest} `.repeat(2)]) {
      const answer = await putBy(wrong);
      expect([answer.status, ((await answer.json()) as Answer['json']).code]).toEqual([400, 'invalid_request']);
    }
    expect((await find(api, begun.upload_id)).json.parts[0].uploaded).toBe(false);
    expect((await putBy(digest)).status).toBe(200);
    await api.call(`/api/uploads/${begun.upload_id}`, { method: 'DELETE' });
  });

  it('C30.11: the address of a part holds until its upload expires, and no longer', async () => {
    const { json: begun } = await begin(api, { name: 'a.mp4', size: 10 });
    const { searchParams } = new URL(begun.parts[0].url);
    expect(searchParams.get('exp')).toBe(String(Math.floor(Date.parse(begun.expires_at) / 1000)));
    const past = { id: begun.upload_id, number: 1, exp: Math.floor(Date.now() / 1000) - 1 };
    const [secret] = partSecretsOf(api.d.config.apiKeys);
    const refused = await send(api.url + signPartPath(past, secret as Buffer), '0123456789');
    expect([refused.status, ((await refused.json()) as Answer['json']).detail]).toEqual([
      403,
      expect.stringContaining('has expired'),
    ]);
  });

  it('C30.7: a part that comes while its upload is deleted is refused, and nothing of it stays', async () => {
    const { json: begun } = await begin(api, { name: 'a.mp4', size: 10 });
    const of = { key: begun.source, id: (await api.rows.find(begun.upload_id))?.multipartId ?? '' };
    interceptWrites(async ({ name }, write) => {
      if (name.startsWith('put part')) await api.call(`/api/uploads/${begun.upload_id}`, { method: 'DELETE' });
      return write();
    });
    const late = await send(begun.parts[0].url, '0123456789');
    interceptWrites((_write, write) => write());
    expect([late.status, await api.bucket.parts.list(of)]).toEqual([409, []]);
  });

  it('C30.11: a page of any origin may put parts and read their ETag', async () => {
    const { json: begun } = await begin(api, { name: 'a.mp4', size: 10 }, { 'x-api-key': olderApiKey });
    const [{ url }] = begun.parts;
    const preflight = await fetch(url, { method: 'OPTIONS' });
    expect([preflight.status, preflight.headers.get('access-control-allow-methods')]).toEqual([204, 'PUT']);
    const answer = await fetch(url, { method: 'PUT', body: '0123456789' });
    expect(answer.headers.get('access-control-allow-origin')).toBe('*');
    expect(answer.headers.get('access-control-expose-headers')).toContain('ETag');
  });

  it.each([
    ['twice', 'Content-Length: 10\r\nContent-Length: 10'],
    ['as a list', 'Content-Length: 10, 10'],
    ['twice, of which one is another', 'Content-Length: 10\r\nContent-Length: 9'],
  ])('C30.11: a part that names its length %s is refused, and its connection ends', async (_what, lines) => {
    const { json: begun } = await begin(api, { name: 'c.mp4', size: 10 }, { 'x-api-key': olderApiKey });
    const { host, port, pathname, search } = new URL(begun.parts[0].url);
    const socket = connect(Number(port), '127.0.0.1');
    socket.write(`PUT ${pathname}${search} HTTP/1.1\r\nHost: ${host}\r\n${lines}\r\n\r\n0123456789`);
    expect(await textOf(socket)).toMatch(/^HTTP\/1\.1 400 [^]*"code":"invalid_request"/);
    expect((await find(api, begun.upload_id)).json.parts[0].uploaded).toBe(false);
    await api.call(`/api/uploads/${begun.upload_id}`, { method: 'DELETE' });
  });

  it('C30.11: a part whose sender broke off is not there, and nothing of it stays', async () => {
    const { json: begun } = await begin(api, { name: 'b.mp4', size: mebibyte }, { 'x-api-key': olderApiKey });
    const stopping = new AbortController();
    const body = new ReadableStream({
      pull: (controller) => {
        controller.enqueue(new Uint8Array(1000));
        stopping.abort();
      },
    });
    const headers = { 'content-length': String(mebibyte) };
    const init = { method: 'PUT', body, headers, duplex: 'half', signal: stopping.signal } as RequestInit;
    await expect(fetch(begun.parts[0].url, init)).rejects.toThrow();
    expect((await find(api, begun.upload_id)).json.parts[0].uploaded).toBe(false);
    expect(await isNothingStored(api)).toBe(true);
  });
});

it('C30.12: a service that may only read its source bucket says which variable lets uploads in', async () => {
  const api = await startApi();
  try {
    const body = JSON.stringify({ name: 'a.mp4', size: 10 });
    const headers = { 'content-type': 'application/json' };
    const answer = await api.call('/api/uploads', { method: 'POST', headers, body });
    expect([answer.status, answer.json.code]).toEqual([403, 'not_configured']);
    expect(answer.json.detail).toContain('UPLOAD_S3_ACCESS_KEY_ID');
  } finally {
    await api.close();
  }
});

it('C30.3: of more than 1,000 parts an answer has one page, and the next one by part_from', async () => {
  const storage = await newFolder();
  const bucket = openUploadBucket({ store: storage, publicEndpoint: undefined, prefix: 'u/', expiryMs, openMax: 9 });
  const api = await startApi({ maxFileSizeBytes: 20 * 1024 ** 3 }, { uploads: bucket });
  try {
    const body = JSON.stringify({ name: 'a.mp4', size: 9 * 1024 ** 3 });
    const headers = { 'content-type': 'application/json' };
    const { json: begun } = await api.call('/api/uploads', { method: 'POST', headers, body });
    expect([begun.parts.length, begun.next_part]).toEqual([1000, 1001]);
    const { json: rest } = await api.call(`/api/uploads/${begun.upload_id}?part_from=1001`);
    expect([rest.parts.length, rest.parts[0].number, rest.parts.at(-1).number, rest.next_part]).toEqual([
      152,
      1001,
      1152,
      null,
    ]);
    expect((await api.call(`/api/uploads/${begun.upload_id}?part_from=0`)).status).toBe(400);
  } finally {
    await api.close();
    await bucket.close();
  }
});

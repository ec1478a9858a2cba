import { createHash, randomBytes } from 'node:crypto';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, inject } from 'vitest';
import type { ImportSettings } from '#platform/config/import-settings.ts';
import type { StorageSettings } from '#platform/config/storage-settings.ts';
import { ImportStore } from '#platform/postgres/import-store.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { openUploadBucket, type UploadBucket } from '#platform/storage/upload-bucket.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { importWorker, type ImportWorkerDependencies } from '../../controller/imports/import-worker.ts';
import { until } from '../../testing/controller-rig.ts';
import { type Answer, type FileServer, sendFile, startFileServer } from '../../testing/file-server.ts';
import { type ApiUnderTest, newStorage, startApi } from './api-under-test.ts';

// An API and workers that import from real servers of files.

export const mebibyte = 1024 * 1024;
export const partBytes = 8 * mebibyte;

export interface ImportApi extends ApiUnderTest {
  readonly bucket: UploadBucket;
  readonly rows: ImportStore;
  readonly settings: { hosts: string[]; allowedCidrs: string[]; bytesMax: number; concurrency: number };
  readonly startWorker: (more?: Partial<ImportWorkerDependencies>) => Promise<{ stop: () => Promise<void> }>;
}

const settingsOf = (): ImportApi['settings'] => ({
  hosts: [],
  allowedCidrs: ['127.0.0.1/32'],
  bytesMax: 32 * mebibyte,
  concurrency: 2,
});

/** An API and a worker whose imports go to the source store of the API. */
export async function startImportApi(storage: StorageSettings): Promise<ImportApi> {
  const upload = { publicEndpoint: undefined, prefix: 'uploads/', expiryMs: 3_600_000, openMax: 5 };
  const bucket = openUploadBucket({ store: storage, ...upload });
  const settings = settingsOf();
  const replace = { source: openObjectStore(storage), uploads: bucket };
  const api = await startApi({ maxFileSizeBytes: 64 * mebibyte, imports: settings satisfies ImportSettings }, replace);
  const rows = new ImportStore(api.d.database);
  const workers = new Set<{ stop: () => Promise<void> }>();
  const startWorker: ImportApi['startWorker'] = async (more = {}) => {
    const { log, clock } = api.d;
    const shared = { rows, bucket, settings, metrics: new Metrics(), log, clock, leaseMs: 3_000 };
    const component = importWorker({ ...shared, backoffMs: [20, 20, 20], ...more });
    await component.start();
    const worker = {
      stop: async () => {
        workers.delete(worker);
        await component.stop(AbortSignal.timeout(5_000));
      },
    };
    workers.add(worker);
    return worker;
  };
  const close = async () => {
    for (const worker of workers) await worker.stop();
    await api.close();
    await bucket.close();
  };
  return { ...api, bucket, rows, settings, startWorker, close };
}

/** A file that a job reads by its first bytes. */
export function fileOf(sizeBytes: number): Buffer {
  const bytes = randomBytes(sizeBytes);
  bytes.write('\0\0\0\x18ftypmp42', 'latin1');
  return bytes;
}

export const sha256 = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');
export const begin = (api: ImportApi, body: object, headers = {}) =>
  api.call('/api/imports', {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...headers },
    body: JSON.stringify(body),
  });
export const find = async (api: ImportApi, id: string) => (await api.call(`/api/imports/${id}`)).json;
export const remove = (api: ImportApi, id: string) => api.call(`/api/imports/${id}`, { method: 'DELETE' });

/** The import once it is in this status. */
export const reached = (api: ImportApi, id: string, status: string) =>
  until(
    () => find(api, id),
    (shown) => shown.status === status,
    60_000,
  );

export async function stored(api: ImportApi, key: string): Promise<Buffer | null> {
  const found = await api.bucket.objects.get(key);
  return found === null ? null : Buffer.concat(await Array.fromAsync(found.body as AsyncIterable<Buffer>));
}

/** Nothing of an import is in the bucket: neither an object nor a part. */
export async function isNothingLeft(api: ImportApi, id: string): Promise<boolean> {
  const row = await api.rows.find(id);
  const parts = await api.bucket.parts.list({ key: row?.source ?? '', id: row?.multipartId ?? 'none' });
  return (parts ?? []).length === 0 && (await api.bucket.objects.head(row?.source ?? '')) === null;
}

const folders: string[] = [];
const servers: FileServer[] = [];
afterEach(() => Promise.all(servers.splice(0).map((server) => server.close())));
afterAll(() => Promise.all(folders.map((dir) => rm(dir, { recursive: true, force: true }))));

export async function newFolder(): Promise<StorageSettings> {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-imports-'));
  folders.push(dir);
  await mkdir(join(dir, 'source'));
  return { bucket: `file:${join(dir, 'source')}`, dir: join(dir, 'source') };
}

/** The stores that files are imported to: a folder, and a bucket where there is an S3 server. */
export const stores = {
  folder: newFolder,
  ...(inject('s3') === null ? {} : { bucket: () => newStorage('', 'source') }),
};

/** A server of one file, listed in the settings of `api`. */
export async function serve(api: ImportApi, bytes: Buffer, answer?: Answer): Promise<FileServer> {
  const server = await startFileServer(() => ({ bytes, etag: '"v1"' }), answer);
  servers.push(server);
  api.settings.hosts.push(server.host);
  return server;
}

/** Sends a file, or its rest; after so many bytes, of which an import has stored every whole part, the connection breaks. */
export const cutAt =
  (api: ImportApi, { at, ...file }: { readonly bytes: Buffer; readonly etag: string; readonly at: number }): Answer =>
  (request, response) => {
    sendFile(request, response, { ...file, holdAt: at });
    // An earlier server of the file may have had the same port.
    const select = 'select stored_bytes::float8 as bytes from imports where url = $1 order by created_at desc limit 1';
    const url = `http://${request.headers.host}${request.url}`;
    const wholeParts = Math.floor(at / partBytes) * partBytes;
    void until(
      async () => (await api.d.database.pool.query<{ bytes: number }>(select, [url])).rows[0]?.bytes ?? 0,
      (bytes) => bytes >= wholeParts,
      60_000,
    ).finally(() => response.destroy());
    return true;
  };

/** A server on an address that no rule allows. */
export async function canary(): Promise<FileServer> {
  const server = await startFileServer(() => ({ bytes: fileOf(10), etag: '"x"' }), undefined, '127.0.0.2');
  servers.push(server);
  return server;
}

import { createHash, hash } from 'node:crypto';
import { type FileHandle, open, readdir, realpath, rm, stat, unlink } from 'node:fs/promises';
import { join } from 'node:path';
import { Readable } from 'node:stream';
import { KnownProblem } from '#domain/errors.ts';
import { externalWrite } from '../../external-writes/external-write.ts';
import { toStorageError } from '../errors.ts';
import { checkKey } from '../keys.ts';
import type { Multipart, MultipartStore, PartBody, StoredPart } from '../multipart-store.ts';
import { isInside, unlessMissing } from './file-info.ts';
import { partsFolderNames } from './file-paths.ts';
import { writeNewObject, writeOwnFile } from './file-write.ts';
import { RealFolders } from './real-folders.ts';

/**
 * Uploads in parts to a folder. Each part is a file of the store's own, `<number>-<MD5>`, below a folder whose name
 * follows from the key; completion copies them into the object, so that no late write of a part reaches it. Of two
 * processes that complete it at once, the first makes the object: the other one finds parts or path taken away.
 */
export function openFolderMultipart(dir: string): MultipartStore {
  return new FolderMultipart(dir);
}

interface PartFile extends StoredPart {
  readonly path: string;
  readonly writtenMs: number;
}

const readBytes = 256 * 1024;

class FolderMultipart implements MultipartStore {
  readonly #folders: RealFolders;

  constructor(dir: string) {
    this.#folders = new RealFolders(dir);
  }

  async begin(key: string): Promise<string> {
    checkKey(key);
    // Nothing is written: the folder is made by its first part.
    return hash('sha256', key).slice(0, 32);
  }

  async list({ id }: Multipart, { after = 0, limit = Infinity } = {}): Promise<StoredPart[] | null> {
    return guarded(async () => {
      const files = await this.#filesOf(id);
      const parts = files.filter(({ number }) => number > after).slice(0, limit);
      return parts.map(({ number, sizeBytes, etag }) => ({ number, sizeBytes, etag }));
    });
  }

  async put({ id, key }: Multipart, number: number, part: PartBody): Promise<StoredPart> {
    return guarded(async () => {
      const root = await this.#folders.root();
      const measured = new Measured(part);
      const partName = () => `${String(number).padStart(5, '0')}-${measured.md5()}`;
      const target = { root, folders: this.#folders };
      const content = Readable.from(measured.chunks(), { objectMode: false });
      await externalWrite(
        () => ({ kind: 'object', name: `put part ${number} of ${key}` }),
        () => writeOwnFile(target, () => [...partsFolderNames(id), partName()], { body: content, signal: part.signal }),
      );
      await this.#removeBefore(id, number, partName());
      return { number, sizeBytes: part.sizeBytes, etag: `"${measured.md5()}"` };
    }, part.signal);
  }

  async complete({ id, key }: Multipart, parts: readonly StoredPart[]): Promise<'completed' | 'missing'> {
    return guarded(async () => {
      const files = await this.#filesOf(id);
      const chosen = parts.map(({ number, etag }) => files.find((one) => one.number === number && one.etag === etag));
      const paths = chosen.flatMap((file) => file?.path ?? []);
      if (paths.length < parts.length) return 'missing';
      const target = { root: await this.#folders.root(), folders: this.#folders };
      try {
        await externalWrite(
          () => ({ kind: 'object', name: `complete ${key}` }),
          () => writeNewObject(target, key, (handle) => copyFiles(paths, handle)),
        );
      } catch (error) {
        if (error instanceof PartRemoved) return 'missing';
        throw error;
      }
      await this.#remove(id);
      return 'completed';
    });
  }

  async abort(key: string): Promise<void> {
    const id = await this.begin(key);
    await guarded(() =>
      externalWrite(
        () => ({ kind: 'object', name: `abort ${key}` }),
        () => this.#remove(id),
      ),
    );
  }

  async addressOf(): Promise<null> {
    return null;
  }

  async clientOrigin(): Promise<null> {
    return null;
  }

  async close(): Promise<void> {
    // Nothing is kept open.
  }

  /** The real path of the folder of parts; null when there is none, or a link leads out of the store. */
  async #folderOf(id: string): Promise<string | null> {
    const root = await this.#folders.root();
    const path = await unlessMissing(() => realpath(join(root, ...partsFolderNames(id))));
    return path !== null && isInside(root, path) ? path : null;
  }

  async #namesOf(id: string): Promise<{ number: number; md5: string; path: string }[]> {
    const folder = await this.#folderOf(id);
    const names = folder === null ? [] : ((await unlessMissing(() => readdir(folder))) ?? []);
    return names.flatMap((name) => {
      const [, number = '', md5 = ''] = /^(\d{5})-([0-9a-f]{32})$/.exec(name) ?? [];
      return number === '' ? [] : [{ number: Number(number), md5, path: join(folder ?? '', name) }];
    });
  }

  /** The parts in order; of two with one number, which a crash may leave, the one that was written last. */
  async #filesOf(id: string): Promise<PartFile[]> {
    const files = new Map<number, PartFile>();
    for (const { number, md5, path } of await this.#namesOf(id)) {
      const stats = await unlessMissing(() => stat(path));
      const earlier = files.get(number);
      if (stats === null || (earlier !== undefined && earlier.writtenMs >= stats.mtimeMs)) continue;
      files.set(number, { number, sizeBytes: stats.size, etag: `"${md5}"`, path, writtenMs: stats.mtimeMs });
    }
    return [...files.values()].toSorted((a, b) => a.number - b.number);
  }

  /** Removes what was written for a part before the file `name`: of two calls at once, the later one's bytes stay. */
  async #removeBefore(id: string, number: number, name: string): Promise<void> {
    const files = (await this.#namesOf(id)).filter((file) => file.number === number);
    const own = files.find(({ path }) => path.endsWith(name));
    const ownMs = own === undefined ? null : await writtenMs(own);
    // A later call has removed it, and what stays is that call's.
    if (ownMs === null) return;
    for (const other of files) {
      const otherMs = other === own ? null : await writtenMs(other);
      if (otherMs !== null && otherMs < ownMs) await unlessMissing(() => unlink(other.path));
    }
  }

  async #remove(id: string): Promise<void> {
    const folder = await this.#folderOf(id);
    if (folder !== null) await rm(folder, { recursive: true, force: true });
  }
}

/** A part is not there any more: another process has made the object of it, or it was aborted. */
class PartRemoved extends Error {}

/** By one buffer: streams would leave as much memory to collect as there are bytes. @throws PartRemoved */
async function copyFiles(paths: readonly string[], to: FileHandle): Promise<void> {
  const buffer = Buffer.allocUnsafeSlow(readBytes);
  for (const path of paths) {
    const from = await unlessMissing(() => open(path));
    if (from === null) throw new PartRemoved(path);
    try {
      for (;;) {
        const { bytesRead } = await from.read(buffer, 0, buffer.length);
        if (bytesRead === 0) break;
        await to.appendFile(buffer.subarray(0, bytesRead));
      }
    } finally {
      await from.close();
    }
  }
}

/** A body whose size and digest are taken while it passes. */
class Measured {
  readonly #body: Readable;
  readonly #sizeBytes: number;
  readonly #expected: string | undefined;
  readonly #hash = createHash('md5');
  #digest: string | null = null;

  constructor({ body, sizeBytes, md5 }: PartBody) {
    this.#body = Buffer.isBuffer(body) ? Readable.from([body]) : body;
    this.#sizeBytes = sizeBytes;
    this.#expected = md5;
  }

  async *chunks(): AsyncGenerator<Buffer> {
    let bytes = 0;
    const body: AsyncIterable<Buffer> = this.#body;
    for await (const chunk of body) {
      bytes += chunk.length;
      if (bytes > this.#sizeBytes) break;
      this.#hash.update(chunk);
      yield chunk;
    }
    if (bytes !== this.#sizeBytes)
      throw new KnownProblem('invalid_request', `The part must have ${this.#sizeBytes} bytes; ${bytes} came.`);
    const found = Buffer.from(this.md5(), 'hex').toString('base64');
    if (this.#expected !== undefined && this.#expected !== found)
      throw new KnownProblem(
        'invalid_request',
        `The bytes that came have the MD5 ${found}, not the one of Content-MD5; put the part again.`,
      );
  }

  /** In hex, once all has passed. */
  md5(): string {
    return (this.#digest ??= this.#hash.digest('hex'));
  }
}

async function guarded<T>(work: () => Promise<T>, signal?: AbortSignal): Promise<T> {
  try {
    return await work();
  } catch (error) {
    throw toStorageError(error, signal);
  }
}

/** When a file was written, in milliseconds since the epoch; null when it is not there any more. */
async function writtenMs({ path }: { readonly path: string }): Promise<number | null> {
  return (await unlessMissing(() => stat(path)))?.mtimeMs ?? null;
}

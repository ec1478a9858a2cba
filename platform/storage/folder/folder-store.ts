import { constants } from 'node:fs';
import { access } from 'node:fs/promises';
import { Readable } from 'node:stream';
import { KnownProblem } from '#domain/errors.ts';
import { Once } from '#platform/concurrency/once.ts';
import { externalWrite } from '../../external-writes/external-write.ts';
import { BlockPool } from '../blocks.ts';
import { CheckedBody } from '../s3/checked-body.ts';
import { toStorageError } from '../errors.ts';
import { downloadOfFile } from './file-download.ts';
import { type OpenFile, openFile } from './file-info.ts';
import { listFiles } from './file-list.ts';
import { findFile, startOfFile } from './file-looks.ts';
import { naturalNames, spareNames } from './file-paths.ts';
import { removeObject, removeOldTemporaries, writeNewObject, writeObject } from './file-write.ts';
import { checkKey } from '../keys.ts';
import type {
  Download,
  DownloadOptions,
  GetOptions,
  ObjectInfo,
  ObjectStore,
  PutOptions,
  ReadStartOptions,
  StoredObject,
} from '../object-store.ts';
import { readStart } from '../read-start.ts';
import { rangeWithin } from '../ranges.ts';
import { RealFolders } from './real-folders.ts';

/** Opens the folder `dir`, an absolute path, as a store. It must be there by the first use. */
export function openFolderStore(dir: string): ObjectStore {
  return new FileStore(dir);
}

const readBytes = 256 * 1024;

/** Where the file of a key may be. */
interface Place {
  readonly folder: string;
  readonly name: string;
}

class FileStore implements ObjectStore {
  readonly #folders: RealFolders;
  readonly #blocks = new BlockPool();
  readonly #sweep: Once<void>;

  constructor(dir: string) {
    this.#folders = new RealFolders(dir);
    this.#sweep = new Once(async () => removeOldTemporaries(await this.#folders.root(), Date.now()));
  }

  async head(key: string, signal?: AbortSignal): Promise<ObjectInfo | null> {
    return this.#guard(signal, (root) =>
      this.#find(root, key, ({ folder, name }) => findFile(root, folder, name, key)),
    );
  }

  async readStart(key: string, bytesMax: number, { signal }: ReadStartOptions = {}): Promise<Buffer | null> {
    const start = await this.#guard(signal, (root) =>
      this.#find(root, key, (place) => startOfFile({ root, ...place }, bytesMax)),
    );
    return start ?? readStart(this, key, bytesMax, { signal });
  }

  async get(key: string, { signal, ...version }: GetOptions = {}): Promise<StoredObject | null> {
    return this.#guard(signal, async (root) => {
      const opened = await this.#openPart(root, key, version);
      if (opened === null) return null;
      const { file, part } = opened;
      const sizeBytes = part.end - part.start + 1;
      const bytes =
        sizeBytes === 0 ? await nothing(file) : file.handle.createReadStream({ ...part, highWaterMark: readBytes });
      return { info: file.info, body: new CheckedBody(bytes, { sizeBytes, signal }) };
    });
  }

  async download(key: string, { signal, ...version }: DownloadOptions = {}): Promise<Download | null> {
    return this.#guard(signal, async (root) => {
      const opened = await this.#openPart(root, key, version);
      return opened && downloadOfFile(opened.file, { blocks: this.#blocks, range: opened.part, signal });
    });
  }

  async put(key: string, body: Buffer | string | Readable, { signal }: PutOptions): Promise<void> {
    await this.#guard(signal, async (root) => {
      checkKey(key);
      await this.#sweep.get();
      await externalWrite(
        () => ({ kind: 'object', name: `put ${key}` }),
        () => writeObject({ root, folders: this.#folders }, key, body, signal),
      );
    });
  }

  async putNew(key: string, body: Buffer, { signal }: PutOptions): Promise<boolean> {
    if ((await this.head(key, signal)) !== null) return false;
    return this.#guard(signal, (root) =>
      externalWrite(
        () => ({ kind: 'object', name: `put new ${key}` }),
        () => writeNewObject({ root, folders: this.#folders }, key, body, signal),
      ),
    );
  }

  async *list(prefix: string, after = ''): AsyncGenerator<ObjectInfo> {
    try {
      for await (const info of listFiles(await this.#folders.root(), prefix)) {
        if (Buffer.compare(Buffer.from(info.key), Buffer.from(after)) > 0) yield info;
      }
    } catch (error) {
      throw toStorageError(error);
    }
  }

  async delete(keys: readonly string[]): Promise<void> {
    await this.#guard(undefined, async (root) => {
      for (const key of keys) checkKey(key);
      for (const key of keys)
        await externalWrite(
          () => ({ kind: 'object', name: `delete ${key}` }),
          () => removeObject(root, key),
        );
    });
  }

  async ping(signal?: AbortSignal): Promise<void> {
    await this.#guard(signal, (root) => access(root, constants.R_OK | constants.X_OK));
  }

  async missingRights(): Promise<readonly string[]> {
    return [];
  }

  async close(): Promise<void> {
    // Nothing is kept open.
  }

  /** The file of a version, and which part of it is wanted. @throws KnownProblem `source_changed`, `storage_error` */
  async #openPart(root: string, key: string, { range, ifMatch }: Pick<GetOptions, 'range' | 'ifMatch'>) {
    const file = await this.#open(root, key);
    if (file === null) return null;
    try {
      if (ifMatch !== undefined && ifMatch !== file.info.etag) throw new KnownProblem('source_changed');
      return { file, part: rangeWithin(file.info.sizeBytes, range) };
    } catch (error) {
      await file.handle.close();
      throw error;
    }
  }

  #open(root: string, key: string): Promise<OpenFile | null> {
    return this.#find(root, key, ({ folder, name }) => openFile(root, folder, name, key));
  }

  /** The result of `look` at the first of the key's places that has something. */
  async #find<T>(root: string, key: string, look: (place: Place) => Promise<T | null>): Promise<T | null> {
    checkKey(key);
    for (const names of [naturalNames(key), spareNames(key)]) {
      if (names === null) continue;
      const folder = await this.#folders.find(root, names.slice(0, -1));
      const found = folder === null ? null : await look({ folder, name: names.at(-1) ?? '' });
      if (found !== null) return found;
    }
    // Not there, unless the whole folder is not.
    await this.#folders.lookForRoot();
    return null;
  }

  async #guard<T>(signal: AbortSignal | undefined, work: (root: string) => Promise<T>): Promise<T> {
    signal?.throwIfAborted();
    try {
      return await work(await this.#folders.root());
    } catch (error) {
      throw toStorageError(error, signal);
    }
  }
}

async function nothing({ handle }: OpenFile): Promise<Readable> {
  await handle.close();
  return Readable.from([]);
}

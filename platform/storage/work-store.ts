import type { Readable } from 'node:stream';
import { isWorkKey } from '#domain/media/object-keys.ts';
import type {
  DownloadOptions,
  GetOptions,
  ObjectInfo,
  ObjectStore,
  PutOptions,
  ReadOptions,
  ReadStartOptions,
} from './object-store.ts';

/**
 * The media bucket whose working objects lie in a bucket of their own (`WORK_BUCKET`): the one place that says which
 * bucket a key is in.
 */
export class WorkStore implements ObjectStore {
  readonly #media: ObjectStore;
  readonly #work: ObjectStore;

  constructor(media: ObjectStore, work: ObjectStore) {
    this.#media = media;
    this.#work = work;
  }

  #of(key: string): ObjectStore {
    return isWorkKey(key) ? this.#work : this.#media;
  }

  head(key: string, signal?: AbortSignal, options?: ReadOptions) {
    return this.#of(key).head(key, signal, options);
  }

  get(key: string, options?: GetOptions) {
    return this.#of(key).get(key, options);
  }

  readStart(key: string, bytesMax: number, options?: ReadStartOptions) {
    return this.#of(key).readStart(key, bytesMax, options);
  }

  download(key: string, options?: DownloadOptions) {
    return this.#of(key).download(key, options);
  }

  put(key: string, body: Buffer | string | Readable, options: PutOptions) {
    return this.#of(key).put(key, body, options);
  }

  putNew(key: string, body: Buffer, options: PutOptions) {
    return this.#of(key).putNew(key, body, options);
  }

  list(prefix: string, after?: string): AsyncIterable<ObjectInfo> {
    return this.#of(prefix).list(prefix, after);
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const store of [this.#media, this.#work]) {
      const own = keys.filter((key) => this.#of(key) === store);
      if (own.length > 0) await store.delete(own);
    }
  }

  async missingRights(): Promise<readonly string[]> {
    return [...new Set([...(await this.#media.missingRights()), ...(await this.#work.missingRights())])];
  }

  async ping(signal?: AbortSignal): Promise<void> {
    await Promise.all([this.#media.ping(signal), this.#work.ping(signal)]);
  }

  async close(): Promise<void> {
    await Promise.all([this.#media.close(), this.#work.close()]);
  }
}

import { readStorageSettings, type StorageName, type StorageSettings } from '#platform/config/storage-settings.ts';
import type { Environment } from '#platform/config/variable.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { WorkStore } from '#platform/storage/work-store.ts';

/** The stores of a runner: each is opened by the first step that needs it, and reused by later tasks. */
export class Stores {
  readonly #env: Environment;
  readonly #opened = new Map<StorageName, Promise<ObjectStore>>();

  constructor(env: Environment) {
    this.#env = env;
  }

  open(which: StorageName): Promise<ObjectStore> {
    const store = this.#opened.get(which) ?? openStore(this.#env, which);
    this.#opened.set(which, store);
    return store;
  }

  async close(): Promise<void> {
    await Promise.all([...this.#opened.values()].map(async (opened) => (await opened).close()));
  }
}

async function openStore(env: Environment, which: StorageName): Promise<ObjectStore> {
  const { work, ...settings } = readStorageSettings(env, which);
  const store = await openBucket(settings);
  return work === undefined ? store : new WorkStore(store, await openBucket(work));
}

/** A folder's store is loaded alone: loading the S3 client takes 0.15 s of processor time. */
async function openBucket(settings: StorageSettings): Promise<ObjectStore> {
  if (settings.dir !== undefined) {
    const { openFolderStore } = await import('#platform/storage/folder/folder-store.ts');
    return openFolderStore(settings.dir);
  }
  const { openObjectStore } = await import('#platform/storage/open.ts');
  return openObjectStore(settings);
}

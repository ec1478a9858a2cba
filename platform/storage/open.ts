import { openFolderStore } from './folder/folder-store.ts';
import type { ObjectStore } from './object-store.ts';
import { openS3Store } from './s3/s3-store.ts';
import type { StorageSettings } from '../config/storage-settings.ts';
import { WorkStore } from './work-store.ts';

/** Opens the store that the settings describe; nothing is connected before its first use. */
export function openObjectStore({ work, ...settings }: StorageSettings): ObjectStore {
  if (work !== undefined) return new WorkStore(openObjectStore(settings), openObjectStore(work));
  if (settings.s3 !== undefined) return openS3Store(settings.bucket, settings.s3);
  if (settings.dir !== undefined) return openFolderStore(settings.dir);
  throw new Error('a store is either a bucket or a folder');
}

import type { UploadSettings } from '../config/upload-settings.ts';
import { openFolderMultipart } from './folder/folder-multipart.ts';
import type { MultipartStore } from './multipart-store.ts';
import type { ObjectStore } from './object-store.ts';
import { openObjectStore } from './open.ts';
import { openS3Multipart } from './s3/s3-multipart.ts';

/** Where uploads go, with the right to write there. */
export interface UploadBucket {
  readonly settings: UploadSettings;
  readonly objects: ObjectStore;
  readonly parts: MultipartStore;
  close(): Promise<void>;
}

/** Opens the bucket of uploads; nothing is connected before its first use. */
export function openUploadBucket(settings: UploadSettings): UploadBucket {
  const { bucket, s3, dir } = settings.store;
  const objects = openObjectStore(settings.store);
  const parts =
    s3 === undefined
      ? openFolderMultipart(dir ?? '')
      : openS3Multipart(bucket, { ...s3, publicEndpoint: settings.publicEndpoint });
  const close = async () => void (await Promise.all([objects.close(), parts.close()]));
  return { settings, objects, parts, close };
}

import type { ObjectStore } from './object-store.ts';
import type { S3Settings } from './settings.ts';
export function openS3Store(bucket: string, settings: S3Settings): ObjectStore {
  throw new Error(`not yet: ${bucket} ${settings.region}`);
}

import { rm } from 'node:fs/promises';

/** Removes a folder into which processes that were just killed may still write. */
export const removeFolder = (path: string): Promise<void> =>
  rm(path, { recursive: true, force: true, maxRetries: 20, retryDelay: 250 });

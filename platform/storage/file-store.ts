import type { ObjectStore } from './object-store.ts';
export function openFileStore(dir: string): ObjectStore {
  throw new Error(`not yet: ${dir}`);
}

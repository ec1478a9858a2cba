import type { ObjectStore } from '#platform/storage/object-store.ts';

/** As many keys as S3 deletes in one request. */
const keysAtOnce = 1000;

/** Removes every object whose key begins with `prefix`; how many there were. */
export async function removeUnder(store: ObjectStore, prefix: string): Promise<number> {
  let keys: string[] = [];
  let removed = 0;
  const remove = async () => {
    if (keys.length > 0) await store.delete(keys);
    removed += keys.length;
    keys = [];
  };
  for await (const { key } of store.list(prefix)) {
    keys.push(key);
    if (keys.length === keysAtOnce) await remove();
  }
  await remove();
  return removed;
}

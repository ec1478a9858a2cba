import type { ObjectStore, ReadStartOptions } from './object-store.ts';
import { readWhole } from './read-whole.ts';

/** The first bytes of an object by a range, as `ObjectStore.readStart` gives them. */
export async function readStart(
  store: Pick<ObjectStore, 'get' | 'head'>,
  key: string,
  bytesMax: number,
  { signal, ...options }: ReadStartOptions,
): Promise<Buffer | null> {
  const range = { start: 0, end: bytesMax - 1 };
  try {
    const found = await store.get(key, {
      ...options,
      range,
      isSmall: true,
      ...(signal === undefined ? {} : { signal }),
    });
    return found === null ? null : await readWhole(found.body);
  } catch (error) {
    // An empty object has no range.
    const info = await store.head(key, signal, options).catch(() => null);
    if (info?.sizeBytes !== 0) throw error;
    return Buffer.alloc(0);
  }
}

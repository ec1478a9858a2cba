/** The maps and sets that live, by the place in the product's code where they were made. */
export class CollectionWatch {
  readonly #made = new Map<string, Set<WeakRef<{ readonly size: number }>>>();
  readonly #restore: () => void;

  /** From now on each new map and set is noted; `root` is the folder of the product. */
  constructor(root: string) {
    const [originalMap, originalSet] = [globalThis.Map, globalThis.Set];
    const note = (made: { readonly size: number }) => {
      const place = placeIn(root, new Error('made').stack ?? '');
      if (place === null) return;
      const refs = this.#made.get(place) ?? new originalSet();
      if (refs.size === 0) this.#made.set(place, refs);
      refs.add(new WeakRef(made));
    };
    class NotedMap<K, V> extends originalMap<K, V> {
      constructor(entries?: Iterable<readonly [K, V]> | null) {
        super(entries);
        note(this);
      }
    }
    class NotedSet<T> extends originalSet<T> {
      constructor(values?: Iterable<T> | null) {
        super(values);
        note(this);
      }
    }
    Object.assign(globalThis, { Map: NotedMap, Set: NotedSet });
    this.#restore = () => {
      Object.assign(globalThis, { Map: originalMap, Set: originalSet });
    };
  }

  /** How many entries the collections of each place have now, together. */
  sizes(): ReadonlyMap<string, number> {
    const sizes = new Map<string, number>();
    for (const [place, refs] of this.#made)
      for (const ref of refs) {
        const collection = ref.deref();
        if (collection === undefined) refs.delete(ref);
        else sizes.set(place, (sizes.get(place) ?? 0) + collection.size);
      }
    return sizes;
  }

  close(): void {
    this.#restore();
  }
}

/** `path:line` of the first line of the stack that is of the product; null when there is none. */
function placeIn(root: string, stack: string): string | null {
  for (const line of stack.split('\n')) {
    const [, path, number] = /(?:file:\/\/)?(\/[^():]+):(\d+):\d+\)?$/.exec(line) ?? [];
    if (path === undefined || !path.startsWith(`${root}/`)) continue;
    const name = path.slice(root.length + 1);
    if (/^(?:api|controller|delivery|domain|jobs|platform|http-service)\b/.test(name)) return `${name}:${number}`;
    if (/^(?:node_modules)\b/.test(name)) return null;
  }
  return null;
}

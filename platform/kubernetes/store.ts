import type { KubeObject, ObjectRef } from './objects.ts';

/** Called for the changes of a store. */
export interface StoreHandlers<S> {
  added?: (object: S) => void;
  updated?: (object: S, before: S) => void;
  deleted?: (object: S) => void;
}

/** The name of an object within its kind: `namespace/name`, or `name` alone for a cluster-wide kind. */
export function keyOf(object: KubeObject): string {
  return keyFor(object.metadata?.namespace, object.metadata?.name ?? '');
}

/** The reference by which a request names an object. */
export function refOf({ metadata }: KubeObject): ObjectRef {
  return { namespace: metadata?.namespace, name: metadata?.name ?? '' };
}

function keyFor(namespace: string | undefined, name: string): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

/**
 * The objects of one kind by name. One name may pass from an object to another (deleted and created again, perhaps
 * across a gap between two watches): a different UID is reported as a deletion and an addition.
 */
export class Store<S extends KubeObject> {
  readonly #objects = new Map<string, S>();
  readonly #handlers: StoreHandlers<S>;
  readonly #onThrow: (error: unknown, event: keyof StoreHandlers<S>, key: string) => void;

  constructor(
    handlers: StoreHandlers<S>,
    onThrow: (error: unknown, event: keyof StoreHandlers<S>, key: string) => void,
  ) {
    this.#handlers = handlers;
    this.#onThrow = onThrow;
  }

  get size(): number {
    return this.#objects.size;
  }

  get(namespace: string | undefined, name: string): S | undefined {
    return this.#objects.get(keyFor(namespace, name));
  }

  values(): IterableIterator<S> {
    return this.#objects.values();
  }

  /** Stores an object. One that is known in the same version is not reported. */
  put(object: S): void {
    const key = keyOf(object);
    const before = this.#objects.get(key);
    if (before && !isSame(before, object)) this.#remove(key, before);
    this.#objects.set(key, object);
    if (!before || !isSame(before, object)) this.#report('added', key, object);
    else if (before.metadata?.resourceVersion !== object.metadata?.resourceVersion) {
      this.#report('updated', key, object, before);
    }
  }

  /** Removes an object, unless another one has taken its name. */
  delete(object: S): void {
    const key = keyOf(object);
    const before = this.#objects.get(key);
    if (before && isSame(before, object)) this.#remove(key, object);
  }

  /** Replaces the contents: an object that is not among `objects` is removed. */
  replace(objects: readonly S[]): void {
    const present = new Set(objects.map(keyOf));
    for (const [key, object] of this.#objects) if (!present.has(key)) this.#remove(key, object);
    for (const object of objects) this.put(object);
  }

  #remove(key: string, object: S): void {
    this.#objects.delete(key);
    this.#report('deleted', key, object);
  }

  #report(event: 'added' | 'updated' | 'deleted', key: string, object: S, before: S = object): void {
    try {
      const result: unknown = this.#handlers[event]?.(object, before);
      // A handler may be async although its type is not; its rejection must not end the process.
      if (result instanceof Promise) result.catch((error: unknown) => this.#onThrow(error, event, key));
    } catch (error) {
      this.#onThrow(error, event, key);
    }
  }
}

function isSame(a: KubeObject, b: KubeObject): boolean {
  return a.metadata?.uid === b.metadata?.uid;
}

import { Connection, type ConnectionOptions } from './connection.ts';
import type { Credentials } from './credentials.ts';
import { KubeError, type KubeStatus } from './errors.ts';
import type { KubeList, KubeObject, ObjectRef, Resource, WatchEvent } from './objects.ts';

/** The name under which the API server records which fields are ours (managedFields). */
export const fieldManager = 'reelwright-controller';

/** Which objects to list or watch. Without a namespace, those of all. */
export interface Selection {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

/** A part of an object that is read and written on its own. */
export type Subresource = 'status' | 'scale';

interface Cancellable {
  signal?: AbortSignal | undefined;
}

/**
 * A client of the Kubernetes API: one call is one request over kept-alive connections, with no retry of its own except
 * after a 401 (see `Connection`). Every method throws `KubeError` when it is refused or not answered, and the reason of
 * `signal` when that is aborted.
 */
export class KubeClient {
  readonly #connection: Connection;
  readonly #guard: (() => void) | undefined;

  constructor(credentials: Credentials | Connection, options: ConnectionOptions & { guard?: () => void } = {}) {
    this.#connection = credentials instanceof Connection ? credentials : new Connection(credentials, options);
    this.#guard = options.guard;
  }

  /**
   * The same client over the same connections, that calls `guard` at the last moment before each write and lets what it
   * throws through: a leader that was paused finds out there that it leads no more.
   */
  guardedBy(guard: () => void): KubeClient {
    return new KubeClient(this.#connection, { guard });
  }

  /** One object. Throws `NotFound`. */
  get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, options: Cancellable = {}): Promise<T> {
    return this.#read(`get ${told(resource, ref)}`, pathOf(resource, ref), {}, options.signal) as Promise<T>;
  }

  /**
   * A page of at most `limit` objects, or all of them. `continue` is the mark from the page before; it throws `Expired`
   * once the server has forgotten that snapshot (some five minutes).
   */
  async list<T extends KubeObject>(
    resource: Resource<T>,
    { namespace, signal, ...query }: Selection & Cancellable & { limit?: number; continue?: string } = {},
  ): Promise<KubeList<T>> {
    const what = `list ${told(resource, { namespace })}`;
    return (await this.#read(what, pathOf(resource, { namespace }), query, signal)) as KubeList<T>;
  }

  /** Makes an object of the namespace in its metadata. Throws `AlreadyExists`, `Invalid`. */
  create<T extends KubeObject>(resource: Resource<T>, object: T, options: Cancellable = {}): Promise<T> {
    const { namespace, name } = object.metadata ?? {};
    if (resource.isNamespaced && namespace === undefined) throw new TypeError(`${resource.kind} needs a namespace`);
    const value = { apiVersion: resource.apiVersion, kind: resource.kind, ...object };
    return this.#write(`create ${told(resource, { namespace, name })}`, {
      method: 'POST',
      path: pathOf(resource, { namespace }) + queryOf({ fieldManager }),
      body: { type: 'application/json', value },
      signal: options.signal,
    }) as Promise<T>;
  }

  /**
   * A JSON merge patch (RFC 7386). With a `resourceVersion` in its metadata it is applied to that very version only,
   * else it throws `Conflict`.
   */
  mergePatch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: object,
    options: Cancellable & { subresource?: Subresource } = {},
  ): Promise<T> {
    return this.#write(`patch ${told(resource, ref, options.subresource)}`, {
      method: 'PATCH',
      path: pathOf(resource, ref, options.subresource) + queryOf({ fieldManager }),
      body: { type: 'application/merge-patch+json', value: patch },
      signal: options.signal,
    }) as Promise<T>;
  }

  /**
   * Server-side apply: the object becomes so, and the fields in it become ours; fields that we applied before and left
   * out now go. Others' fields are taken over unless `isForced` is false; it throws `Conflict` then.
   */
  apply<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: Cancellable & { subresource?: Subresource; isForced?: boolean } = {},
  ): Promise<T> {
    const { namespace, name } = object.metadata ?? {};
    if (name === undefined) throw new TypeError(`an applied ${resource.kind} needs a name`);
    const ref = { namespace, name };
    return this.#write(`apply ${told(resource, ref, options.subresource)}`, {
      method: 'PATCH',
      path: pathOf(resource, ref, options.subresource) + queryOf({ fieldManager, force: options.isForced ?? true }),
      body: {
        type: 'application/apply-patch+yaml',
        value: { apiVersion: resource.apiVersion, kind: resource.kind, ...object },
      },
      signal: options.signal,
    }) as Promise<T>;
  }

  /** Sets the replicas of anything that has a scale subresource. */
  async scale(resource: Resource<KubeObject>, ref: ObjectRef, replicas: number, options: Cancellable = {}) {
    await this.mergePatch(resource, ref, { spec: { replicas } }, { ...options, subresource: 'scale' });
  }

  /**
   * Removes an object; what belongs to it goes in the background unless told otherwise. With a `uid`, only the object
   * that bears it: throws `Conflict` when another took its name, and `NotFound` when there is none.
   */
  async delete(
    resource: Resource<KubeObject>,
    ref: ObjectRef,
    options: Cancellable & {
      propagation?: 'Background' | 'Foreground' | 'Orphan';
      uid?: string;
      gracePeriodSeconds?: number;
    } = {},
  ): Promise<void> {
    const { propagation = 'Background', uid, gracePeriodSeconds, signal } = options;
    await this.#write(`delete ${told(resource, ref)}`, {
      method: 'DELETE',
      path: pathOf(resource, ref),
      body: {
        type: 'application/json',
        value: {
          propagationPolicy: propagation,
          ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
          ...(uid === undefined ? {} : { preconditions: { uid } }),
        },
      },
      signal,
    });
  }

  /**
   * The changes since `resourceVersion`, until the server ends them after `timeoutSeconds`, with bookmarks. Throws when
   * the watch is refused, when it breaks (`Unreachable`), and on an ERROR event; `isExpired` tells a 410 in either form.
   * A silent connection is not noticed here: the caller keeps the time and aborts.
   */
  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    { namespace, signal, ...query }: Selection & Cancellable & { resourceVersion: string; timeoutSeconds: number },
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const what = `watch ${told(resource, { namespace })}`;
    const stream = await this.#connection.open({
      method: 'GET',
      path: pathOf(resource, { namespace }) + queryOf({ watch: true, allowWatchBookmarks: true, ...query }),
      signal,
      what,
    });
    try {
      let rest = '';
      for await (const chunk of stream.chunks) {
        rest += chunk;
        for (let end = rest.indexOf('\n'); end !== -1; end = rest.indexOf('\n')) {
          const line = rest.slice(0, end);
          rest = rest.slice(end + 1);
          yield eventOf<T>(what, line);
        }
      }
      if (rest.trim() !== '') throw new KubeError(`${what}: cut off`, { status: 0, reason: 'Unreachable' });
    } finally {
      stream.close();
    }
  }

  /** Closes every connection, also those of clients that came of `guardedBy`. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  #read(what: string, path: string, query: Query, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#connection.exchange({ method: 'GET', path: path + queryOf(query), signal, what });
  }

  #write(
    what: string,
    request: {
      method: 'POST' | 'PATCH' | 'DELETE';
      path: string;
      body: { type: string; value: unknown };
      signal: AbortSignal | undefined;
    },
  ): Promise<unknown> {
    return this.#connection.exchange({ ...request, guard: this.#guard, what });
  }
}

type Query = Record<string, string | number | boolean | undefined>;

function pathOf(resource: Resource<KubeObject>, ref: Partial<ObjectRef>, subresource?: string): string {
  const root = resource.apiVersion.includes('/') ? '/apis/' : '/api/';
  const parts = [resource.apiVersion];
  if (resource.isNamespaced && ref.namespace !== undefined) parts.push('namespaces', encodeURIComponent(ref.namespace));
  parts.push(resource.plural);
  if (ref.name !== undefined) parts.push(encodeURIComponent(ref.name));
  if (subresource !== undefined) parts.push(subresource);
  return root + parts.join('/');
}

function queryOf(query: Query): string {
  const parameters = new URLSearchParams();
  for (const [name, value] of Object.entries(query)) if (value !== undefined) parameters.set(name, String(value));
  return parameters.size === 0 ? '' : `?${parameters.toString()}`;
}

function told(
  resource: Resource<KubeObject>,
  { namespace, name }: { namespace?: string | undefined; name?: string | undefined },
  subresource?: string,
): string {
  const where = [namespace, name].filter((part) => part !== undefined).join('/');
  return [resource.plural + (subresource ? `/${subresource}` : ''), where].filter((part) => part !== '').join(' ');
}

function eventOf<T>(what: string, line: string): WatchEvent<T> {
  const event = JSON.parse(line) as WatchEvent<T> | { type: 'ERROR'; object: KubeStatus };
  if (event.type !== 'ERROR') return event;
  throw KubeError.ofStatus(what, event.object.code ?? 500, event.object);
}

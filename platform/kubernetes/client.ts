import { externalWrite } from '../external-writes/external-write.ts';
import { linesOf } from './bounded-text.ts';
import { Connection, type ConnectionOptions } from './connection.ts';
import type { Credentials } from './credentials.ts';
import { KubeError } from './errors.ts';
import type { KubeList, KubeObject, ObjectRef, Resource, WatchEvent } from './objects.ts';

/** The name under which the API server records which fields are ours (managedFields). */
export const fieldManager = 'reelwright-controller';

/** Which objects to list or watch; without a namespace, objects of all namespaces. */
export interface Selection {
  namespace?: string | undefined;
  labelSelector?: string | undefined;
  fieldSelector?: string | undefined;
}

/** A part of an object with an address of its own. */
export type Subresource = 'status' | 'scale';

interface Cancellable {
  signal?: AbortSignal | undefined;
}

/**
 * A client of the Kubernetes API: one call is one request, repeated only after a 401 (see `Connection`). Every method
 * throws `KubeError` when the request is refused or not answered, and the reason of `signal` when that aborts.
 */
export class KubeClient {
  readonly #connection: Connection;
  readonly #guard: (() => void) | undefined;

  constructor(credentials: Credentials | Connection, options: ConnectionOptions & { guard?: () => void } = {}) {
    this.#connection = credentials instanceof Connection ? credentials : new Connection(credentials, options);
    this.#guard = options.guard;
  }

  /**
   * The same client, which calls `guard` before each write and throws what that throws: so a leader that was paused
   * notices that it is no longer the leader.
   */
  guardedBy(guard: () => void): KubeClient {
    return new KubeClient(this.#connection, { guard });
  }

  /** One object. Throws `NotFound`. */
  get<T extends KubeObject>(resource: Resource<T>, ref: ObjectRef, options: Cancellable = {}): Promise<T> {
    return this.#read(`get ${describe(resource, ref)}`, resourcePath(resource, ref), {}, options.signal) as Promise<T>;
  }

  /**
   * A page of at most `limit` objects, or all of them. `continue` is the token of the page before; the call throws
   * `Expired` once the server has dropped that snapshot (after about five minutes).
   */
  async list<T extends KubeObject>(
    resource: Resource<T>,
    { namespace, signal, ...query }: Selection & Cancellable & { limit?: number; continue?: string } = {},
  ): Promise<KubeList<T>> {
    const what = `list ${describe(resource, { namespace })}`;
    return (await this.#read(what, resourcePath(resource, { namespace }), query, signal)) as KubeList<T>;
  }

  /** Creates an object in the namespace of its metadata. Throws `AlreadyExists`, `Invalid`. */
  create<T extends KubeObject>(resource: Resource<T>, object: T, options: Cancellable = {}): Promise<T> {
    const { namespace, name } = object.metadata ?? {};
    if (resource.isNamespaced && namespace === undefined) throw new TypeError(`${resource.kind} needs a namespace`);
    return this.#write(`create ${describe(resource, { namespace, name })}`, {
      method: 'POST',
      path: resourcePath(resource, { namespace }) + queryOf({ fieldManager }),
      body: { type: 'application/json', value: typed(resource, object) },
      signal: options.signal,
    }) as Promise<T>;
  }

  /**
   * A JSON merge patch (RFC 7386). With a `resourceVersion` in its metadata it is applied to that version only, else it
   * throws `Conflict`.
   */
  mergePatch<T extends KubeObject>(
    resource: Resource<T>,
    ref: ObjectRef,
    patch: object,
    options: Cancellable & { subresource?: Subresource } = {},
  ): Promise<T> {
    return this.#write(`patch ${describe(resource, ref, options.subresource)}`, {
      method: 'PATCH',
      path: resourcePath(resource, ref, options.subresource) + queryOf({ fieldManager }),
      body: { type: 'application/merge-patch+json', value: patch },
      signal: options.signal,
    }) as Promise<T>;
  }

  /**
   * Server-side apply: sets the fields of `object` and makes this client their owner; fields that it applied before and
   * leaves out now are removed. `manager` is the owner, by default `fieldManager`. Fields of other owners are taken
   * over unless `isForced` is false; then it throws `Conflict`.
   */
  apply<T extends KubeObject>(
    resource: Resource<T>,
    object: T,
    options: Cancellable & { subresource?: Subresource; isForced?: boolean; manager?: string } = {},
  ): Promise<T> {
    const { isForced: force = true, manager = fieldManager } = options;
    const { namespace, name } = object.metadata ?? {};
    if (name === undefined) throw new TypeError(`an applied ${resource.kind} needs a name`);
    const ref = { namespace, name };
    return this.#write(`apply ${describe(resource, ref, options.subresource)}`, {
      method: 'PATCH',
      path: resourcePath(resource, ref, options.subresource) + queryOf({ fieldManager: manager, force }),
      body: { type: 'application/apply-patch+yaml', value: typed(resource, object) },
      signal: options.signal,
    }) as Promise<T>;
  }

  /** Sets the replicas of an object that has a scale subresource. */
  async scale(resource: Resource<KubeObject>, ref: ObjectRef, replicas: number, options: Cancellable = {}) {
    await this.mergePatch(resource, ref, { spec: { replicas } }, { ...options, subresource: 'scale' });
  }

  /**
   * Deletes an object; its dependents are deleted in the background unless `propagation` differs. With a `uid`, only
   * the object with that UID. Throws `Conflict` when another object has its name, and `NotFound` when there is none.
   */
  async delete(
    resource: Resource<KubeObject>,
    ref: ObjectRef,
    { signal, ...options }: Cancellable & DeleteOptions = {},
  ): Promise<void> {
    await this.#write(`delete ${describe(resource, ref)}`, {
      method: 'DELETE',
      path: resourcePath(resource, ref),
      body: { type: 'application/json', value: deleteOptions(options) },
      signal,
    });
  }

  /**
   * The changes since `resourceVersion`, until the server ends them after `timeoutSeconds`, with bookmarks. Throws when
   * the watch is refused, when it breaks (`Unreachable`), and on an ERROR event; `isExpired` recognizes a 410 in either
   * form. A silent connection is not detected here: the caller measures the time and aborts.
   */
  async *watch<T extends KubeObject>(
    resource: Resource<T>,
    { namespace, signal, ...query }: Selection & Cancellable & { resourceVersion: string; timeoutSeconds: number },
  ): AsyncGenerator<WatchEvent<T>, void, undefined> {
    const what = `watch ${describe(resource, { namespace })}`;
    const stream = await this.#connection.open({
      method: 'GET',
      path: resourcePath(resource, { namespace }) + queryOf({ watch: true, allowWatchBookmarks: true, ...query }),
      signal,
      what,
    });
    try {
      for await (const line of linesOf(stream.chunks, what)) yield watchEvent<T>(what, line);
    } finally {
      stream.close();
    }
  }

  /** Closes every connection, also of clients made by `guardedBy`. */
  close(): Promise<void> {
    return this.#connection.close();
  }

  #read(what: string, path: string, query: Query, signal: AbortSignal | undefined): Promise<unknown> {
    return this.#connection.exchange({ method: 'GET', path: path + queryOf(query), signal, what });
  }

  #write(what: string, request: WriteRequest): Promise<unknown> {
    return externalWrite(
      () => ({ kind: 'kubernetes', name: what }),
      () => this.#connection.exchange({ ...request, guard: this.#guard, what }),
    );
  }
}

interface DeleteOptions {
  propagation?: 'Background' | 'Foreground' | 'Orphan';
  uid?: string;
  gracePeriodSeconds?: number;
}

interface WriteRequest {
  method: 'POST' | 'PATCH' | 'DELETE';
  path: string;
  body: { type: string; value: unknown };
  signal: AbortSignal | undefined;
}

function deleteOptions({ propagation = 'Background', uid, gracePeriodSeconds }: DeleteOptions): object {
  return {
    propagationPolicy: propagation,
    ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
    ...(uid === undefined ? {} : { preconditions: { uid } }),
  };
}

function typed<T extends KubeObject>({ apiVersion, kind }: Resource<T>, object: T): object {
  return { apiVersion, kind, ...object };
}

type Query = Record<string, string | number | boolean | undefined>;

function resourcePath(resource: Resource<KubeObject>, ref: Partial<ObjectRef>, subresource?: string): string {
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

function describe(
  resource: Resource<KubeObject>,
  { namespace, name }: { namespace?: string | undefined; name?: string | undefined },
  subresource?: string,
): string {
  const where = [namespace, name].filter((part) => part !== undefined).join('/');
  return [resource.plural + (subresource ? `/${subresource}` : ''), where].filter((part) => part !== '').join(' ');
}

function watchEvent<T>(what: string, line: string): WatchEvent<T> {
  let event: { type?: unknown; object?: unknown } | null;
  try {
    event = JSON.parse(line) as typeof event;
  } catch (cause) {
    throw new KubeError(`${what}: an event is no JSON`, { status: 0, reason: 'Unreachable' }, { cause });
  }
  const object = event?.object;
  if (typeof object !== 'object' || object === null)
    throw new KubeError(`${what}: an event has no object`, { status: 0, reason: 'Unreachable' });
  if (event?.type !== 'ERROR') return event as WatchEvent<T>;
  const { code }: { readonly code?: unknown } = object;
  throw KubeError.ofStatus(what, typeof code === 'number' ? code : 500, object);
}

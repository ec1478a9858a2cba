import { text } from 'node:stream/consumers';
import { KnownProblem } from '#domain/errors.ts';
import type { ObjectInfo, ObjectStore } from './object-store.ts';

// Reads that end although a server answers each request in time: byte by byte, or page by page for ever.

interface Bounds {
  readonly signal?: AbortSignal | undefined;
  readonly timeoutMs?: number;
}

interface TextToRead extends Bounds {
  readonly key: string;
  readonly bytesMax: number;
}

/** 64 MiB at a megabyte a second. */
const readTimeoutMs = 60_000;

/**
 * A whole object as text; null when it does not exist.
 *
 * @throws KnownProblem `limit_exceeded` when it is larger than `bytesMax`, `storage_error`
 */
export async function readText(store: ObjectStore, { key, bytesMax, ...bounds }: TextToRead): Promise<string | null> {
  const { signal, timeoutMs = readTimeoutMs } = bounds;
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(tooSlow(key, timeoutMs)), timeoutMs);
  const either = signal === undefined ? deadline.signal : AbortSignal.any([signal, deadline.signal]);
  try {
    const object = await store.get(key, { signal: either });
    if (object === null) return null;
    const { sizeBytes } = object.info;
    if (sizeBytes > bytesMax) {
      object.body.destroy();
      throw new KnownProblem('limit_exceeded', `An object of the job has ${sizeBytes} bytes, more than ${bytesMax}.`);
    }
    either.addEventListener('abort', () => object.body.destroy(either.reason as Error));
    return await text(object.body);
  } finally {
    clearTimeout(timer);
  }
}

/** 500 pages of a thousand keys at half a second. */
const listTimeoutMs = 5 * 60_000;

/** The objects below a prefix. @throws KnownProblem `storage_error` */
export async function* listWithin(
  store: Pick<ObjectStore, 'list'>,
  prefix: string,
  { signal, timeoutMs = listTimeoutMs }: Bounds = {},
): AsyncGenerator<ObjectInfo> {
  const endMs = performance.now() + timeoutMs;
  for await (const info of store.list(prefix)) {
    signal?.throwIfAborted();
    if (performance.now() > endMs) throw tooSlow(prefix, timeoutMs);
    yield info;
  }
}

function tooSlow(what: string, timeoutMs: number): KnownProblem<'storage_error'> {
  return new KnownProblem('storage_error', `Object storage did not send "${what}" within ${timeoutMs / 1000} s.`);
}

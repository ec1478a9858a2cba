import type { Readable } from 'node:stream';
import { KnownProblem } from '#domain/errors.ts';

/** The error of a caller's own stream while it was written to a store, as `cause`: not a failure of the store. */
class BodyFailure extends Error {
  override readonly name = 'BodyFailure';
}

interface IncompleteMetadata {
  readonly bucket: string;
  readonly key: string;
  /** Names of the missing headers or fields. */
  readonly absent: readonly string[];
}

/** A store answered without metadata that it must give. */
export function incompleteMetadata({ bucket, key, absent }: IncompleteMetadata): KnownProblem<'storage_error'> {
  const message = `Object storage described "${key}" in the bucket ${bucket} without ${absent.join(' and ')}.`;
  return new KnownProblem('storage_error', message);
}

/** The chunks of a caller's stream; its failure becomes a `BodyFailure`. */
export async function* chunksOf(body: Readable): AsyncGenerator<Buffer> {
  try {
    for await (const chunk of body as AsyncIterable<Buffer | string>) {
      yield typeof chunk === 'string' ? Buffer.from(chunk) : chunk;
    }
  } catch (cause) {
    throw new BodyFailure('the body failed', { cause });
  }
}

/**
 * The error that a failed operation of a store throws: the reason of an aborted `signal`, the error of the caller's own
 * stream, a known problem as it is, and anything else as `storage_error` with its cause.
 */
export function toStorageError(error: unknown, signal?: AbortSignal): unknown {
  if (signal?.aborted === true) return signal.reason;
  if (error instanceof KnownProblem) return error;
  if (error instanceof BodyFailure) return error.cause;
  return new KnownProblem('storage_error', undefined, { cause: error });
}

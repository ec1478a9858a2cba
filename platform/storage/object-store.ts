import type { Readable } from 'node:stream';

/** What is known of an object without reading it. */
export interface ObjectInfo {
  readonly key: string;
  readonly sizeBytes: number;
  /** Quoted, as in HTTP; changes whenever the bytes do. */
  readonly etag: string;
  readonly lastModified: Date;
}

/** First and last byte, both inclusive; `end` absent means to the object's end. */
export interface ByteRange {
  readonly start: number;
  readonly end?: number;
}

export interface StoredObject {
  readonly info: ObjectInfo;
  /** Destroy it when it is not read to its end. */
  readonly body: Readable;
}

export interface GetOptions {
  readonly range?: ByteRange;
  /** Read only this version. @throws KnownProblem `source_changed` */
  readonly ifMatch?: string;
  readonly signal?: AbortSignal;
}

export interface PutOptions {
  readonly contentType: string;
  readonly signal?: AbortSignal;
}

/**
 * Objects under keys: a bucket of an S3 server, or a folder. Both pass the same suite.
 *
 * Keys are what the caller says; a store never reads or writes outside its own bucket or folder, whatever a key holds.
 * Everything that fails but for "not there" throws `KnownProblem('storage_error')` with its cause.
 */
export interface ObjectStore {
  /** Null when there is no such object. */
  head(key: string, signal?: AbortSignal): Promise<ObjectInfo | null>;
  get(key: string, options?: GetOptions): Promise<StoredObject | null>;
  /** Whole or not at all: a reader sees the old object or the new one. */
  put(key: string, body: Buffer | string | Readable, options: PutOptions): Promise<void>;
  /** Objects whose key begins with `prefix`, in the order of their keys. */
  list(prefix: string): AsyncIterable<ObjectInfo>;
  /** Objects that are not there are no error. */
  delete(keys: readonly string[]): Promise<void>;
  /** Whether the bucket can be reached with these credentials. */
  ping(signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

import type { Readable } from 'node:stream';
import type { Piece } from './blocks.ts';

/** The metadata of an object. */
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

export interface ReadOptions {
  /** How often a failing read is requested: 3 unless given. Delivery requests once, since its clients repeat. */
  readonly attemptsMax?: number;
}

export interface GetOptions extends ReadOptions {
  readonly range?: ByteRange;
  /** Read only this version. @throws KnownProblem `source_changed` */
  readonly ifMatch?: string;
  readonly signal?: AbortSignal;
  /** The object is small and is read at once: its connection is one that no slow reader occupies. */
  readonly isSmall?: boolean;
}

export interface DownloadOptions extends Pick<GetOptions, 'ifMatch'> {
  /** A range within the object. */
  readonly range?: Required<ByteRange>;
  readonly signal?: AbortSignal | undefined;
}

export interface ReadStartOptions extends ReadOptions {
  readonly signal?: AbortSignal | undefined;
}

export interface PutOptions {
  readonly contentType: string;
  readonly signal?: AbortSignal;
}

/** Receives an object's bytes. After `onEnd` or `onFailure` nothing more is called. */
export interface PieceReceiver {
  /** The piece is the receiver's to release. */
  onPiece(piece: Piece): void;
  /** All bytes have come. */
  onEnd(): void;
  /** The bytes so far are not the whole object. */
  onFailure(error: unknown): void;
}

/** An object, or a part of it, being read. Nothing comes before `start`; it must be read to its end or destroyed. */
export interface Download {
  readonly info: ObjectInfo;
  start(receiver: PieceReceiver): void;
  /** Stops the bytes; at most those that were already received still come. */
  pause(): void;
  resume(): void;
  /** The receiver is not called after this. */
  destroy(): void;
}

/**
 * Objects under keys: a bucket of an S3 server, or a folder. Both pass the same suite.
 *
 * Keys come from the caller; a store never reads or writes outside its own bucket or folder, whatever a key contains.
 * Every failure other than a missing object throws `KnownProblem('storage_error')` with its cause.
 */
export interface ObjectStore {
  /** Null when there is no such object. */
  head(key: string, signal?: AbortSignal, options?: ReadOptions): Promise<ObjectInfo | null>;
  get(key: string, options?: GetOptions): Promise<StoredObject | null>;
  /** Up to `bytesMax` first bytes, none of an empty object. Null when there is no such object. */
  readStart(key: string, bytesMax: number, options?: ReadStartOptions): Promise<Buffer | null>;
  /**
   * The object or a part of it, in pieces of reused memory: the fastest read. A failing read is requested once. Null
   * when there is no such object.
   */
  download(key: string, options?: DownloadOptions): Promise<Download | null>;
  /** Whole or not at all: a reader sees the old object or the new one. */
  put(key: string, body: Buffer | string | Readable, options: PutOptions): Promise<void>;
  /** Writes an object unless the key has one, whole or not at all; false when it has. Of two writers one gets true. */
  putNew(key: string, body: Buffer, options: PutOptions): Promise<boolean>;
  /** Objects whose key begins with `prefix`, in the order of their keys, those after the key `after` alone. */
  list(prefix: string, after?: string): AsyncIterable<ObjectInfo>;
  /** Missing objects are no error. */
  delete(keys: readonly string[]): Promise<void>;
  /** The rights that these credentials lack, by the names of S3's policies. */
  missingRights(): Promise<readonly string[]>;
  /** Whether the bucket can be reached with these credentials. */
  ping(signal?: AbortSignal): Promise<void>;
  close(): Promise<void>;
}

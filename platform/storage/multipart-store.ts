import type { Readable } from 'node:stream';

/** The parts of an object that is not there yet. */
export interface Multipart {
  readonly key: string;
  /** As `begin` returned it. */
  readonly id: string;
}

export interface StoredPart {
  /** From 1. */
  readonly number: number;
  readonly sizeBytes: number;
  /** Quoted, as in HTTP. */
  readonly etag: string;
}

export interface PartBody {
  readonly body: Readable | Buffer;
  readonly sizeBytes: number;
  /** Base64, as `Content-MD5` has it; a body of another digest is refused. */
  readonly md5?: string;
  readonly signal?: AbortSignal;
}

/**
 * Objects written in parts, in any order and each as often as it takes: S3's multipart uploads, or files in a folder.
 *
 * Failures throw `KnownProblem('storage_error')` with their cause.
 */
export interface MultipartStore {
  begin(key: string, options: { readonly contentType: string }): Promise<string>;
  /** The parts with numbers over `after`, in order, at most `limit`; null when there is no such multipart. */
  list(of: Multipart, range?: { readonly after?: number; readonly limit?: number }): Promise<StoredPart[] | null>;
  /** Writes a part whole or not at all. @throws KnownProblem `invalid_request` for a body of another size or digest */
  put(of: Multipart, number: number, part: PartBody): Promise<StoredPart>;
  /** Makes the object of these parts; `missing` when there is no such multipart, as after a completion. */
  complete(of: Multipart, parts: readonly StoredPart[]): Promise<'completed' | 'missing'>;
  /** Removes the parts of every multipart of `key`; none is no error. */
  abort(key: string): Promise<void>;
  /** An address at which a client puts one part of that size; null where it has to use a route of this service. */
  addressOf(of: Multipart, part: Omit<StoredPart, 'etag'>, expiresInSec: number): Promise<string | null>;
  /** The origin of these addresses, which the policy of a page has to name; null where clients use this service. */
  clientOrigin(): Promise<string | null>;
  close(): Promise<void>;
}

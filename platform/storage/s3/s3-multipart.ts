import {
  AbortMultipartUploadCommand,
  CompleteMultipartUploadCommand,
  CreateMultipartUploadCommand,
  ListMultipartUploadsCommand,
  ListPartsCommand,
  UploadPartCommand,
} from '@aws-sdk/client-s3';
import { KnownProblem } from '#domain/errors.ts';
import { externalWrite } from '../../external-writes/external-write.ts';
import type { S3Settings } from '../../config/storage-settings.ts';
import { toStorageError } from '../errors.ts';
import { checkKey } from '../keys.ts';
import type { Multipart, MultipartStore, PartBody, StoredPart } from '../multipart-store.ts';
import { S3Requests } from './s3-requests.ts';
import { encodePath, S3Signer } from './s3-signature.ts';

/** A server puts the parts of a large object together before it answers. */
const completionTimeoutMs = 5 * 60_000;
const pageMax = 1_000;
/** As Signature Version 4 limits it. */
const expiresInSecMax = 7 * 86_400;

/** `publicEndpoint`: the server's address for clients, where it is another one than this process uses. */
export type S3MultipartSettings = S3Settings & { readonly publicEndpoint?: string | undefined };

/** Opens the multipart uploads of a bucket; nothing is connected before the first use. */
export function openS3Multipart(bucket: string, settings: S3MultipartSettings): MultipartStore {
  return new S3Multipart(bucket, settings);
}

class S3Multipart implements MultipartStore {
  readonly #bucket: string;
  readonly #settings: S3MultipartSettings;
  readonly #requests: S3Requests;
  readonly #signer: S3Signer;

  constructor(bucket: string, settings: S3MultipartSettings) {
    this.#bucket = bucket;
    this.#settings = settings;
    // A checksum of a part would have to be named again on completion, for parts that others put.
    this.#requests = new S3Requests({ ...settings, checksums: 'when_required' });
    this.#signer = new S3Signer(settings.region);
  }

  async begin(key: string, { contentType }: { readonly contentType: string }): Promise<string> {
    checkKey(key);
    const command = new CreateMultipartUploadCommand({ Bucket: this.#bucket, Key: key, ContentType: contentType });
    const { UploadId: id } = await this.#requests.run(undefined, (abortSignal) =>
      written(`begin ${key}`, () => this.#requests.client.send(command, { abortSignal })),
    );
    if (id === undefined) throw new KnownProblem('storage_error', 'The store began an upload without an id.');
    return id;
  }

  async list(of: Multipart, { after = 0, limit = Infinity } = {}): Promise<StoredPart[] | null> {
    const parts: StoredPart[] = [];
    for (let marker: string | undefined = String(after); marker !== undefined && parts.length < limit;) {
      const command: ListPartsCommand = new ListPartsCommand({
        ...this.#names(of),
        PartNumberMarker: marker,
        MaxParts: Math.min(pageMax, limit - parts.length),
      });
      const page = await this.#unlessUnknown((signal) => this.#requests.client.send(command, { abortSignal: signal }));
      if (page === null) return null;
      for (const { PartNumber: number = 0, Size: sizeBytes = 0, ETag: etag = '' } of page.Parts ?? [])
        parts.push({ number, sizeBytes, etag });
      marker = page.IsTruncated === true ? page.NextPartNumberMarker : undefined;
    }
    return parts;
  }

  async put(of: Multipart, number: number, { body, sizeBytes, md5, signal }: PartBody): Promise<StoredPart> {
    const command = new UploadPartCommand({
      ...this.#names(of),
      PartNumber: number,
      Body: body,
      ContentLength: sizeBytes,
      ...(md5 === undefined ? {} : { ContentMD5: md5 }),
    });
    const { ETag: etag = '' } = await this.#requests.run(signal, (abortSignal) =>
      written(`put part ${number} of ${of.key}`, () => this.#requests.client.send(command, { abortSignal })),
    );
    return { number, sizeBytes, etag };
  }

  async complete(of: Multipart, parts: readonly StoredPart[]): Promise<'completed' | 'missing'> {
    const command = new CompleteMultipartUploadCommand({
      ...this.#names(of),
      MultipartUpload: { Parts: parts.map(({ number, etag }) => ({ PartNumber: number, ETag: etag })) },
    });
    const send = (abortSignal: AbortSignal) =>
      written(`complete ${of.key}`, () => this.#requests.client.send(command, { abortSignal }));
    return (await this.#unlessUnknown(send, completionTimeoutMs)) === null ? 'missing' : 'completed';
  }

  async abort(key: string): Promise<void> {
    checkKey(key);
    // By a listing: a crash may have lost the id, and each upload of a key is the key's owner's.
    const list = new ListMultipartUploadsCommand({ Bucket: this.#bucket, Prefix: key });
    const { Uploads: uploads = [] } = await this.#requests.run(undefined, (abortSignal) =>
      this.#requests.client.send(list, { abortSignal }),
    );
    for (const { Key: found, UploadId: id } of uploads) {
      if (found !== key || id === undefined) continue;
      const command = new AbortMultipartUploadCommand(this.#names({ key, id }));
      await this.#unlessUnknown((abortSignal) =>
        written(`abort ${key}`, () => this.#requests.client.send(command, { abortSignal })),
      );
    }
  }

  async addressOf({ key, id }: Multipart, part: Omit<StoredPart, 'etag'>, expiresInSec: number): Promise<string> {
    checkKey(key);
    try {
      const url = await this.#clientUrl();
      const request = {
        method: 'PUT',
        host: url.host,
        path: `${url.pathname.replace(/\/$/, '')}/${encodePath(key)}`,
        query: { partNumber: String(part.number), uploadId: id },
        contentLength: part.sizeBytes,
        expiresInSec: Math.max(1, Math.min(expiresInSec, expiresInSecMax)),
      } as const;
      return url.origin + this.#signer.presign(request, await this.#requests.client.config.credentials(), new Date());
    } catch (error) {
      throw toStorageError(error);
    }
  }

  async clientOrigin(): Promise<string> {
    return (await this.#clientUrl()).origin;
  }

  async close(): Promise<void> {
    this.#requests.client.destroy();
  }

  /** The address of the bucket for clients, by the SDK, which knows Amazon's partitions and host names. */
  async #clientUrl(): Promise<URL> {
    const { config } = this.#requests.client;
    const { region, forcePathStyle, endpoint, publicEndpoint = endpoint } = this.#settings;
    return config.endpointProvider({
      Bucket: this.#bucket,
      Region: region,
      ForcePathStyle: forcePathStyle,
      UseFIPS: await config.useFipsEndpoint(),
      UseDualStack: await config.useDualstackEndpoint(),
      ...(publicEndpoint === undefined ? {} : { Endpoint: publicEndpoint }),
    }).url;
  }

  #names({ key, id }: Multipart) {
    checkKey(key);
    return { Bucket: this.#bucket, Key: key, UploadId: id };
  }

  /** Null when the server knows no such multipart upload. */
  async #unlessUnknown<T>(send: (abortSignal: AbortSignal) => Promise<T>, timeoutMs?: number): Promise<T | null> {
    try {
      return await this.#requests.run(undefined, send, timeoutMs);
    } catch (error) {
      const { cause } = error as { cause?: { readonly name?: string } };
      if (cause?.name === 'NoSuchUpload') return null;
      throw error;
    }
  }
}

function written<T>(name: string, send: () => Promise<T>): Promise<T> {
  return externalWrite(() => ({ kind: 'object', name }), send);
}

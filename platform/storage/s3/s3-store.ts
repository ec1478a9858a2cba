import {
  DeleteObjectCommand,
  DeleteObjectsCommand,
  HeadBucketCommand,
  ListObjectsV2Command,
  PutObjectCommand,
} from '@aws-sdk/client-s3';
import { Upload } from '@aws-sdk/lib-storage';
import { Readable } from 'node:stream';
import { KnownProblem } from '#domain/errors.ts';
import { untilAborted } from '#platform/concurrency/until-aborted.ts';
import { externalWrite } from '../../external-writes/external-write.ts';
import { downloadOf } from '../download.ts';
import { chunksOf, incompleteMetadata, toStorageError } from '../errors.ts';
import { checkKey } from '../keys.ts';
import type {
  Download,
  DownloadOptions,
  GetOptions,
  ObjectInfo,
  ObjectStore,
  PutOptions,
  StoredObject,
  ReadOptions,
  ReadStartOptions,
} from '../object-store.ts';
import { readStart } from '../read-start.ts';
import { ListingRight } from './listing-right.ts';
import { S3Reads } from './s3-reads.ts';
import { attemptsMax, S3Requests } from './s3-requests.ts';
import type { S3Settings } from '../../config/storage-settings.ts';

/** Opens a bucket of an S3 server; nothing is connected before the first use. */
export function openS3Store(bucket: string, settings: S3Settings): ObjectStore {
  return new S3Store(bucket, settings);
}

/** The smallest part that S3 accepts, and what is repeated when a part fails. 10,000 parts at most: 50 GB. */
const partBytes = 5 * 1024 * 1024;
const partsAtOnce = 4;
/** The most that S3 accepts in one request. */
const deletedAtOnce = 1000;

class S3Store implements ObjectStore {
  readonly #bucket: string;
  readonly #requests: S3Requests;
  readonly #reads: S3Reads;
  readonly #timeoutMs: number;
  readonly #listing: ListingRight;

  constructor(bucket: string, settings: S3Settings) {
    this.#bucket = bucket;
    this.#timeoutMs = settings.timeoutMs;
    this.#requests = new S3Requests(settings);
    this.#listing = new ListingRight(bucket, this.#requests);
    this.#reads = new S3Reads(bucket, settings, {
      client: this.#requests.client,
      isListingDenied: () => this.#listing.isDenied(),
    });
  }

  async head(key: string, signal?: AbortSignal, options: ReadOptions = {}): Promise<ObjectInfo | null> {
    return this.#requests.run(signal, (abortSignal) => {
      checkKey(key);
      return this.#reads.head(key, { ...options, signal: abortSignal });
    });
  }

  async get(key: string, options: GetOptions = {}): Promise<StoredObject | null> {
    return this.#requests.run(options.signal, (abortSignal) => {
      checkKey(key);
      return this.#reads.get(key, { ...options, signal: abortSignal, caller: options.signal });
    });
  }

  readStart(key: string, bytesMax: number, options: ReadStartOptions = {}): Promise<Buffer | null> {
    return readStart(this, key, bytesMax, options);
  }

  async download(key: string, options: DownloadOptions = {}): Promise<Download | null> {
    const { signal } = options;
    const startedAtMs = performance.now();
    try {
      signal?.throwIfAborted();
      checkKey(key);
      const download = await this.#reads.downloadRaw(key, options);
      if (signal?.aborted === true && typeof download === 'object') download?.destroy();
      signal?.throwIfAborted();
      if (download === 'missing') return null;
      if (download !== null) return download;
    } catch (error) {
      throw toStorageError(error, signal);
    }
    // Whatever the raw path did not understand is requested on the SDK path, which names the cause.
    const leftMs = Math.max(0, this.#timeoutMs - (performance.now() - startedAtMs));
    const readBySdkPath = (abortSignal: AbortSignal) =>
      this.#reads.get(key, { ...options, signal: abortSignal, caller: signal, attemptsMax: 1 });
    const found = await this.#requests.run(signal, readBySdkPath, leftMs);
    return found === null ? null : downloadOf(found);
  }

  async put(key: string, body: Buffer | string | Readable, { contentType, signal }: PutOptions): Promise<void> {
    const params = { Bucket: this.#bucket, Key: key, ContentType: contentType };
    const bytes = typeof body === 'string' ? Buffer.from(body) : body;
    try {
      signal?.throwIfAborted();
      checkKey(key);
      const client = this.#requests.clientWith(signal);
      if (Buffer.isBuffer(bytes) && bytes.length <= partBytes) {
        await written(`put ${key}`, () => client.send(new PutObjectCommand({ ...params, Body: bytes })));
      } else {
        const source = Buffer.isBuffer(bytes) ? bytes : Readable.from(chunksOf(bytes), { objectMode: false });
        const parts = { partSize: partBytes, queueSize: partsAtOnce };
        const upload = () => new Upload({ client, params: { ...params, Body: source }, ...parts }).done();
        // `Upload` keeps reading a stalled body after an abort.
        await written(`put ${key}`, () => (signal === undefined ? upload() : untilAborted(upload(), signal)));
      }
    } catch (error) {
      throw toStorageError(error, signal);
    } finally {
      if (!Buffer.isBuffer(bytes)) bytes.destroy();
    }
  }

  async putNew(key: string, body: Buffer, { contentType, signal }: PutOptions): Promise<boolean> {
    const params = { Bucket: this.#bucket, Key: key, ContentType: contentType, Body: body, IfNoneMatch: '*' };
    for (let conflicts = 0; ; conflicts += 1) {
      try {
        checkKey(key);
        await this.#requests.run(signal, (abortSignal) =>
          written(`put new ${key}`, () => this.#requests.client.send(new PutObjectCommand(params), { abortSignal })),
        );
        return true;
      } catch (error) {
        if (httpStatusOf(error) === 412) return false;
        // Another write of the key is under way: S3 asks for a repetition.
        if (httpStatusOf(error) !== 409 || conflicts === attemptsMax) throw error;
      }
    }
  }

  async *list(prefix: string, after?: string): AsyncGenerator<ObjectInfo> {
    let token: string | undefined;
    do {
      // Keys may have characters that XML cannot represent, so they are requested in URL encoding.
      const command = new ListObjectsV2Command({
        Bucket: this.#bucket,
        Prefix: prefix,
        StartAfter: after,
        EncodingType: 'url',
        ContinuationToken: token,
      });
      const page = await this.#requests.run(undefined, (abortSignal) =>
        this.#requests.client.send(command, { abortSignal }),
      );
      this.#listing.noteAllowed();
      const decode = page.EncodingType === 'url' ? decodeKey : (key: string) => key;
      for (const object of page.Contents ?? []) yield listedInfo(this.#bucket, decode(object.Key ?? ''), object);
      token = page.IsTruncated === true ? page.NextContinuationToken : undefined;
    } while (token !== undefined);
  }

  async delete(keys: readonly string[]): Promise<void> {
    for (const key of keys) checkKey(key);
    for (const key of keys.filter((it) => !isXmlText(it))) {
      const command = new DeleteObjectCommand({ Bucket: this.#bucket, Key: key });
      await this.#requests.run(undefined, (abortSignal) =>
        written(`delete ${key}`, () => this.#requests.client.send(command, { abortSignal })),
      );
    }
    const others = keys.filter(isXmlText);
    for (let start = 0; start < others.length; start += deletedAtOnce) {
      const objects = others.slice(start, start + deletedAtOnce).map((key) => ({ Key: key }));
      const command = new DeleteObjectsCommand({ Bucket: this.#bucket, Delete: { Objects: objects, Quiet: true } });
      const { Errors: errors = [] } = await this.#requests.run(undefined, (abortSignal) =>
        written(`delete ${objects.map(({ Key }) => Key).join('\n')}`, () =>
          this.#requests.client.send(command, { abortSignal }),
        ),
      );
      const failed = errors.find(({ Code: code }) => code !== 'NoSuchKey');
      if (failed !== undefined) {
        throw new KnownProblem('storage_error', undefined, { cause: new Error(`delete: ${failed.Code}`) });
      }
    }
  }

  async ping(signal?: AbortSignal): Promise<void> {
    try {
      const command = new HeadBucketCommand({ Bucket: this.#bucket });
      await this.#requests.run(signal, (abortSignal) => this.#requests.client.send(command, { abortSignal }));
    } catch (error) {
      // HeadBucket needs the right to list; without it the bucket answers 403, and objects can be read.
      const isDenied = httpStatusOf(error) === 403 && (await this.#listing.isDenied().catch(() => false));
      if (isDenied) return;
      if (signal?.aborted === true) throw error;
      throw new KnownProblem('storage_error', `The bucket ${this.#bucket} does not answer.`, { cause: error });
    }
  }

  async missingRights(): Promise<readonly string[]> {
    return (await this.#listing.isDenied()) ? ['s3:ListBucket'] : [];
  }

  async close(): Promise<void> {
    await this.#reads.close();
    this.#requests.client.destroy();
  }
}

function written<T>(name: string, send: () => Promise<T>): Promise<T> {
  return externalWrite(() => ({ kind: 'object', name }), send);
}

/** The HTTP status of a failed request of the SDK. */
function httpStatusOf(error: unknown): number | undefined {
  const { cause } = error as { cause?: { readonly $metadata?: { readonly httpStatusCode?: number } } };
  return cause?.$metadata?.httpStatusCode;
}

interface ListedObject {
  readonly Size?: number | undefined;
  readonly ETag?: string | undefined;
  readonly LastModified?: Date | undefined;
}

function listedInfo(
  bucket: string,
  key: string,
  { Size: sizeBytes, ETag: etag, LastModified: lastModified }: ListedObject,
): ObjectInfo {
  if (sizeBytes === undefined || etag === undefined || lastModified === undefined) {
    const absent = Object.entries({ Size: sizeBytes, ETag: etag, LastModified: lastModified });
    throw incompleteMetadata({
      bucket,
      key,
      absent: absent.flatMap(([name, value]) => (value === undefined ? [name] : [])),
    });
  }
  return { key, sizeBytes, etag, lastModified };
}

function decodeKey(key: string): string {
  return decodeURIComponent(key.replaceAll('+', ' '));
}

/** Whether XML can represent every character of `key` (XML 1.0, section 2.2, production `Char`). */
function isXmlText(key: string): boolean {
  // oxlint-disable-next-line no-control-regex -- the characters that XML cannot represent
  return !/[\u0000-\u001f\ufffe\uffff]/.test(key);
}

import { Readable } from 'node:stream';
import { setTimeout as sleep } from 'node:timers/promises';
import type { S3Client } from '@aws-sdk/client-s3';
import type { Dispatcher } from 'undici';
import { delayAfter } from '#domain/backoff.ts';
import { KnownProblem } from '#domain/errors.ts';
import { Once } from '#platform/concurrency/once.ts';
import { incompleteMetadata } from '../errors.ts';
import { CheckedBody } from './checked-body.ts';
import type {
  ByteRange,
  Download,
  DownloadOptions,
  GetOptions,
  ObjectInfo,
  ReadOptions,
  StoredObject,
} from '../object-store.ts';
import { type Endpoint, resolveEndpoint } from './s3-endpoint.ts';
import { isMatched, isSent, versionOf } from './s3-version.ts';
import { encodePath, S3Signer } from './s3-signature.ts';
import type { S3Settings } from '../../config/storage-settings.ts';

const defaultAttemptsMax = 3;
/** Before the second attempt; twice this before the third, each ± half. */
const retryBackoff = { baseMs: 80, maxMs: 10_000 };
const errorBodyBytesMax = 64 * 1024;
/** S3 refuses dates that are off by 15 minutes. */
const clockSkewMsMin = 5 * 60_000;

/**
 * HEAD and GET of one bucket, with our own signature: the SDK costs 35 times as much for a small object. It is used for
 * rare requests, for the endpoint, and for credentials, which it renews.
 *
 * Before the first byte of a body a failed request is repeated, up to `attemptsMax` requests; after it, never.
 */
export class S3Reads {
  readonly #bucket: string;
  readonly #settings: S3Settings;
  readonly #client: S3Client;
  readonly #signer: S3Signer;
  readonly #isListingDenied: () => Promise<boolean>;
  readonly #endpoint: Once<Endpoint>;
  #clockSkewMs = 0;

  /** `isListingDenied` is called when an object is denied, which then means that there is none. */
  constructor(
    bucket: string,
    settings: S3Settings,
    { client, isListingDenied }: { readonly client: S3Client; readonly isListingDenied: () => Promise<boolean> },
  ) {
    this.#bucket = bucket;
    this.#settings = settings;
    this.#client = client;
    this.#isListingDenied = isListingDenied;
    this.#signer = new S3Signer(settings.region);
    this.#endpoint = new Once(() => resolveEndpoint(bucket, settings, client));
  }

  async head(key: string, { signal, attemptsMax = defaultAttemptsMax }: HeadOptions): Promise<ObjectInfo | null> {
    const answer = await this.#send('HEAD', key, { headers: {}, signal, isSmall: true, attemptsMax });
    if (answer === null) return null;
    await answer.body.dump();
    return answeredInfo({ bucket: this.#bucket, key }, answer);
  }

  /** `signal` applies until the body begins, `caller` until it ends. */
  async get(
    key: string,
    {
      range,
      ifMatch,
      isSmall = false,
      attemptsMax = defaultAttemptsMax,
      signal,
      caller,
    }: GetOptions & { signal: AbortSignal; caller: AbortSignal | undefined },
  ): Promise<StoredObject | null> {
    const headers = partHeaders(range, ifMatch);
    const answer = await this.#send('GET', key, { headers, signal, isSmall, attemptsMax });
    if (answer === null) return null;
    try {
      const sizeBytes = Number(single(answer.headers['content-length']) ?? Number.NaN);
      const info = answeredInfo({ bucket: this.#bucket, key }, answer, range);
      if (ifMatch !== undefined && !isSent(ifMatch) && !isMatched(ifMatch, info.etag))
        throw new KnownProblem('source_changed');
      const body = new CheckedBody(answer.body, { sizeBytes, timeoutMs: this.#settings.timeoutMs, signal: caller });
      return { info, body: range === undefined || answer.statusCode === 206 ? body : rangeOf(body, range) };
    } catch (error) {
      answer.body.on('error', () => {}).destroy();
      throw error;
    }
  }

  /** By the raw path, with its own timeouts; null when that does not understand the response. */
  async downloadRaw(key: string, { range, ifMatch, signal }: DownloadOptions): Promise<Download | 'missing' | null> {
    if (ifMatch !== undefined && !isSent(ifMatch)) return null;
    const { raw, host, path } = await this.#endpoint.get();
    const target = `${path}/${encodePath(key)}`;
    const headers = { ...(await this.#sign('GET', host, target)), ...partHeaders(range, ifMatch) };
    signal?.throwIfAborted();
    return raw.get({ key, path: target, headers, range }, signal);
  }

  async close(): Promise<void> {
    const endpoint = await this.#endpoint.current()?.catch(() => null);
    endpoint?.raw.close();
    await Promise.all([endpoint?.small.destroy(), endpoint?.bodies.destroy()]);
  }

  /** The response, its body unread; null when there is no such object. */
  async #send(
    method: 'GET' | 'HEAD',
    key: string,
    { headers, signal, isSmall, attemptsMax }: SendOptions,
  ): Promise<Dispatcher.ResponseData | null> {
    const { small, bodies, host, path } = await this.#endpoint.get();
    const target = `${path}/${encodePath(key)}`;
    let attemptsLeft = attemptsMax;
    for (let attempt = 1; ; attempt++, attemptsLeft--) {
      let cause: unknown;
      try {
        const signed = { ...(await this.#sign(method, host, target)), ...headers };
        const options = { method, path: target, headers: signed, signal, headersTimeout: 0, bodyTimeout: 0 };
        const answer = await (isSmall ? small : bodies).request(options);
        if (method === 'HEAD' && answer.statusCode === 400) {
          // A response to HEAD has no body; GET gets the error code.
          await answer.body.dump();
          return await this.#send('GET', key, {
            headers: { ...headers, range: 'bytes=0-0' },
            signal,
            isSmall,
            attemptsMax,
          });
        }
        const outcome = await judge(answer, (refused) => this.#noticeSkew(refused));
        if (outcome === 'found') return answer;
        if (outcome === 'missing') return null;
        if (outcome === 'denied') {
          // A version that was seen is there: it is reading that is denied.
          if ('if-match' in headers || !(await this.#isListingDenied()))
            throw new KnownProblem('storage_error', undefined, { cause: new Error('object storage answered 403') });
          // Rights that have changed are denied for a moment too.
          if (attemptsLeft <= 1) return null;
        }
        // The clock was corrected, so the same request can succeed now.
        if (outcome === 'skewed' && attempt === 1) attemptsLeft = Math.max(2, attemptsLeft);
        cause = new Error(`object storage answered ${answer.statusCode}`);
      } catch (error) {
        if (signal.aborted || error instanceof KnownProblem) throw error;
        cause = error;
      }
      if (attemptsLeft <= 1) throw new KnownProblem('storage_error', undefined, { cause });
      await sleep(delayAfter(attempt, retryBackoff) * (0.5 + Math.random()), undefined, { signal });
    }
  }

  /** Whether a refusal is caused by this machine's clock; the offset is corrected for the next attempt. */
  #noticeSkew({ headers }: Dispatcher.ResponseData): boolean {
    const skewMs = new Date(single(headers['date']) ?? '').getTime() - Date.now();
    if (Number.isNaN(skewMs) || Math.abs(skewMs - this.#clockSkewMs) < clockSkewMsMin) return false;
    this.#clockSkewMs = skewMs;
    return true;
  }

  async #sign(method: 'GET' | 'HEAD', host: string, path: string): Promise<Record<string, string>> {
    const credentials = await this.#client.config.credentials();
    return this.#signer.sign({ method, host, path }, credentials, new Date(Date.now() + this.#clockSkewMs));
  }
}

interface SendOptions {
  readonly headers: Readonly<Record<string, string>>;
  readonly signal: AbortSignal;
  readonly isSmall: boolean;
  readonly attemptsMax: number;
}

interface HeadOptions extends ReadOptions {
  readonly signal: AbortSignal;
}

/** Classifies a response. @throws KnownProblem for one that another attempt would not change */
async function judge(
  answer: Dispatcher.ResponseData,
  isSkewed: (answer: Dispatcher.ResponseData) => boolean,
): Promise<'found' | 'missing' | 'retry' | 'skewed' | 'denied'> {
  const { statusCode, body } = answer;
  if (statusCode === 200 || statusCode === 206) return 'found';
  const text = await readStart(body);
  if (statusCode === 404 && !text.includes('<Code>NoSuchBucket</Code>')) return 'missing';
  if (statusCode === 412) throw new KnownProblem('source_changed');
  if (statusCode === 429 || statusCode >= 500) return 'retry';
  if (statusCode === 403 && isSkewed(answer)) return 'skewed';
  // Without the right to list, S3 answers 403 for a missing object too.
  if (statusCode === 403 && (text === '' || text.includes('<Code>AccessDenied</Code>'))) return 'denied';
  const code = /<Code>(\w+)<\/Code>/.exec(text)?.[1] ?? '';
  // A store that keeps objects as files cannot have an object of that name.
  if (code === 'KeyTooLongError') return 'missing';
  const cause = new Error(`object storage answered ${statusCode} ${code}`);
  throw new KnownProblem('storage_error', undefined, { cause });
}

/** The beginning of an error's body; the rest is not waited for. */
async function readStart(body: Dispatcher.ResponseData['body']): Promise<string> {
  let text = '';
  for await (const chunk of body as AsyncIterable<Buffer>) {
    text += chunk.toString('latin1');
    if (text.length > errorBodyBytesMax) break;
  }
  return text;
}

/** @throws KnownProblem `storage_error` for a response without the object's metadata, or with another range */
function answeredInfo(
  { bucket, key }: { readonly bucket: string; readonly key: string },
  { headers, statusCode }: Dispatcher.ResponseData,
  range?: ByteRange,
): ObjectInfo {
  const lastModified = new Date(single(headers['last-modified']) ?? '');
  let length = single(headers['content-length']) ?? '';
  if (range !== undefined && statusCode === 206) {
    const [, start, total] = /^bytes (\d+)-\d+\/(\d+)$/.exec(single(headers['content-range']) ?? '') ?? [];
    if (Number(start) !== range.start)
      throw new KnownProblem('storage_error', 'Object storage answered another range.');
    length = total ?? '';
  } else if (statusCode !== 200 || (range !== undefined && range.start >= Number(length)))
    throw new KnownProblem('storage_error', 'Object storage answered another range.');
  const absent = [
    ...(/^\d+$/.test(length) ? [] : ['Content-Length']),
    ...(Number.isNaN(lastModified.getTime()) ? ['Last-Modified'] : []),
  ];
  if (absent.length > 0) throw incompleteMetadata({ bucket, key, absent });
  const sizeBytes = Number(length);
  const etag = single(headers['etag']) || versionOf(sizeBytes, lastModified);
  return { key, sizeBytes, etag, lastModified };
}

/** A range of an object that a store sends whole, since it knows no ranges (RFC 9110, section 14.2). */
function rangeOf(whole: CheckedBody, { start, end = Infinity }: ByteRange): Readable {
  async function* pieces() {
    let at = 0;
    for await (const chunk of whole as AsyncIterable<Buffer>) {
      const piece = chunk.subarray(Math.max(0, start - at), Math.max(0, end + 1 - at));
      at += chunk.length;
      if (piece.length > 0) yield piece;
      if (at > end) return;
    }
  }
  const body = Readable.from(pieces(), { objectMode: false });
  // A read that is given up before it began has not entered the loop, which would end the whole.
  return body.once('close', () => whole.destroy());
}

function partHeaders(range: ByteRange | undefined, ifMatch: string | undefined): Record<string, string> {
  return {
    ...(ifMatch === undefined || !isSent(ifMatch) ? {} : { 'if-match': ifMatch }),
    ...(range === undefined ? {} : { range: rangeHeader(range) }),
  };
}

function rangeHeader({ start, end }: ByteRange): string {
  const isRange = Number.isSafeInteger(start) && start >= 0 && (end === undefined || end >= start);
  if (!isRange) throw new KnownProblem('storage_error', 'The range lies outside the object.');
  return `bytes=${start}-${end ?? ''}`;
}

function single(header: string | string[] | undefined): string | undefined {
  return typeof header === 'string' ? header : undefined;
}

import { S3Client } from '@aws-sdk/client-s3';
import { untilAborted } from '#platform/concurrency/until-aborted.ts';
import { toStorageError } from '../errors.ts';
import { boundAnswers } from './bounded-answers.ts';
import type { S3Settings } from '../../config/storage-settings.ts';

/** The most attempts of the SDK's own requests. */
export const attemptsMax = 3;
const connectTimeoutMs = 5000;

/**
 * The SDK's client of one server, for everything but reads of objects (S3Reads). Each request, retries included, has a
 * deadline and the caller's signal.
 */
export class S3Requests {
  readonly client: S3Client;
  readonly #timeoutMs: number;

  constructor({ region, endpoint, keys, forcePathStyle, checksums, timeoutMs }: S3Settings) {
    const checked = checksums === 'when_required' ? 'WHEN_REQUIRED' : 'WHEN_SUPPORTED';
    this.#timeoutMs = timeoutMs;
    this.client = new S3Client({
      region,
      forcePathStyle,
      maxAttempts: attemptsMax,
      requestChecksumCalculation: checked,
      responseChecksumValidation: checked,
      requestHandler: {
        connectionTimeout: Math.min(connectTimeoutMs, timeoutMs),
        // Each request has a deadline below, and each body a timer that a slow reader does not trigger; this one would.
        socketTimeout: 0,
        httpAgent: { keepAlive: true, maxSockets: 256 },
        httpsAgent: { keepAlive: true, maxSockets: 256 },
      },
      ...(endpoint === undefined ? {} : { endpoint }),
      ...(keys === undefined ? {} : { credentials: { ...keys } }),
    });
    boundAnswers(this.client);
  }

  /** Runs one request. @throws KnownProblem `storage_error`, or the reason of `signal` */
  async run<T>(
    signal: AbortSignal | undefined,
    work: (abortSignal: AbortSignal) => Promise<T>,
    timeoutMs = this.#timeoutMs,
  ): Promise<T> {
    try {
      signal?.throwIfAborted();
      return await withDeadline(signal, work, timeoutMs);
    } catch (error) {
      throw toStorageError(error, signal);
    }
  }

  /** The client with a deadline and `signal` on each request, which `Upload` does not set. */
  clientWith(signal: AbortSignal | undefined): S3Client {
    const client = Object.create(this.client) as S3Client;
    const send = this.client.send.bind(this.client) as (command: unknown, options: object) => Promise<unknown>;
    client.send = ((command: unknown) =>
      withDeadline(signal, (abortSignal) => send(command, { abortSignal }), this.#timeoutMs)) as S3Client['send'];
    return client;
  }
}

/**
 * The deadline applies to all of `work`; the body of an object is read after it. It is enforced here too: the SDK never
 * settles a request whose server answers 101, and a source of credentials may not answer.
 */
async function withDeadline<T>(
  signal: AbortSignal | undefined,
  work: (abortSignal: AbortSignal) => Promise<T>,
  timeoutMs: number,
): Promise<T> {
  const deadline = new AbortController();
  const timer = setTimeout(() => deadline.abort(new Error('the request exceeded its deadline')), timeoutMs);
  try {
    const either = signal === undefined ? deadline.signal : AbortSignal.any([signal, deadline.signal]);
    return await untilAborted(work(either), either);
  } finally {
    clearTimeout(timer);
  }
}

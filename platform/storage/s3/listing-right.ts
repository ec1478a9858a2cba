import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import type { S3Requests } from './s3-requests.ts';

/** Rights that change are denied for a moment; requests for many missing objects ask no more often than this. */
const deniedMs = 5_000;

/**
 * Whether the keys are valid and may not list the bucket. That they may is remembered, that they may not for a moment,
 * and a failure is not.
 */
export class ListingRight {
  readonly #bucket: string;
  readonly #requests: S3Requests;
  #isDenied: Promise<boolean> | null = null;
  /** By `performance.now()`. */
  #holdsUntilMs = Infinity;

  constructor(bucket: string, requests: S3Requests) {
    this.#bucket = bucket;
    this.#requests = requests;
  }

  /** A listing has succeeded. */
  noteAllowed(): void {
    this.#holdsUntilMs = Infinity;
    this.#isDenied = Promise.resolve(false);
  }

  isDenied(): Promise<boolean> {
    if (performance.now() >= this.#holdsUntilMs) this.#isDenied = null;
    this.#isDenied ??= this.#ask().catch((error: unknown) => {
      this.#isDenied = null;
      throw error;
    });
    return this.#isDenied;
  }

  async #ask(): Promise<boolean> {
    this.#holdsUntilMs = Infinity;
    const command = new ListObjectsV2Command({ Bucket: this.#bucket, MaxKeys: 1 });
    const { client } = this.#requests;
    try {
      await this.#requests.run(undefined, (abortSignal) => client.send(command, { abortSignal }));
      return false;
    } catch (error) {
      const { cause } = error as { cause?: unknown };
      if (!(cause instanceof Error) || cause.name !== 'AccessDenied') throw error;
      this.#holdsUntilMs = performance.now() + deniedMs;
      return true;
    }
  }
}

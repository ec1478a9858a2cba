import { ListObjectsV2Command } from '@aws-sdk/client-s3';
import type { S3Requests } from './s3-requests.ts';

/** Whether the keys are valid and may not list the bucket. Asked once; a failure is not remembered. */
export class ListingRight {
  readonly #bucket: string;
  readonly #requests: S3Requests;
  #isDenied: Promise<boolean> | null = null;

  constructor(bucket: string, requests: S3Requests) {
    this.#bucket = bucket;
    this.#requests = requests;
  }

  isDenied(): Promise<boolean> {
    this.#isDenied ??= this.#ask().catch((error: unknown) => {
      this.#isDenied = null;
      throw error;
    });
    return this.#isDenied;
  }

  async #ask(): Promise<boolean> {
    const command = new ListObjectsV2Command({ Bucket: this.#bucket, MaxKeys: 1 });
    const { client } = this.#requests;
    try {
      await this.#requests.run(undefined, (abortSignal) => client.send(command, { abortSignal }));
      return false;
    } catch (error) {
      const { cause } = error as { cause?: unknown };
      if (cause instanceof Error && cause.name === 'AccessDenied') return true;
      throw error;
    }
  }
}

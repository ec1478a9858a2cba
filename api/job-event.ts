import type { ShownJob } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import { jobToWire, listedJobToWire } from './wire/job.ts';

/**
 * A state of a job as an event of Server-Sent Events. Its bytes are made once and shared by all who follow the job:
 * also a write that waits for a slow client holds no copy of them.
 */
export class JobEvent {
  readonly #job: ShownJob;
  #withResults: Buffer | undefined;
  #withoutResults: Buffer | undefined;

  constructor(job: ShownJob) {
    this.#job = job;
  }

  get isFinal(): boolean {
    return isFinal(this.#job.status);
  }

  get updatedAt(): Date {
    return this.#job.updatedAt;
  }

  /** Grows with every change that a caller can see (the trigger on `jobs`). */
  get version(): number {
    return this.#job.updatedAt.getTime();
  }

  bytes({ hasResults }: { readonly hasResults: boolean }): Buffer {
    if (hasResults) return (this.#withResults ??= this.#encode(jobToWire(this.#job)));
    const { results: _, ...job } = this.#job;
    return (this.#withoutResults ??= this.#encode(listedJobToWire(job, this.#job.waitingReason)));
  }

  #encode(wire: object): Buffer {
    return Buffer.from(`id: ${this.version}\nevent: job\ndata: ${JSON.stringify(wire)}\n\n`);
  }
}

import type { z } from 'zod';
import type { JobResults, JobType } from '#domain/job-types/index.ts';
import type { JobError } from '#domain/job-error.ts';
import type { ContentKey } from '#domain/playback/content-key.ts';
import type { StepContext } from '../context.ts';

/** An object of the media bucket and the file that holds its bytes. */
export interface PublishedFile {
  readonly key: string;
  readonly path: string;
}

/** What `publish` is given beside the common things; null for what is not encrypted. */
export interface PublishContext<T extends JobType = JobType> extends StepContext<T> {
  readonly encryption: { readonly contentKey: ContentKey; readonly keyEndpoint: string } | null;
}

/** What an attempt came to. */
export interface Product<T extends JobType = JobType> {
  readonly results: JobResults<T>;
  /** Set when a stage failed; what is ready is published all the same. */
  readonly error: JobError | null;
  /** In the order of upload: what names others comes after them. */
  readonly files: readonly PublishedFile[];
}

/**
 * What a job type does in the two steps that are its own. `process` decodes untrusted bytes and writes into the
 * workspace; what it returns is all that `publish`, in a process of its own, learns of it.
 */
export interface JobHandler<T extends JobType> {
  process(context: StepContext<T>): Promise<unknown>;
  publish(context: PublishContext<T>, made: unknown): Promise<Product<T>>;
}

/**
 * A handler whose `publish` reads what `process` returned through the schema `made`: `process` may have been taken over
 * by the bytes it decoded, so its word is checked like any other input.
 */
export function jobHandler<T extends JobType, Made>(parts: {
  readonly made: z.ZodType<Made>;
  process(context: StepContext<T>): Promise<Made>;
  publish(context: PublishContext<T>, made: Made): Promise<Product<T>>;
}): JobHandler<T> {
  return {
    process: (context) => parts.process(context),
    publish: (context, made) => parts.publish(context, parts.made.parse(made)),
  };
}

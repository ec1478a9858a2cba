import type { z } from 'zod';
import type { JobResults, JobType } from '#domain/job-types/index.ts';
import type { JobError } from '#domain/job-error.ts';
import type { ResultManifest } from '#domain/runner/manifest.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { ContentKey } from '#domain/playback/content-key.ts';
import type { StepContext } from '../context/step-context.ts';

export type ManifestObject = ResultManifest['objects'][number];

/** An object of the media bucket and the file that holds its bytes. */
export interface PublishedFile {
  readonly key: string;
  readonly path: string;
}

/** Input of `publish`; `encryption` is null without a content key. */
export interface PublishContext<T extends JobType = JobType> extends StepContext<T> {
  readonly media: ObjectStore;
  readonly encryption: { readonly contentKey: ContentKey; readonly keyEndpoint: string } | null;
}

/** The outcome of an attempt. */
export interface Product<T extends JobType = JobType> {
  readonly results: JobResults<T>;
  /** Set when a stage failed; the output of the others is published all the same. */
  readonly error: JobError | null;
  /** In upload order: a file comes after those that it refers to. */
  readonly files: readonly PublishedFile[];
  /** Objects of the result that earlier parts of its film uploaded: other jobs have the same revision. */
  readonly published?: readonly ManifestObject[];
}

/** The outcome of a part of a film that is not its last. */
export interface FilmPartProduct {
  /** Uploaded first, each unless its key has an object. */
  readonly once: readonly PublishedFile[];
  readonly sources: readonly PublishedFile[];
  /** Called for each of `once` that another process has stored before, with the bytes that are stored. */
  onStored?(key: string, bytes: Buffer): void;
  /** Written last, in order; `objects` are those of `once` as they are stored. */
  documents(objects: readonly ManifestObject[]): readonly FilmDocument[];
}

/** A document of a film; `isOnce` leaves one that exists as it is. */
interface FilmDocument {
  readonly key: string;
  readonly content: unknown;
  readonly isOnce: boolean;
}

/**
 * The two steps that depend on the job type. `process` decodes untrusted bytes and writes to the workspace; its return
 * value is passed to `publish`, which runs in another process.
 */
export interface JobHandler<T extends JobType> {
  process(context: StepContext<T>): Promise<unknown>;
  publish(context: PublishContext<T>, made: unknown): Promise<Product<T> | FilmPartProduct>;
}

/**
 * A handler whose `publish` gets the return value of `process` through the schema `made`: the bytes that `process`
 * decoded may have taken it over, so its output is checked like any other untrusted input.
 */
export function jobHandler<T extends JobType, Made>(parts: {
  readonly made: z.ZodType<Made>;
  process(context: StepContext<T>): Promise<Made>;
  publish(context: PublishContext<T>, made: Made): Promise<Product<T> | FilmPartProduct>;
}): JobHandler<T> {
  return {
    process: (context) => parts.process(context),
    publish: (context, made) => parts.publish(context, parts.made.parse(made)),
  };
}

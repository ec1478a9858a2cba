import type { z } from 'zod';
import type { JobResults, JobType, jobTypes } from '#domain/job-types/index.ts';
import type { JobError } from '#domain/job-error.ts';
import type { ManifestObject } from '#domain/work/manifest.ts';
import type { UnitsFrom } from '#domain/work/unit.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import type { ContentKey } from '#domain/playback/content-key.ts';
import type { StepContext } from '../context/step-context.ts';

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
  /** Objects of the result that earlier units uploaded. */
  readonly published?: readonly ManifestObject[];
}

/** The product that a unit hands to the units that follow it. */
export interface WorkProduct {
  /** Written first: what leads from the job to the objects, so that they are found when no more is written. */
  readonly announcements?: readonly WorkDocument[];
  /** Uploaded next, each unless its key has an object. */
  readonly once: readonly PublishedFile[];
  readonly sources: readonly PublishedFile[];
  /** Called for each of `once` that another process has stored before, with the bytes that are stored. */
  onStored?(key: string, bytes: Buffer): void;
  /** Written last, in order; `objects` are the stored ones of `once`. */
  documents(objects: readonly ManifestObject[]): readonly WorkDocument[];
  /** Working objects that are no longer read once the documents are stored. They are removed. */
  readonly spent: readonly string[];
}

/** A document for other units; `isOnce` leaves one that exists as it is. */
export interface WorkDocument {
  readonly key: string;
  readonly content: unknown;
  readonly isOnce: boolean;
}

/**
 * The two steps that depend on the job type and the unit. `process` decodes untrusted bytes and writes to the
 * workspace; its return value is passed to `publish`, which runs in another process.
 */
export interface UnitHandler<T extends JobType = JobType> {
  process(context: StepContext<T>): Promise<unknown>;
  publish(context: PublishContext<T>, made: unknown): Promise<Product<T> | WorkProduct>;
}

/** The handlers of a job type: one for each kind of unit that its first unit leads to. */
export type JobHandler<T extends JobType> = Readonly<
  Record<UnitsFrom<(typeof jobTypes)[T]['firstUnit']>, UnitHandler<T>>
>;

/**
 * A handler whose `publish` gets the return value of `process` through the schema `made`: the decoder may have been
 * taken over, so its output is untrusted.
 */
export function unitHandler<T extends JobType, Made>(handler: {
  readonly made: z.ZodType<Made>;
  process(context: StepContext<T>): Promise<Made>;
  publish(context: PublishContext<T>, made: Made): Promise<Product<T> | WorkProduct>;
}): UnitHandler<T> {
  return {
    process: (context) => handler.process(context),
    publish: (context, made) => handler.publish(context, handler.made.parse(made)),
  };
}

/** The handler of a unit whose one step is `publish`. */
export function publishHandler<T extends JobType>(
  publish: (context: PublishContext<T>) => Promise<Product<T> | WorkProduct>,
): UnitHandler<T> {
  return { process: () => Promise.reject(new TypeError('the unit has no step process')), publish };
}

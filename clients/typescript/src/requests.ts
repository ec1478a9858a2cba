import type { ReelwrightError } from './errors.ts';
import type { JobType, Results, Schemas, SubmittedJob } from './types.ts';

// What the methods of the client share: headers of submissions, their answers, and pages of lists.

export interface SubmitOptions {
  /** The encoding profile of the stream; by default the one that the rules of the service choose. */
  readonly profile?: string;
  /** A whole number from -1000 to 1000: of waiting jobs, higher ones begin first. */
  readonly priority?: number;
  /** The RunnerPool that the job runs in; by default the one that the profile names, else by size. */
  readonly pool?: string;
  /** The name of the media for people, at most 256 characters. */
  readonly title?: string;
  /** Strings of your own that the job and the media have, at most 20 and 4 kB. */
  readonly metadata?: Readonly<Record<string, string>>;
  readonly signal?: AbortSignal;
}

/** The outcome of one submission of a batch. */
export type BatchOutcome<Type extends JobType = JobType> =
  { readonly job: SubmittedJob<Type>; readonly error: null } | { readonly job: null; readonly error: ReelwrightError };

/** The headers that choose how jobs are made, and what they are called. */
export function choicesOf({ profile, priority, pool, title, metadata, signal }: SubmitOptions) {
  const header = {
    ...(profile === undefined ? {} : { 'X-Profile': profile }),
    ...(priority === undefined ? {} : { 'X-Priority': String(priority) }),
    ...(pool === undefined ? {} : { 'X-Pool': pool }),
    // A header is ASCII.
    ...(title === undefined ? {} : { 'X-Title': encodeURIComponent(title) }),
    ...(metadata === undefined ? {} : { 'X-Metadata': new URLSearchParams(metadata).toString() }),
  };
  return { params: { header }, signal: signal ?? null };
}

/** Any of the answers to a submission. */
type Answer = Pick<Schemas['JobCreated'], 'job_id' | 'hash' | 'status'> & { readonly results?: unknown };

export function submittedOf<Type extends JobType>(answer: Answer, type: Type, status: number): SubmittedJob<Type> {
  const { job_id, hash, status: jobStatus, results = null } = answer;
  return { job_id, type, hash, status: jobStatus, results: results as Results<Type> | null, is_new: status === 202 };
}

interface Page<Item> {
  readonly items: readonly Item[];
  readonly next: string | null;
}

/** All items of a list, whose pages are read as they are needed. */
export async function* pagesOf<Filter extends { cursor?: string }, Item>(
  filter: Filter,
  read: (filter: Filter) => Promise<Page<Item>>,
): AsyncGenerator<Item> {
  for (let query = filter; ;) {
    const { items, next } = await read(query);
    yield* items;
    if (next === null) return;
    query = { ...filter, cursor: next };
  }
}

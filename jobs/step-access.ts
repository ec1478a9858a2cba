import { type JobType, jobTypeRow } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import { runnerVariables, type Step, steps } from '#domain/runner/steps.ts';
import type { FilmPart, IndexedPart, Task } from '#domain/runner/task.ts';

/**
 * What each step of an attempt may know: the one place for both executors.
 *
 * `fetch` can read the source bucket and no more; `publish` can write the media bucket and has the content key; and
 * `process`, which decodes untrusted bytes, has neither a credential nor a key. `all` is for job types whose decoding is
 * bounded otherwise (domain/job-types, `runsInOneStep`); it never has a content key.
 *
 * The parts of a film (`domain/runner/film.ts`) have the same steps with the same rights, but that a chunk's source is in
 * the media bucket, and that `finish` reads no media and needs `publish` alone.
 */
export type StepName = Step | 'all';

/** A task document as it is written: that of an Indexed Job serves all its pods. */
export type WrittenTask = Omit<Task, 'part'> & { readonly part: FilmPart | IndexedPart | null };

/** The rights of one step. */
export interface StepAccess {
  readonly readsSource: boolean;
  /** Reads the source of a chunk from the media bucket. */
  readonly readsChunk: boolean;
  readonly writesMedia: boolean;
  readonly hasContentKey: boolean;
}

/** The steps of an attempt, or of a part of a film, in order. */
export function stepsOf(type: JobType, part: FilmPart | null = null): readonly StepName[] {
  if (part?.kind === 'finish') return ['publish'];
  return jobTypeRow(type).runsInOneStep ? ['all'] : steps;
}

/** The rights of a step of a job, or of a part of a film. */
export function accessOf(step: StepName, job: Pick<Job, 'type' | 'options'>, part: FilmPart | null = null): StepAccess {
  const isOfChunk = part?.kind === 'encode';
  return {
    readsSource: (step === 'fetch' && !isOfChunk) || step === 'all',
    readsChunk: step === 'fetch' && isOfChunk,
    writesMedia: step === 'publish' || step === 'all',
    hasContentKey: step === 'publish' && needsContentKey(job),
  };
}

/** Whether the attempt packages an encrypted stream, and so needs the content key of its media. */
export function needsContentKey({ type, options }: Pick<Job, 'type' | 'options'>): boolean {
  return jobTypeRow(type).needsContentKey(options);
}

interface StepInput {
  readonly access: StepAccess;
  /** Null for a kept runner, which is handed its tasks later (`keptRunnerVariables`). */
  readonly task: WrittenTask | null;
  /** The folder that the steps share. */
  readonly workspace: string;
  /** What every step is given: where tools are found, `LOG_LEVEL` and the like. No secret. */
  readonly base: Readonly<Record<string, string>>;
  /** Settings of the two stores; credentials too where a step is given them by value. */
  readonly storage: {
    readonly source: Readonly<Record<string, string>>;
    readonly media: Readonly<Record<string, string>>;
  };
  /** The address that goes into playlists as the content key's URI. */
  readonly keyEndpoint: string;
}

/** The environment of a kept runner: that of the step `all` without a task. `workspace` is for its temporary files. */
export function keptRunnerVariables(input: Omit<StepInput, 'access' | 'task' | 'keyEndpoint'>): Record<string, string> {
  const access = { readsSource: true, readsChunk: false, writesMedia: true, hasContentKey: false };
  return stepVariables({ ...input, access, task: null, keyEndpoint: '' });
}

/**
 * Where libraries look for settings of a user. The workspace is written by `process`, so a file there must never
 * configure a later step: the AWS SDK would run a program that `~/.aws/config` names.
 */
const noUserFiles = {
  HOME: '/nonexistent',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
};

/** The environment of a step but for the content key; nothing of the executor's own environment is passed on. */
export function stepVariables(input: StepInput): Record<string, string> {
  const { access, task, workspace, base, storage, keyEndpoint } = input;
  return {
    ...noUserFiles,
    ...base,
    TMPDIR: workspace,
    LANG: 'C.UTF-8',
    ...(task === null ? {} : { [runnerVariables.task]: JSON.stringify(task), [runnerVariables.workspace]: workspace }),
    ...(access.readsSource ? storage.source : {}),
    ...(access.writesMedia || access.readsChunk ? storage.media : {}),
    ...(access.hasContentKey ? { [runnerVariables.keyEndpoint]: keyEndpoint } : {}),
  };
}

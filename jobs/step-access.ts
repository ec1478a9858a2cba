import { type JobType, jobTypeRow } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import { runnerVariables, type Step, steps } from '#domain/runner/steps.ts';
import type { Task } from '#domain/runner/task.ts';

/**
 * What each step of an attempt may know: the one place for both executors.
 *
 * `fetch` can read the source bucket and no more; `publish` can write the media bucket and has the content key; and
 * `process`, which decodes untrusted bytes, has neither a credential nor a key. `all` is for job types whose decoding is
 * bounded otherwise (domain/job-types, `runsInOneStep`); it never has a content key.
 */
export type StepName = Step | 'all';

/** The rights of one step. */
export interface StepAccess {
  readonly readsSource: boolean;
  readonly writesMedia: boolean;
  readonly hasContentKey: boolean;
}

/** The steps of an attempt, in order. */
export function stepsOf(type: JobType): readonly StepName[] {
  return jobTypeRow(type).runsInOneStep ? ['all'] : steps;
}

/** The rights of a step of a job. */
export function accessOf(step: StepName, job: Pick<Job, 'type' | 'options'>): StepAccess {
  return {
    readsSource: step === 'fetch' || step === 'all',
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
  readonly task: Task;
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
    [runnerVariables.task]: JSON.stringify(task),
    [runnerVariables.workspace]: workspace,
    ...(access.readsSource ? storage.source : {}),
    ...(access.writesMedia ? storage.media : {}),
    ...(access.hasContentKey ? { [runnerVariables.keyEndpoint]: keyEndpoint } : {}),
  };
}

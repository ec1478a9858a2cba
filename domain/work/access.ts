import { jobTypeRow } from '../job-types/index.ts';
import type { Job } from '../jobs/job.ts';
import { runnerVariables, type StepName } from './steps.ts';
import type { WrittenTask } from './task.ts';
import { type UnitKind, unitKindRow } from './unit.ts';

/**
 * The rights of each step, in one place for both executors.
 *
 * `fetch` can read the bucket of the unit's input, `publish` can write the media bucket and has the content key, and
 * `process`, which decodes untrusted bytes, has no credential and no key. `all` never has a content key.
 */
export interface StepAccess {
  readonly readsSource: boolean;
  /** Reads the source of a chunk from the media bucket. */
  readonly readsChunk: boolean;
  readonly writesMedia: boolean;
  readonly hasContentKey: boolean;
}

/** The rights of a step of a unit. */
export function accessOf(step: StepName, kind: UnitKind, job: Pick<Job, 'type' | 'options'>): StepAccess {
  const { input } = unitKindRow(kind);
  const fetches = step === 'fetch' || step === 'all';
  return {
    readsSource: fetches && input === 'source',
    readsChunk: fetches && input === 'chunk_source',
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
  /** Null for a warm runner, which is handed its tasks later (`warmRunnerVariables`). */
  readonly task: WrittenTask | null;
  /** The folder that the steps share. */
  readonly workspace: string;
  /** The settings that every step is given: where tools are found, `LOG_LEVEL` and the like. No secret. */
  readonly base: Readonly<Record<string, string>>;
  /** Settings of the two stores; credentials too where a step is given them by value. */
  readonly storage: {
    readonly source: Readonly<Record<string, string>>;
    readonly media: Readonly<Record<string, string>>;
  };
  /** The address that goes into playlists as the content key's URI. */
  readonly keyEndpoint: string;
}

/** The rights of a runner that does one task after another, as the step `all` has them. */
export const warmRunnerAccess: StepAccess = {
  readsSource: true,
  readsChunk: false,
  writesMedia: true,
  hasContentKey: false,
};

/** The environment of a warm runner: the step `all` without a task. `workspace` is for its temporary files. */
export function warmRunnerVariables(input: Omit<StepInput, 'access' | 'task' | 'keyEndpoint'>): Record<string, string> {
  return stepVariables({ ...input, access: warmRunnerAccess, task: null, keyEndpoint: '' });
}

/**
 * Where libraries look for user settings. `process` writes to the workspace, so no file there may configure a later
 * step: the AWS SDK would run a program that `~/.aws/config` names.
 */
const noUserFiles = {
  HOME: '/nonexistent',
  AWS_CONFIG_FILE: '/dev/null',
  AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
};

/** The environment of a step, without the content key. Nothing of the executor's own environment is passed on. */
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

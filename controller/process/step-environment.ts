import type { ContentKey } from '#domain/playback/content-key.ts';
import { runnerVariables, type Step, steps, storageOfStep } from '#domain/runner/steps.ts';
import type { Task } from '#domain/runner/task.ts';

interface StepInput {
  readonly step: Step | 'all';
  readonly task: Task;
  readonly workspace: string;
  /** What every step is given: `PATH`, where tools are found, `FFMPEG_PATH` and its like, `LOG_LEVEL`. */
  readonly base: Readonly<Record<string, string>>;
  /** Settings and credentials of the two stores, as environment variables. */
  readonly storage: {
    readonly source: Readonly<Record<string, string>>;
    readonly media: Readonly<Record<string, string>>;
  };
  /** For the step that packages an encrypted stream; else null. */
  readonly content: { readonly key: ContentKey; readonly keyEndpoint: string } | null;
}

/**
 * The whole environment of one step's process; nothing of the worker's own is passed on.
 *
 * `fetch` can read the source bucket and no more, `publish` can write the media bucket and has the content key, and
 * `process`, which decodes untrusted bytes, has neither a credential nor a key. `all` is for job types whose decoding
 * is fenced in otherwise (domain/job-types, `runsInOneStep`); it never has a content key.
 */
export function stepEnvironment({ step, task, workspace, base, storage, content }: StepInput): Record<string, string> {
  const stores: readonly string[] = (step === 'all' ? steps : [step]).flatMap((one) => storageOfStep[one]);
  return {
    ...base,
    HOME: workspace,
    TMPDIR: workspace,
    LANG: 'C.UTF-8',
    // The runner ends once its standard input closes, so that a killed worker leaves no process behind.
    RUNNER_PARENT: 'stdin',
    [runnerVariables.task]: JSON.stringify(task),
    [runnerVariables.workspace]: workspace,
    ...(stores.includes('SOURCE_') ? storage.source : {}),
    ...(stores.includes('MEDIA_') ? storage.media : {}),
    ...(step === 'publish' && content !== null
      ? {
          [runnerVariables.contentKey]: `${content.key.kid}:${content.key.key.toString('hex')}`,
          [runnerVariables.keyEndpoint]: content.keyEndpoint,
        }
      : {}),
  };
}

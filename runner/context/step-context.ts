import { join } from 'node:path';
import type { JobType } from '#domain/job-types/index.ts';
import type { EncodingProfile } from '#domain/media/encoding-profile.ts';
import type { Task } from '#domain/work/task.ts';
import type { ToolName } from '#platform/commands/find-program.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Reporter } from '../reports/reporter.ts';

/** Files and folders of the workspace, relative to its root: tools run there and get these names. */
export const workspaceFiles = {
  /** The downloaded source, without a name or an extension of its own. */
  source: 'source',
  /** The plan of a chunked encode, beside the source of one of its chunks. */
  plan: 'plan.json',
  /** Says that the unit was finished before this run began. */
  finished: 'finished',
  /** The folder that `process` writes to. */
  made: 'made',
  /** The return value of `process`. It is in `made`, which is all that `publish` reads. */
  madeDocument: 'made/made.json',
} as const;

/** The folder that the steps of an attempt share. */
export interface Workspace {
  readonly root: string;
  /** The absolute path of a file of the workspace. */
  at(file: string): string;
  /** The folder that the packager writes to, as tools get it: they run in `root`. */
  readonly packaged: string;
}

/** The workspace in the folder `root`; `output` holds what `publish` writes where `root` is read-only for it. */
export function workspaceIn(root: string, output = root): Workspace {
  // The workspace's own path may contain characters that a tool reads as syntax, so paths are relative where possible.
  const packaged = output === root ? 'packaged' : join(output, 'packaged');
  return { root, at: (file) => join(root, file), packaged };
}

/** Input of every step and every handler. */
export interface StepContext<T extends JobType = JobType> {
  readonly task: Task<T>;
  readonly workspace: Workspace;
  readonly profile: EncodingProfile;
  /** The path of a tool, resolved when it is first needed. */
  readonly program: (tool: ToolName) => string;
  readonly reporter: Reporter;
  readonly log: Logger;
  /** Aborts when the step must stop. */
  readonly signal: AbortSignal;
}

import { join } from 'node:path';
import type { JobType } from '#domain/job-types/index.ts';
import type { EncodingProfile } from '#domain/media/profiles.ts';
import type { Task } from '#domain/runner/task.ts';
import type { ToolName } from '#platform/commands/find-program.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Reporter } from '../reports/reporter.ts';

/** Files and folders of the workspace, relative to its root: tools run there and get these names. */
export const workspaceFiles = {
  /** The downloaded source, without a name or an extension of its own. */
  source: 'source',
  /** The folder that `process` writes to. */
  made: 'made',
  /** What `process` reports about its output, read by `publish`. */
  madeDocument: 'made.json',
  /** The folder that the packager writes to. */
  packaged: 'packaged',
} as const;

/** The folder that the steps of an attempt share. */
export interface Workspace {
  readonly root: string;
  /** The absolute path of a file of the workspace. */
  at(file: string): string;
}

/** The workspace in the folder `root`. */
export function workspaceIn(root: string): Workspace {
  return { root, at: (file) => join(root, file) };
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

import { join } from 'node:path';
import type { JobType } from '#domain/job-types/index.ts';
import type { EncodingProfile } from '#domain/media/profiles.ts';
import type { Task } from '#domain/runner/task.ts';
import type { ToolName } from '#platform/commands/find-program.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Reporter } from './reporter.ts';

/** What stands where in the folder that the steps share. Tools run in that folder and are given these names. */
export const places = {
  /** The downloaded source, without a name or an extension of its own. */
  source: 'source',
  /** What `process` made. */
  made: 'made',
  /** What `process` says of it, for `publish`. */
  madeDocument: 'made.json',
  /** What the packager writes. */
  packaged: 'packaged',
} as const;

/** The folder that the steps share. */
export interface Workspace {
  readonly root: string;
  /** The absolute path of one of its places, or of a file below one. */
  at(place: string): string;
}

/** The workspace in the folder `root`. */
export function workspaceIn(root: string): Workspace {
  return { root, at: (place) => join(root, place) };
}

/** What every step and every handler is given. */
export interface StepContext<T extends JobType = JobType> {
  readonly task: Task<T>;
  readonly workspace: Workspace;
  readonly profile: EncodingProfile;
  /** The path of a tool; looked for when it is first needed. */
  readonly program: (tool: ToolName) => string;
  readonly reporter: Reporter;
  readonly log: Logger;
  /** Aborts when the step is to stop. */
  readonly signal: AbortSignal;
}

import type { JobErrorCode } from './errors.ts';

/** How a step's process ends . A disruption is recognised by its condition, never by a code. */
export const exitCodes = { done: 0, permanent: 10, transient: 20, outOfResource: 30, stopped: 143 } as const;

const transient: readonly JobErrorCode[] = [
  'source_unreadable',
  'storage_error',
  'packager_error',
  'deadline_exceeded',
  'preempted_too_often',
];

/** The exit code of a step that fails with `code`. A bug is permanent: the same code would meet it again. */
export function exitCodeOf(code: JobErrorCode): number {
  if (code === 'resource_exhausted') return exitCodes.outOfResource;
  if (code === 'cancelled') return exitCodes.stopped;
  return transient.includes(code) ? exitCodes.transient : exitCodes.permanent;
}

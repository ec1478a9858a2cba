import { jobTypeRow } from '#domain/job-types/index.ts';
import type { EncodingProfile } from '#domain/media/encoding-profile.ts';
import type { Task } from '#domain/work/task.ts';

/** Whether a job's stream gets a part that is never encrypted: a profile decides for encrypted streams. */
export function isMade(
  madeIn: EncodingProfile['storyboard'],
  { type, options }: Pick<Task, 'type' | 'options'>,
): boolean {
  return madeIn === 'always' || (madeIn === 'clear' && !jobTypeRow(type).needsContentKey(options));
}

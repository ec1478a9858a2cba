import { createHash } from 'node:crypto';
import type { RunnerPoolSpec } from '#domain/kubernetes/runner-pool.ts';
import type { RunnerPodTemplate } from './runner-pod.ts';

/** The settings that all Jobs of one worker share. */
export interface JobTemplate extends RunnerPodTemplate {
  /** The variables of every step's environment, such as `LOG_LEVEL`. No secret. */
  readonly base: Readonly<Record<string, string>>;
  /** Settings of the two stores, without credentials. */
  readonly storage: {
    readonly source: Readonly<Record<string, string>>;
    readonly media: Readonly<Record<string, string>>;
  };
  /** `MAX_FILE_SIZE`, in bytes. */
  readonly maxFileSizeBytes: number;
  /** `CHUNK_LENGTH`, in seconds. */
  readonly chunkSec: number;
  readonly pendingDeadlineMs: number;
  readonly ttlMs: number;
}

/** A hash of all settings that Jobs of a pool are created from, except for its concurrency. */
export function templateHash(pool: RunnerPoolSpec | null, template: JobTemplate): string {
  const { concurrency: _, ...settings } = pool ?? { concurrency: 0 };
  return createHash('sha256')
    .update(JSON.stringify([settings, template]))
    .digest('hex')
    .slice(0, 16);
}

/** The deadline of a pod; where its pool sets none, this one. */
export function activeDeadlineSecondsOf({ activeDeadlineSeconds = 6 * 60 * 60 }: Partial<RunnerPoolSpec> = {}): number {
  return activeDeadlineSeconds;
}

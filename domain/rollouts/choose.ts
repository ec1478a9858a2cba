import { hash as digestOf } from 'node:crypto';
import type { RolloutSpec } from './rollout.ts';

/** A media as a page of the plan shows it. */
export interface FoundMedia {
  readonly hash: string;
  readonly legalHold: boolean;
  readonly isDeleted: boolean;
  /** The stream that is played; null without one whose objects are there. */
  readonly stream: {
    readonly jobId: string;
    readonly rev: string;
    /** The profile that made it. */
    readonly profile: string;
    readonly madeAt: Date;
    /** Null: of a version that recorded none. */
    readonly toolVersion: string | null;
    /** Whether the very profile of the rollout made it. */
    readonly isByTarget: boolean;
    /** The bytes of its objects; null: of a version that recorded none. */
    readonly bytes: number | null;
    /** The length of its source, and the processor time of its job, in milliseconds; 0 where none was recorded. */
    readonly sourceMs: number;
    readonly processorMs: number;
  } | null;
}

/** Why a media that was found is not made again. */
export type SkipReason = 'no_stream' | 'deleted' | 'legal_hold' | 'made_by_profile' | 'unreadable';

/** Whether a media is an item of a rollout; null: it is not what was asked for. */
export function chooseMedia(found: FoundMedia, { which }: RolloutSpec): 'item' | SkipReason | null {
  const { stream } = found;
  if (found.isDeleted) return 'deleted';
  if (stream === null) return 'no_stream';
  if (which.profile !== undefined && stream.profile !== which.profile) return null;
  if (which.made_before !== undefined && stream.madeAt.getTime() >= Date.parse(which.made_before)) return null;
  if (which.tool_version !== undefined && stream.toolVersion !== which.tool_version) return null;
  if (found.legalHold) return 'legal_hold';
  const isByHow = which.made_before !== undefined || which.tool_version !== undefined;
  return stream.isByTarget && !isByHow ? 'made_by_profile' : 'item';
}

/** Whether a media is of the canary: by a digest, so that each worker finds the same ones, spread over all. */
export function isOfCanary(rolloutId: string, hash: string, share: number): boolean {
  return Number.parseInt(digestOf('sha256', `${rolloutId} ${hash}`).slice(0, 8), 16) < share * 2 ** 32;
}

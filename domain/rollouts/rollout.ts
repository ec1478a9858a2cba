import { z } from 'zod';
import { mediaHashSchema } from '../jobs/submission.ts';
import type { NamedProfile } from '../media/profiles.ts';
import { toolVersionPattern } from '../work/tool-version.ts';

/**
 * A rollout: the streams of many media are made again by another profile, within a budget.
 *
 * ```
 * canary ──▶ running ──▶ completed ──┐
 *   │           │                    ├──▶ rolling_back ──▶ rolled_back
 *   ├───────────┼────────────────────┘
 *   └───────────┴──▶ cancelling ──▶ cancelled (from where it may be rolled back, too)
 * ```
 *
 * A crash in any of them leaves a row that is due again; what was done is not done twice, since an item names the job
 * that makes it before the job is there. Without a canary a rollout begins as `running`.
 */
const nextStatuses = {
  canary: ['running', 'cancelling', 'rolling_back'],
  running: ['completed', 'cancelling', 'rolling_back'],
  cancelling: ['cancelled', 'rolling_back'],
  rolling_back: ['rolled_back'],
  completed: ['rolling_back'],
  cancelled: ['rolling_back'],
  rolled_back: [],
} as const satisfies Record<string, readonly string[]>;

export type RolloutStatus = keyof typeof nextStatuses;

/** Every status, in the order of the table. */
export const rolloutStatuses = Object.keys(nextStatuses) as [RolloutStatus, ...RolloutStatus[]];

/** The statuses from which `to` may be reached: the guard of the statement that writes it. */
export function statusesBefore(to: RolloutStatus): RolloutStatus[] {
  return rolloutStatuses.filter((from) => (nextStatuses[from] as readonly RolloutStatus[]).includes(to));
}

/** The statuses in which reruns are begun, unless the rollout is paused. */
export const beginningStatuses = ['canary', 'running'] as const satisfies readonly RolloutStatus[];

/** Whether a rollout begins reruns, unless it is paused. */
export function isBeginning({ status }: Pick<Rollout, 'status'>): boolean {
  return (beginningStatuses as readonly RolloutStatus[]).includes(status);
}

/** The statuses in which a worker has something to do. */
export const activeStatuses = [
  ...beginningStatuses,
  'cancelling',
  'rolling_back',
] as const satisfies readonly RolloutStatus[];

/**
 * The life of an item, one media of a rollout. `planned`: chosen; also again, when its job had to give way to a
 * submission. `running`: the row names its job, which may not be there yet. `failed`: its earlier stream is played on.
 * `skipped`: it was deleted, held, submitted or replaced since it was chosen. `rolled_back`: its earlier stream is
 * played again. `kept`: it could not be rolled back, and the reason says why.
 */
export const itemStatuses = ['planned', 'running', 'done', 'failed', 'skipped', 'rolled_back', 'kept'] as const;
export type ItemStatus = (typeof itemStatuses)[number];

const profileName = z.string().regex(/^[a-z0-9]([a-z0-9-]{0,61}[a-z0-9])?$/, 'must be the name of a profile');
const share = z.number().min(0).max(1);

const whichSchema = z.strictObject({
  hash_prefix: mediaHashSchema.optional().describe('The first characters of the hash.'),
  profile: profileName.optional().describe('The profile that made the stream.'),
  made_before: z.iso
    .datetime({ offset: true })
    .optional()
    .describe('Streams made before; then also those that `to_profile` made.'),
  tool_version: z
    .string()
    .max(64)
    .regex(toolVersionPattern, 'must be a version, such as 1.4.0')
    .optional()
    .describe('Streams that this version made; then also those that `to_profile` made.'),
});

const budgetSchema = z.strictObject({
  jobs: z.int().min(1).max(1000).default(1).describe('Reruns at once.'),
  hours_per_day: z
    .number()
    .positive()
    .max(1_000_000)
    .optional()
    .describe('The time that reruns may run on a day in UTC, added up. Left out: no limit.'),
});

const canarySchema = z.strictObject({
  share: share.gt(0, 'must be more than 0').describe('Of the media; one at least.'),
  max_failure_share: share.default(0.05).describe('Of the canary: more failures fail the gate.'),
  max_bytes_ratio: z.number().positive().max(100).optional().describe('Bytes after, over bytes before, at most.'),
  min_score: z.number().min(0).max(100).optional().describe('The mean score at least, in the measure of the profile.'),
});

/** The body of `POST /api/rollouts`. */
export const rolloutRequestSchema = z.strictObject({
  which: whichSchema
    .prefault({})
    .describe('Which media; left out: every media with a stream.')
    .meta({ examples: [{ hash_prefix: 'movie-', profile: 'default' }] }),
  to_profile: profileName
    .describe('The profile that makes them again, as it is when the rollout begins.')
    .meta({ examples: ['mobile'] }),
  budget: budgetSchema
    .prefault({})
    .describe('How much may be made at once, and in a day.')
    .meta({ examples: [{ jobs: 4, hours_per_day: 500 }] }),
  canary: canarySchema
    .optional()
    .describe('Made first; what fails its gate is rolled back.')
    .meta({ examples: [{ share: 0.02, max_failure_share: 0.05, max_bytes_ratio: 0.9 }] }),
});
/** The request of a rollout, with its defaults filled in. */
export type RolloutSpec = z.output<typeof rolloutRequestSchema>;
export type CanaryGate = NonNullable<RolloutSpec['canary']>;

/** The query of `GET /api/rollouts`. */
export const rolloutListQuerySchema = z.strictObject({
  limit: z.coerce.number<string>().int().min(1).max(100).default(50).describe('Entries of a page.'),
  cursor: z.string().max(512).optional().describe('The `next_cursor` of the page before.'),
});

/** How the canary of a rollout was judged. */
export interface GateVerdict {
  readonly passed: boolean;
  /** A line for each limit that is exceeded or could not be measured; for people. */
  readonly failures: readonly string[];
}

/** The outcome of a group of items: the canary, or the rest. */
export interface RolloutCounts extends Readonly<Record<ItemStatus, number>> {
  /** The bytes of the items that were made and whose sizes are known before and after. */
  readonly bytesBefore: number;
  readonly bytesAfter: number;
  /** Items whose new stream has a score, and its sum. */
  readonly scored: number;
  readonly scoreSum: number;
  /** Items that have a score of one measure before and after, and the sums. */
  readonly compared: number;
  readonly comparedBeforeSum: number;
  readonly comparedAfterSum: number;
}

/** The row of a rollout. */
export interface Rollout {
  /** UUID; of one that a MediaRollout made, the uid of the object. */
  readonly id: string;
  readonly spec: RolloutSpec;
  /** `to_profile` as it was when the rollout began; null: what makes streams as the built-in `default` does. */
  readonly profile: NamedProfile | null;
  readonly status: RolloutStatus;
  /** The API key that asked for it; null where none did. */
  readonly keyId: string | null;
  /** Begins nothing for now; its running jobs go on. */
  readonly isPaused: boolean;
  /** Why it is being, or was, rolled back or cancelled; for people. */
  readonly reason: string | null;
  /** The verdict on the canary, once it was decided. */
  readonly verdict: GateVerdict | null;
  /** Whether every media was looked at. */
  readonly isPlanned: boolean;
  /** Media that were found and not chosen, by why. */
  readonly skipped: Readonly<Record<string, number>>;
  readonly canary: RolloutCounts;
  readonly rest: RolloutCounts;
  /** The time that reruns took on the current day in UTC, without jobs that run. */
  readonly hoursToday: number;
  readonly createdAt: Date;
  readonly updatedAt: Date;
  readonly finishedAt: Date | null;
}

/** The sums of both groups. */
export function totalOf({ canary, rest }: Pick<Rollout, 'canary' | 'rest'>): RolloutCounts {
  const names = Object.keys(canary) as (keyof RolloutCounts)[];
  return Object.fromEntries(names.map((name) => [name, canary[name] + rest[name]])) as unknown as RolloutCounts;
}

/** The reason that reruns of a rollout have. */
export function rerunReasonOf(rolloutId: string): string {
  return `rollout ${rolloutId}`;
}

import { z } from 'zod';
import { type ItemStatus, itemStatuses, type RolloutCounts } from './rollout.ts';

// The counts of a rollout as the API and the status of a MediaRollout show them.

const count = z.int().min(0);

/** How many media are in each status. */
export const itemCountsSchema = z.object({
  planned: count.describe('Media that are chosen and not begun.'),
  running: count.describe('Media whose rerun has begun.'),
  done: count.describe('Media that were made again.'),
  failed: count.describe('Media whose rerun failed; their earlier stream is played on.'),
  skipped: count.describe('Media that were deleted, held or replaced since they were chosen.'),
  rolled_back: count.describe('Media whose earlier stream is played again.'),
  kept: count.describe('Media that could not be rolled back.'),
} satisfies Record<ItemStatus, z.ZodType>);

/** How many media are in each status, without the sums. */
export function itemCountsOf(counts: RolloutCounts): z.infer<typeof itemCountsSchema> {
  return Object.fromEntries(itemStatuses.map((status) => [status, counts[status]])) as Record<ItemStatus, number>;
}

/** How much smaller the new streams are, in bytes; negative where they grew. */
export function bytesSaved({ bytesBefore, bytesAfter }: RolloutCounts): number {
  return bytesBefore - bytesAfter;
}

/** A mean score to four digits; null of nothing. */
export function meanScore(sum: number, of: number): number | null {
  return of === 0 ? null : Number((sum / of).toFixed(4));
}

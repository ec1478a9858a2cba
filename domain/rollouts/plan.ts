import type { FoundMedia, SkipReason } from './choose.ts';

/** One page of media, as a rollout would choose among them. */
export interface PlanPage {
  readonly media: readonly FoundMedia[];
  readonly skipped: readonly SkipReason[];
  /** How many media the page has, chosen or not. */
  readonly lookedAt: number;
}

/** The recent work of a profile: the length of the sources in milliseconds, bytes, and processor time. */
export interface MadeByProfile {
  readonly sourceMs: number;
  readonly bytes: number;
  readonly processorMs: number;
}

/** The plan of a rollout, as far as media were looked at. */
export interface RolloutPlan {
  readonly lookedAt: number;
  /** Media that would be made again. */
  readonly media: number;
  /** Media that were found and not chosen, by why. */
  readonly skipped: Readonly<Record<string, number>>;
  readonly sourceMs: number;
  /** Chosen media whose streams have no recorded length: `sourceMs` and the estimates leave them out. */
  readonly unmeasured: number;
  readonly bytesNow: number;
  /** The bytes of the new streams; null: the profile has made none lately. */
  readonly bytesExpected: number | null;
  /** Null: neither the profile's streams nor the present ones have a recorded processor time. */
  readonly processorMs: number | null;
  readonly estimatedFrom: 'profile' | 'present_streams' | null;
}

/** Adds the pages up, and estimates by what the profile has made lately, else by what the present streams took. */
export function rolloutPlan(pages: readonly PlanPage[], made: MadeByProfile | null): RolloutPlan {
  const streams = pages.flatMap(({ media }) => media.flatMap(({ stream }) => (stream === null ? [] : [stream])));
  const sourceMs = sumOf(streams, (stream) => stream.sourceMs);
  const recorded = streams.filter((stream) => stream.sourceMs > 0 && stream.processorMs > 0);
  const present = {
    sourceMs: sumOf(recorded, (stream) => stream.sourceMs),
    processorMs: sumOf(recorded, (stream) => stream.processorMs),
  };
  const isByProfile = made !== null && made.sourceMs > 0;
  const model = isByProfile ? made : present.sourceMs > 0 ? present : null;
  return {
    lookedAt: sumOf(pages, (page) => page.lookedAt),
    media: streams.length,
    skipped: countOf(pages.flatMap(({ skipped }) => skipped)),
    sourceMs,
    unmeasured: streams.filter((stream) => stream.sourceMs === 0).length,
    bytesNow: sumOf(streams, (stream) => stream.bytes ?? 0),
    bytesExpected: isByProfile ? Math.round((made.bytes / made.sourceMs) * sourceMs) : null,
    processorMs: model === null ? null : Math.round((model.processorMs / model.sourceMs) * sourceMs),
    estimatedFrom: isByProfile ? 'profile' : model === null ? null : 'present_streams',
  };
}

function sumOf<T>(items: readonly T[], value: (item: T) => number): number {
  return items.reduce((sum, item) => sum + value(item), 0);
}

function countOf(reasons: readonly SkipReason[]): Record<string, number> {
  const counts: Record<string, number> = {};
  for (const reason of reasons) counts[reason] = (counts[reason] ?? 0) + 1;
  return counts;
}

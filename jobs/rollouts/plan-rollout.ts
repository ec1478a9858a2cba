import { type MadeByProfile, type PlanPage, type RolloutPlan, rolloutPlan } from '#domain/rollouts/plan.ts';
import type { RolloutSpec } from '#domain/rollouts/rollout.ts';
import type { Database } from '#platform/postgres/database.ts';
import { readPlanPage } from '#platform/postgres/rollout-plan.ts';
import { usageOf } from '#platform/postgres/usage-store.ts';
import { type CreateRolloutDependencies, rolloutProfile } from './create-rollout.ts';

type PlanDependencies = Omit<CreateRolloutDependencies, 'rollouts'> & {
  readonly listDatabase: Database;
  readonly clock: () => Date;
};

/** The media of a page, and how long pages are read: a larger library is counted in part. */
const bounds = { pageSize: 500, readingMs: 3_000 };
/** How far back the usage of the profile is read: it has changed since, or the library has. */
const usageMs = 30 * 24 * 3_600_000;

/**
 * Says what a rollout would make again, and writes nothing. What counts is true of this moment: the rollout looks at
 * each media once more when it begins it.
 *
 * @returns the plan, and whether every media was looked at: without, its counts are the least
 * @throws KnownProblem what `rolloutProfile` throws; `busy` when too many lists are read
 */
export async function planRollout(
  { listDatabase, clock, ...dependencies }: PlanDependencies,
  spec: RolloutSpec,
  { pageSize, readingMs } = bounds,
): Promise<{ plan: RolloutPlan; isWhole: boolean }> {
  const profile = await rolloutProfile(spec, dependencies);
  const deadline = performance.now() + readingMs;
  const pages: PlanPage[] = [];
  let plannedAfter: string | null = '';
  do {
    const page = await readPlanPage(listDatabase, { spec, profile, plannedAfter }, pageSize);
    pages.push(page);
    plannedAfter = page.next;
  } while (plannedAfter !== null && performance.now() < deadline);
  const made = await madeBy(profile?.name ?? 'default', listDatabase, clock());
  return { plan: rolloutPlan(pages, made), isWhole: plannedAfter === null };
}

/** A day in UTC, `2026-11-27`. */
const dayOf = (time: number) => new Date(time).toISOString().slice(0, 10);

async function madeBy(profile: string, listDatabase: Database, now: Date): Promise<MadeByProfile | null> {
  const [from, to] = [dayOf(now.getTime() - usageMs), dayOf(now.getTime())];
  const rows = await usageOf(listDatabase, { from, to, by: ['profile'], keyId: null, limit: 10_000 });
  const made = rows.find((row) => row.profile === profile);
  if (made === undefined) return null;
  const { sourceMs, outputBytes, fetchMs, processMs, publishMs } = made;
  return { sourceMs, bytes: outputBytes, processorMs: fetchMs + processMs + publishMs };
}

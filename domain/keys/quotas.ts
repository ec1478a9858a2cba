import { KnownProblem } from '../errors.ts';
import type { WaitingReason } from '../jobs/waiting.ts';

/**
 * What a named key may use, each without a limit where it is left out. Days are those of UTC.
 *
 * - `jobs_at_once`: jobs that have not ended;
 * - `jobs_a_day`: jobs that ended today, and those that have not ended;
 * - `output_minutes_a_day`, `processor_hours_a_day`: of what ended today;
 * - `stored_bytes`: what the results of its jobs take up.
 */
export const quotaNames = [
  'jobs_at_once',
  'jobs_a_day',
  'output_minutes_a_day',
  'processor_hours_a_day',
  'stored_bytes',
] as const;
export type QuotaName = (typeof quotaNames)[number];
/** What happens to a job that quotas do not allow: a refusal, by default, or it waits until they do. */
export const whenReached = ['refuse', 'wait'] as const;
export type KeyQuotas = Readonly<Partial<Record<QuotaName, number>>> & {
  readonly when_reached?: (typeof whenReached)[number];
};

/** What a key has used of each quota, before the jobs that it asks for. */
export interface QuotaUse {
  readonly used: Readonly<Record<QuotaName, number>>;
  /** How many jobs of the key wait for its quotas; these are in none of the numbers. */
  readonly waiting: number;
  /** When the day ends. */
  readonly dayEndsAt: Date;
  /** Until then. */
  readonly dayEndsInSec: number;
}

/** A quota that a key has come near to, or used up. */
export interface UsedQuota {
  readonly name: QuotaName;
  readonly used: number;
  readonly limit: number;
  /** When it begins again; null: when a job ends, or results are deleted. */
  readonly until: Date | null;
}

/** From this share on the answers to submissions say it. */
const nearShare = 0.8;

/** Which quotas count the jobs that are asked for: what a job will use of the others is known at its end. */
const countsJobs = (name: QuotaName) => name === 'jobs_at_once' || name === 'jobs_a_day';
const isOfDay = (name: QuotaName) => name !== 'jobs_at_once' && name !== 'stored_bytes';

/** Which quotas do not allow `jobs` more jobs, and which are near their limits with them. */
export function judgeQuotas(
  quotas: KeyQuotas,
  { used, dayEndsAt }: Pick<QuotaUse, 'used' | 'dayEndsAt'>,
  jobs: number,
): { readonly exceeded: readonly UsedQuota[]; readonly near: readonly UsedQuota[] } {
  const limited = quotaNames.flatMap((name) => {
    const limit = quotas[name];
    return limit === undefined ? [] : [{ name, used: used[name], limit, until: isOfDay(name) ? dayEndsAt : null }];
  });
  const isExceeded = ({ name, used: before, limit }: UsedQuota) =>
    countsJobs(name) ? before + jobs > limit : before >= limit;
  const after = limited.map((quota) => (countsJobs(quota.name) ? { ...quota, used: quota.used + jobs } : quota));
  return {
    exceeded: limited.filter(isExceeded),
    near: after.filter(({ used: then, limit }) => then >= limit * nearShare),
  };
}

/** So many jobs of a key wait at most: whoever looks for the next job of a pool passes them. */
export const quotaWaitingMax = 1_000;

/** How many of the jobs that wait may begin. */
export function quotaRoom(quotas: KeyQuotas, { used }: Pick<QuotaUse, 'used'>): number {
  const rooms = quotaNames.flatMap((name) => {
    const limit = quotas[name];
    if (limit === undefined) return [];
    if (countsJobs(name)) return [limit - used[name]];
    return used[name] >= limit ? [0] : [];
  });
  return Math.max(0, Math.min(Number.MAX_SAFE_INTEGER, ...rooms));
}

/** Why a job waits; `exceeded` is empty for one that quotas would allow, but for those before it. */
export function quotaWait(exceeded: readonly UsedQuota[]): WaitingReason {
  const said = exceeded.map(({ name, used, limit, until }) => {
    const end = until === null ? '' : ` until ${until.toISOString()}`;
    return `${shown(used)} of ${shown(limit)} of its quota ${name}${end}`;
  });
  const message =
    said.length === 0
      ? 'Earlier jobs of its API key wait for a quota; it begins after them.'
      : `When it was submitted, its API key had used ${said.join(', and ')}; it begins when they allow it.`;
  return { code: 'key_quota', message };
}

/** Until a job may have ended, and until something may have been deleted. */
const retrySecOf: Readonly<Partial<Record<QuotaName, number>>> = { jobs_at_once: 60, stored_bytes: 3600 };

const adviceOf: Readonly<Record<QuotaName, string>> = {
  jobs_at_once: 'wait until one of them has ended',
  jobs_a_day: 'send it again after that, or ask for a key with more',
  output_minutes_a_day: 'send it again after that, or ask for a key with more',
  processor_hours_a_day: 'send it again after that, or ask for a key with more',
  stored_bytes: 'delete media, or ask for a key with more',
};

/** The refusal of jobs that quotas do not allow; `Retry-After` is of the one that is there for longest. */
export function quotaExceeded(exceeded: readonly UsedQuota[], { dayEndsInSec }: Pick<QuotaUse, 'dayEndsInSec'>) {
  const faults = exceeded.map((quota) => ({ pointer: '/X-API-Key', code: quota.name, detail: detailOf(quota) }));
  const retryAfterSec = Math.max(...exceeded.map(({ name }) => retrySecOf[name] ?? Math.max(1, dayEndsInSec)));
  return new KnownProblem('rate_limited', undefined, { faults, retryAfterSec });
}

function detailOf({ name, used, limit, until }: UsedQuota): string {
  const end = until === null ? '' : ` until ${until.toISOString()}`;
  return `has used ${shown(used)} of ${shown(limit)} of its quota ${name}${end}: ${adviceOf[name]}`;
}

const shown = (amount: number) => String(Math.round(amount * 1000) / 1000);

/** The value of the header `X-Quota-Warning`. */
export function quotaWarning(near: readonly UsedQuota[]): string {
  return near
    .map(({ name, used, limit, until }) => {
      const end = until === null ? '' : `; until="${until.toISOString()}"`;
      return `${name}; used=${shown(used)}; limit=${shown(limit)}${end}`;
    })
    .join(', ');
}

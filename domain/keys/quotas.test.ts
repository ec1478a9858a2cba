import { describe, expect, it } from 'vitest';
import {
  judgeQuotas,
  type KeyQuotas,
  quotaExceeded,
  type QuotaName,
  quotaNames,
  quotaRoom,
  quotaWait,
  quotaWarning,
} from './quotas.ts';

const dayEndsAt = new Date('2026-11-28T00:00:00Z');
const nothing = Object.fromEntries(quotaNames.map((name) => [name, 0])) as Record<QuotaName, number>;
const judged = (quotas: KeyQuotas, used: Partial<Record<QuotaName, number>>, jobs = 1) => {
  const { exceeded, near } = judgeQuotas(quotas, { used: { ...nothing, ...used }, dayEndsAt }, jobs);
  return { exceeded: exceeded.map(({ name }) => name), near: near.map(({ name }) => name) };
};

const waits = (exceeded: Parameters<typeof quotaExceeded>[0], dayEndsInSec: number) =>
  quotaExceeded(exceeded, { dayEndsInSec }).details.retryAfterSec;

describe('quotas', () => {
  it.each<[string, KeyQuotas, Partial<Record<QuotaName, number>>, number, ReturnType<typeof judged>]>([
    ['without quotas everything is allowed', {}, { jobs_a_day: 1e9 }, 500, { exceeded: [], near: [] }],
    [
      'the last job of a quota is allowed',
      { jobs_a_day: 10 },
      { jobs_a_day: 9 },
      1,
      { exceeded: [], near: ['jobs_a_day'] },
    ],
    ['one more is not', { jobs_a_day: 10 }, { jobs_a_day: 10 }, 1, { exceeded: ['jobs_a_day'], near: ['jobs_a_day'] }],
    [
      'several are allowed together or not',
      { jobs_at_once: 3 },
      { jobs_at_once: 2 },
      2,
      {
        exceeded: ['jobs_at_once'],
        near: ['jobs_at_once'],
      },
    ],
    ['below 80 % nothing is said', { jobs_a_day: 10 }, { jobs_a_day: 6 }, 1, { exceeded: [], near: [] }],
    ['from 80 % on it is', { jobs_a_day: 10 }, { jobs_a_day: 7 }, 1, { exceeded: [], near: ['jobs_a_day'] }],
    [
      'what a job will use is not counted before',
      { stored_bytes: 100 },
      { stored_bytes: 79 },
      9,
      {
        exceeded: [],
        near: [],
      },
    ],
    [
      'what is used up allows no job',
      { processor_hours_a_day: 1.5 },
      { processor_hours_a_day: 1.5 },
      1,
      {
        exceeded: ['processor_hours_a_day'],
        near: ['processor_hours_a_day'],
      },
    ],
  ])('%s', (_, quotas, used, jobs, expected) => expect(judged(quotas, used, jobs)).toEqual(expected));

  it('a refusal names each quota and waits for the one that is there for longest', () => {
    const day = { name: 'jobs_a_day', used: 7, limit: 7, until: dayEndsAt } as const;
    const atOnce = { name: 'jobs_at_once', used: 3, limit: 3, until: null } as const;
    expect([waits([atOnce], 7_200), waits([day], 7_200), waits([day, atOnce], 5), waits([day], 0)]).toEqual([
      60, 7_200, 60, 1,
    ]);
    const { code, details } = quotaExceeded([day, atOnce], { dayEndsInSec: 5 });
    expect([code, details.faults?.map((fault) => fault.code)]).toEqual([
      'rate_limited',
      ['jobs_a_day', 'jobs_at_once'],
    ]);
    expect(details.faults?.[0]?.detail).toMatch(/^has used 7 of 7 of its quota jobs_a_day until 2026-11-28T00:00:00/);
  });

  it('a warning lists the quotas with what is used, in three decimals at most', () => {
    const minutes = { name: 'output_minutes_a_day', used: 81.23456, limit: 100, until: dayEndsAt } as const;
    const bytes = { name: 'stored_bytes', used: 9e12, limit: 1e13, until: null } as const;
    expect(quotaWarning([minutes, bytes])).toBe(
      'output_minutes_a_day; used=81.235; limit=100; until="2026-11-28T00:00:00.000Z", ' +
        'stored_bytes; used=9000000000000; limit=10000000000000',
    );
  });

  it.each<[string, KeyQuotas, Partial<Record<QuotaName, number>>, number]>([
    [
      'as many as the smallest number of jobs has left',
      { jobs_at_once: 5, jobs_a_day: 9 },
      { jobs_at_once: 2, jobs_a_day: 7 },
      2,
    ],
    ['none over a number of jobs', { jobs_at_once: 1 }, { jobs_at_once: 4 }, 0],
    ['none while another quota is used up', { jobs_at_once: 5, stored_bytes: 10 }, { stored_bytes: 10 }, 0],
    ['every one without quotas', { when_reached: 'wait' }, { jobs_at_once: 1e6 }, Number.MAX_SAFE_INTEGER],
  ])('of the jobs that wait begin %s', (_, quotas, used, room) =>
    expect(quotaRoom(quotas, { used: { ...nothing, ...used } })).toBe(room),
  );

  it('the reason of a job that waits names quotas, what is used and until when', () => {
    const used = { ...nothing, jobs_at_once: 5, jobs_a_day: 7 };
    const { exceeded } = judgeQuotas({ jobs_at_once: 5, jobs_a_day: 5 }, { used, dayEndsAt }, 1);
    expect(quotaWait(exceeded)).toEqual({
      code: 'key_quota',
      message: `When it was submitted, its API key had used 5 of 5 of its quota jobs_at_once, and 7 of 5 of its quota jobs_a_day until ${dayEndsAt.toISOString()}; it begins when they allow it.`,
    });
    expect(quotaWait([]).message).toBe('Earlier jobs of its API key wait for a quota; it begins after them.');
  });
});

import { describe, expect, it } from 'vitest';
import type { FoundMedia, SkipReason } from './choose.ts';
import { rolloutPlan } from './plan.ts';

const hourMs = 3_600_000;

function media(sourceMs: number, processorMs: number, bytes: number | null): FoundMedia {
  const made = { jobId: 'j', rev: 'r', profile: 'default', madeAt: new Date(0), toolVersion: null, isByTarget: false };
  return { hash: 'h', legalHold: false, isDeleted: false, stream: { ...made, sourceMs, processorMs, bytes } };
}

const page = (found: readonly FoundMedia[], skipped: readonly SkipReason[] = []) => ({
  media: found,
  skipped,
  lookedAt: found.length + skipped.length,
});

describe('the plan of a rollout', () => {
  it('adds up media, length and bytes of all pages, and counts what is skipped by why', () => {
    const first = page([media(hourMs, hourMs, 100)], ['deleted', 'no_stream']);
    const second = page([media(2 * hourMs, hourMs, null)], ['deleted']);
    expect(rolloutPlan([first, second], null)).toMatchObject({
      lookedAt: 5,
      media: 2,
      sourceMs: 3 * hourMs,
      bytesNow: 100,
      skipped: { deleted: 2, no_stream: 1 },
      unmeasured: 0,
    });
  });

  it('expects what the profile took and made for an hour lately', () => {
    const made = { sourceMs: 10 * hourMs, bytes: 1_000, processorMs: 40 * hourMs };
    expect(rolloutPlan([page([media(2 * hourMs, hourMs, 900)])], made)).toMatchObject({
      bytesExpected: 200,
      processorMs: 8 * hourMs,
      estimatedFrom: 'profile',
    });
  });

  it('expects the processor time of the present streams where the profile made none, and no size', () => {
    const found = [media(hourMs, 3 * hourMs, 100), media(hourMs, 0, 100), media(0, 0, 100)];
    expect(rolloutPlan([page(found)], { sourceMs: 0, bytes: 0, processorMs: 0 })).toMatchObject({
      bytesExpected: null,
      processorMs: 6 * hourMs,
      estimatedFrom: 'present_streams',
      unmeasured: 1,
    });
  });

  it('estimates nothing where nothing was recorded', () => {
    expect(rolloutPlan([page([media(0, 0, 100)])], null)).toMatchObject({ processorMs: null, estimatedFrom: null });
  });
});

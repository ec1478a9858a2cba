import { describe, expect, it } from 'vitest';
import { jobErrorOf } from '#domain/job-error.ts';
import type { EndedItem } from '#platform/postgres/rollout-item-store.ts';
import { moveOf } from './settle.ts';

const ended = { status: 'completed', error: null, results: null, bytes: 10, isPlayed: true, seconds: 5 } as const;

function move(job: Partial<NonNullable<EndedItem['job']>> | null, gaveWay = false) {
  const item = { hash: 'h', earlierJobId: 'e', earlierRev: 'r', jobId: 'j', gaveWay };
  return moveOf({ ...item, job: job === null ? null : { ...ended, ...job } });
}

describe('an item whose rerun has ended', () => {
  it('a completed rerun is done, and its time counts', () => {
    const quality = { measure: 'vmaf', score: 90, crf: 30 };
    const results = { video_tracks: [{ quality }, { quality: { ...quality, score: 80 } }, {}] } as never;
    const score = { measure: 'vmaf', score: 85 };
    expect(move({ results })).toEqual({ from: 'running', to: 'done', bytes: 10, score, seconds: 5 });
    expect(move({}).score).toBeNull();
  });

  it('a completed rerun whose stream is not played was overtaken: it is skipped, and its time counts', () => {
    expect(move({ isPlayed: false })).toEqual({
      from: 'running',
      to: 'skipped',
      reason: 'replaced',
      seconds: 5,
    });
  });

  it('a rerun that was cancelled to give way is planned again later, unless it completed all the same', () => {
    expect(move({ status: 'cancelled' }, true)).toMatchObject({ to: 'planned', reason: 'gave_way' });
    expect(move({}, true).to).toBe('done');
    expect(move({ status: 'failed', error: jobErrorOf('internal', 1) }, true).to).toBe('failed');
  });

  it('another end is a failure with a reason', () => {
    expect(move({ status: 'failed', error: jobErrorOf('corrupt_input', 1) })).toMatchObject({
      reason: 'corrupt_input',
    });
    expect(move({ status: 'cancelled' })).toMatchObject({ to: 'failed', reason: 'cancelled' });
    expect(move(null)).toMatchObject({ to: 'failed', reason: 'the job was deleted' });
  });
});

import { describe, expect, it } from 'vitest';
import type { MediaJobStatus } from '#domain/kubernetes/media-job.ts';
import { jobErrorOf } from '#domain/job-error.ts';
import { begun, condition, mediaJob, now, row, suspended, withStatus } from '../../../testing/k8s/plan-cases.ts';
import { activeStatus, finalStatus, isWorthWriting, notAdoptedStatus, refusedStatus } from './status.ts';

const at = new Date(now).toISOString();
const earlier = '2026-11-21T11:00:00.000Z';
const shared = { observedGeneration: 1, jobId: row.id, pool: 'gpu', attempt: row.attempt, progress: row.progress };
const made = (type: string, status: string, reason: string, message: string) => ({
  type,
  status,
  observedGeneration: 1,
  lastTransitionTime: at,
  reason,
  message,
});
const problem = { phase: 'unschedulable', reason: 'Unschedulable', message: 'No node.', code: 'internal' } as const;
const unnamed = { spec: mediaJob.spec };
const active = (more: Partial<Parameters<typeof activeStatus>[0]> = {}) =>
  activeStatus({ mediaJob, row, pool: 'gpu', problem: null, nowMs: now, ...more });
const final = (more: Partial<Parameters<typeof finalStatus>[0]> = {}) =>
  finalStatus({ mediaJob, row, pool: 'gpu', nowMs: now, begunAt: undefined, ...more });

const timeAfter = (status: 'True' | 'False', reason: string, more: object) =>
  active({ mediaJob: withStatus({ conditions: [condition('Progressing', status, reason)] }), ...more }).conditions?.[0]
    ?.lastTransitionTime;

describe('the status of an active MediaJob', () => {
  it('says that its attempt has begun, and at which phase it is', () => {
    expect(active({ row: { ...row, phase: 'encoding', attempt: 2 } })).toEqual({
      ...shared,
      attempt: 2,
      phase: 'encoding',
      startTime: at,
      conditions: [made('Progressing', 'True', 'AttemptBegun', 'Attempt 2 has begun.')],
    });
    expect(active({ row: { ...row, phase: null } }).phase).toBe('admitted');
  });

  it('says what keeps it from running, in the phase of that', () => {
    expect(active({ problem })).toMatchObject({
      phase: 'unschedulable',
      conditions: [made('Progressing', 'False', 'Unschedulable', 'No node.')],
    });
    const long = active({ problem: { ...problem, message: 'x'.repeat(2_001) } });
    expect(long.conditions?.[0]?.message).toBe('x'.repeat(2_000));
  });

  it('says that it is suspended, whatever else is wrong', () => {
    expect(active({ mediaJob: suspended, problem })).toMatchObject({
      phase: 'suspended',
      conditions: [
        made('Suspended', 'True', 'Suspended', 'spec.suspend is set; the job does not run.'),
        made('Progressing', 'False', 'Suspended', 'spec.suspend is set.'),
      ],
    });
  });

  it('says once that it was resumed, and keeps what others wrote', () => {
    const foreign = condition('Foreign', 'True', 'Theirs');
    const before = withStatus({
      startTime: earlier,
      conditions: [foreign, condition('Suspended', 'True', 'Suspended')],
    });
    expect(active({ mediaJob: before })).toMatchObject({
      startTime: earlier,
      conditions: [
        foreign,
        made('Suspended', 'False', 'Resumed', 'spec.suspend is not set.'),
        made('Progressing', 'True', 'AttemptBegun', 'Attempt 1 has begun.'),
      ],
    });
    const still = { ...suspended, status: before.status ?? {} };
    expect(active({ mediaJob: still }).conditions).toContainEqual(
      expect.objectContaining({ type: 'Suspended', status: 'True' }),
    );
    expect(active().conditions).toHaveLength(1);
  });

  it('keeps the time of a condition until its state changes, and for False until its reason does', () => {
    const kept = condition('x', 'True', 'x').lastTransitionTime;
    expect(timeAfter('True', 'AttemptBegun', {})).toBe(kept);
    expect(timeAfter('True', 'Other', {})).toBe(kept);
    expect(timeAfter('False', 'AttemptBegun', {})).toBe(at);
    expect(timeAfter('False', 'Unschedulable', { problem })).toBe(kept);
    expect(timeAfter('False', 'Queued', { problem })).toBe(at);
    expect(timeAfter('True', 'Unschedulable', { problem })).toBe(at);
  });
});

describe('the status of a MediaJob that has ended', () => {
  const results = { key: 'k' } as never;

  it('of a completed job has its results, and says that they are published', () => {
    expect(final({ row: { ...row, status: 'completed', results } })).toEqual({
      ...shared,
      phase: 'completed',
      startTime: at,
      completionTime: at,
      results: { key: 'k' },
      conditions: [
        made('Complete', 'True', 'Completed', 'Every result is published.'),
        made('Progressing', 'False', 'Completed', 'Every result is published.'),
        made('Published', 'True', 'Published', 'The results are in the media bucket.'),
      ],
    });
  });

  it.each([
    ['failed', jobErrorOf('packager_error', 1), 'PackagerError', 'Packaging the stream failed.'],
    ['failed', null, 'Failed', 'The job failed.'],
    ['cancelled', jobErrorOf('cancelled', 1), 'Cancelled', 'The job was cancelled.'],
    ['cancelled', null, 'Cancelled', 'The job failed.'],
  ] as const)('of a %s job has its error %j, and its reason %s', (status, error, reason, message) => {
    const shown = final({ row: { ...row, status, error, results } });
    expect(shown).toMatchObject({
      phase: status,
      results: { key: 'k' },
      conditions: [made('Failed', 'True', reason, message), made('Progressing', 'False', reason, message)],
    });
    expect(shown.conditions).toHaveLength(2);
    expect(shown.error ?? null).toEqual(error);
  });

  it('begins when it was first shown, or when its last attempt began', () => {
    const ended = { ...row, status: 'completed' } as const;
    expect(final({ row: ended, begunAt: earlier }).startTime).toBe(earlier);
    const first = '2026-11-21T10:00:00.000Z';
    const status = final({ mediaJob: withStatus({ startTime: first }), row: ended, begunAt: earlier });
    expect(status.startTime).toBe(first);
  });
});

describe('the status of a MediaJob without a job', () => {
  it('says why none can be made for now', () => {
    const input = { mediaJob, reason: 'ProfileNotFound', message: 'There is no such profile.', nowMs: now } as const;
    expect(notAdoptedStatus(input)).toEqual({
      observedGeneration: 1,
      phase: 'queued',
      conditions: [made('Progressing', 'False', 'ProfileNotFound', 'There is no such profile.')],
    });
    expect(notAdoptedStatus({ ...input, mediaJob: unnamed }).observedGeneration).toBe(0);
  });

  it('says why none is made at all', () => {
    const error = jobErrorOf('source_not_found', 1);
    expect(refusedStatus(mediaJob, error, now)).toEqual({
      observedGeneration: 1,
      phase: 'failed',
      completionTime: at,
      error,
      conditions: [
        made('Failed', 'True', 'Refused', error.message),
        made('Progressing', 'False', 'Refused', error.message),
      ],
    });
    expect(refusedStatus(unnamed, error, now).observedGeneration).toBe(0);
  });
});

describe('whether a status is worth a write', () => {
  const shown: MediaJobStatus = { ...begun, progress: 10, chunks: '1/9' };

  it.each<[string, MediaJobStatus | undefined, Partial<MediaJobStatus>, number, boolean]>([
    ['the first one', undefined, {}, 0, true],
    ['the same one', shown, {}, Infinity, false],
    ['of another attempt', shown, { attempt: 2 }, 0, true],
    ['of another job', shown, { jobId: 'x' }, 0, true],
    ['of another condition', shown, { conditions: [condition('Progressing', 'False', 'AttemptBegun')] }, 0, true],
    ['without conditions', shown, { conditions: [] }, 0, true],
    ['of a progress of 5 % after 5 s', shown, { progress: 15 }, 5_000, true],
    ['of a progress of 5 % sooner', shown, { progress: 15 }, 4_999, false],
    ['of a progress of 4 %', shown, { progress: 14 }, Infinity, false],
    ['of a progress that was not shown', begun, { progress: 5 }, 5_000, true],
    ['without a progress', shown, { progress: 0 }, Infinity, false],
    ['of a further chunk after 5 s', shown, { chunks: '2/9' }, 5_000, true],
  ])('whether a status %s is written follows from the table', (_, current, more, sinceMs, isWorth) => {
    expect(isWorthWriting(current, { ...shown, ...more }, sinceMs)).toBe(isWorth);
  });

  it('conditions in another order are the same, and a status that knows no chunks leaves them', () => {
    const [a, b] = [condition('A', 'True', 'x'), condition('B', 'True', 'y')];
    expect(isWorthWriting({ ...shown, conditions: [a, b] }, { ...shown, conditions: [b, a] }, Infinity)).toBe(false);
    const divided = [condition('A', 'True', 'xB'), condition('C', 'True', 'y')];
    const otherwise = [condition('A', 'True', 'x'), condition('BC', 'True', 'y')];
    expect(isWorthWriting({ ...shown, conditions: divided }, { ...shown, conditions: otherwise }, 0)).toBe(true);
    const { chunks: _, ...without } = shown;
    expect(isWorthWriting(shown, without, Infinity)).toBe(false);
    expect(isWorthWriting({ attempt: 1 }, { attempt: 1, conditions: [] }, Infinity)).toBe(false);
    expect(isWorthWriting({ attempt: 1 }, { attempt: 1, progress: 5 }, Infinity)).toBe(true);
    expect(isWorthWriting({ attempt: 1, progress: 5 }, { attempt: 1 }, Infinity)).toBe(false);
  });
});

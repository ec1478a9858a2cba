import { describe, expect, it } from 'vitest';
import { isFinal, jobStatuses, liveStatuses, nextStatuses, statusesBefore } from './status.ts';

describe('the states of a job', () => {
  it('the states completed, failed and cancelled are final', () => {
    expect(jobStatuses.filter(isFinal)).toEqual(['completed', 'failed', 'cancelled']);
  });

  it.each([
    ['queued', []],
    ['processing', ['queued']],
    ['completed', ['processing']],
    ['failed', ['queued', 'processing']],
    ['cancelled', ['queued', 'processing']],
  ] as const)('%s is reached from %j alone', (to, from) => expect(statusesBefore(to)).toEqual(from));

  it('answer an equal submission unless the job failed or was cancelled', () => {
    expect(liveStatuses).toEqual(['queued', 'processing', 'completed']);
  });

  it('lead to states of the table alone', () => {
    const reached = Object.values(nextStatuses).flat();
    expect(reached.filter((status) => !jobStatuses.includes(status))).toEqual([]);
  });
});

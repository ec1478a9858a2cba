import { setImmediate as turn } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { CoalescedCalls } from './coalesced-calls.ts';

/** Batches of numbers whose ends the test decides; a result is twice its call. */
function numbers({ sizeMax = 100, atOnceMax = 1 } = {}) {
  const begun: { calls: readonly number[]; end: () => void; fail: (error: Error) => void }[] = [];
  const batches = new CoalescedCalls<number, number>({
    sizeMax,
    atOnceMax,
    run: (calls) =>
      new Promise((resolve, reject) => {
        begun.push({ calls, end: () => resolve(calls.map((call) => call * 2)), fail: reject });
      }),
  });
  return { batches, begun, calls: () => begun.map((batch) => batch.calls) };
}

describe('CoalescedCalls', () => {
  it('calls of one turn become one batch, and each gets its own result', async () => {
    const { batches, begun, calls } = numbers();
    const results = [batches.add(1), batches.add(2), batches.add(3)];
    await turn();
    expect(calls()).toEqual([[1, 2, 3]]);
    begun[0]?.end();
    expect(await Promise.all(results)).toEqual([2, 4, 6]);
  });

  it('calls during a batch become the next one, which begins after it', async () => {
    const { batches, begun, calls } = numbers();
    const first = batches.add(1);
    await turn();
    const later = [batches.add(2), batches.add(3)];
    await turn();
    expect(calls()).toEqual([[1]]);
    begun[0]?.end();
    await first;
    await turn();
    expect(calls()).toEqual([[1], [2, 3]]);
    begun[1]?.end();
    expect(await Promise.all(later)).toEqual([4, 6]);
  });

  it('a batch has at most as many calls, and as many batches run at once, as allowed', async () => {
    const { batches, begun, calls } = numbers({ sizeMax: 2, atOnceMax: 2 });
    const results = [1, 2, 3, 4, 5].map((call) => batches.add(call));
    await turn();
    expect(calls()).toEqual([
      [1, 2],
      [3, 4],
    ]);
    begun[1]?.end();
    await results[3];
    await turn();
    expect(calls()[2]).toEqual([5]);
    for (const { end } of begun) end();
    expect(await Promise.all(results)).toEqual([2, 4, 6, 8, 10]);
  });

  it('every call of a failed batch rejects with its error, and the next batch runs', async () => {
    const { batches, begun } = numbers();
    const results = [batches.add(1), batches.add(2)];
    await turn();
    begun[0]?.fail(new Error('connection lost'));
    for (const result of results) await expect(result).rejects.toThrow('connection lost');
    const next = batches.add(3);
    await turn();
    begun[1]?.end();
    expect(await next).toBe(6);
  });
});

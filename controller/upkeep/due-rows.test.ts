import { describe, expect, it, vi } from 'vitest';
import { type DueRows, inPages, workInSlots, workThrough } from './due-rows.ts';

/** Works through so many rows, the numbers from 0 on; a test changes what is done with them. */
async function through(count: number, more: Partial<DueRows<number>> = {}) {
  const rows = Array.from({ length: count }, (_, n) => n);
  const seen = { pages: 0, marked: [] as number[], deleted: [] as string[], failed: [] as number[] };
  await workThrough<number>({
    claim: async (limit) => {
      seen.pages += 1;
      return rows.splice(0, limit);
    },
    handle: async (row) => [`key ${row}`],
    mark: async (done) => seen.marked.push(...done),
    onFailure: (row) => void seen.failed.push(row),
    media: { delete: async (keys) => void seen.deleted.push(...keys) },
    signal: new AbortController().signal,
    ...more,
  });
  seen.marked.sort((a, b) => a - b);
  return seen;
}

/** Handles rows, of which the ones from this number on fail. */
const fails = (from: number) => (row: number) =>
  row >= from ? Promise.reject(new Error('away')) : Promise.resolve([]);

describe('rows that are due', () => {
  it('rows that are due are worked off page by page, their objects deleted before they are marked', async () => {
    const order: string[] = [];
    const seen = await through(101, {
      media: { delete: async (keys) => void order.push(`delete ${keys.length}`) },
      mark: async (rows) => order.push(`mark ${rows.length}`),
    });
    expect(order).toEqual(['delete 100', 'mark 100', 'delete 1', 'mark 1']);
    expect(seen.pages).toBe(2);
  });

  it('a row that fails, or whose object cannot be deleted, is not marked and delays no other', async () => {
    const seen = await through(5, {
      handle: (row) => (row === 1 ? Promise.reject(new Error('broken')) : Promise.resolve([`key ${row}`])),
      media: { delete: async (keys) => (keys.includes('key 3') ? Promise.reject(new Error('locked')) : undefined) },
    });
    expect(seen).toMatchObject({ marked: [0, 2, 4], failed: [1, 3] });
  });

  it('a row of which nothing more can be done for now is neither marked nor a failure', async () => {
    const seen = await through(3, { handle: async (row) => (row === 1 ? null : []) });
    expect(seen).toEqual({ pages: 1, marked: [0, 2], failed: [], deleted: [] });
  });

  it('the rest waits for the next round when every row of a page fails, and not when one does not', async () => {
    expect((await through(300, { handle: fails(0) })).pages).toBe(1);
    expect((await through(201, { handle: fails(1) })).pages).toBe(2);
  });

  it('in pages of one row, one that fails delays no other, and a hundred in a row end the round', async () => {
    const some = await through(5, { pageSize: 1, handle: (row) => fails(row % 2 === 0 ? row : 9)(row) });
    expect(some).toMatchObject({ pages: 6, marked: [1, 3], failed: [0, 2, 4] });
    expect((await through(300, { pageSize: 1, handle: fails(0) })).pages).toBe(100);
  });

  it('no more is begun once the process stops, and what was done is marked', async () => {
    const stopping = new AbortController();
    const seen = await through(300, {
      signal: stopping.signal,
      handle: async (row) => {
        if (row === 10) stopping.abort();
        return [];
      },
    });
    expect(seen.pages).toBe(1);
    expect(seen.marked).toEqual(Array.from({ length: 11 }, (_, n) => n));
  });

  it('at most 550 rows a second are worked off', async () => {
    const startedAt = performance.now();
    await through(201);
    expect(performance.now() - startedAt).toBeGreaterThan((200 / 550) * 1000 - 5);
  });

  it('pages are repeated until one is not full', async () => {
    const sizes = [100, 100, 99, 100];
    const limits: number[] = [];
    const { signal } = new AbortController();
    await inPages(async (limit) => (limits.push(limit), sizes.shift() ?? 0), signal);
    expect(limits).toEqual([100, 100, 100]);
    await inPages(async () => Promise.reject(new Error('not asked')), AbortSignal.abort());
  });

  it('rows of long work fill the slots that are free, and one that ends makes room at once', async () => {
    const stopping = new AbortController();
    const ends: (() => void)[] = [];
    const running: number[] = [];
    const ended = workInSlots<number>({
      claim: async (count) => {
        running.push(count);
        if (running.length === 5) stopping.abort();
        return count < 2 ? [running.length] : [];
      },
      handle: () => new Promise((resolve) => void ends.push(resolve)),
      pollEveryMs: 60_000,
      stopping: stopping.signal,
    });
    await vi.waitFor(() => expect(running).toEqual([0, 1, 2]));
    ends.shift()?.();
    await vi.waitFor(() => expect(running).toEqual([0, 1, 2, 1, 2]));
    const hasEnded = vi.fn<() => void>();
    void ended.then(hasEnded);
    ends.shift()?.();
    await Promise.resolve();
    expect(hasEnded).not.toHaveBeenCalled();
    for (const end of ends) end();
    await ended;
  });
});

import { expect, it } from 'vitest';
import { openProcessWindowCounter } from './process-window-counter.ts';

function storeAt(startMs = 1_000_000) {
  let nowMs = startMs;
  const store = openProcessWindowCounter(() => new Date(nowMs));
  return { store, pass: (ms: number) => (nowMs += ms) };
}

it('hits are counted for each bucket until a window length after its first hit', async () => {
  const { store, pass } = storeAt();
  expect(await store.hit('a', 1000)).toEqual({ count: 1, resetMs: 1000 });
  pass(400);
  expect(await store.hit('a', 1000)).toEqual({ count: 2, resetMs: 600 });
  expect(await store.hit('b', 1000)).toEqual({ count: 1, resetMs: 1000 });
  pass(600);
  expect(await store.hit('a', 1000)).toEqual({ count: 1, resetMs: 1000 });
});

it('a bucket keeps the length of its window when later hits name another length', async () => {
  const { store, pass } = storeAt();
  await store.hit('a', 1000);
  pass(999);
  expect(await store.hit('a', 5000)).toEqual({ count: 2, resetMs: 1 });
  pass(1);
  expect(await store.hit('a', 5000)).toEqual({ count: 1, resetMs: 5000 });
});

it('above 10,000 buckets the one that was hit the longest ago is dropped', async () => {
  const { store } = storeAt();
  for (let i = 0; i < 9_999; i++) await store.hit(`bucket-${i}`, 1000);
  await store.hit('bucket-0', 1000);
  for (let i = 0; i < 2; i++) await store.hit(`another-${i}`, 1000);
  expect((await store.hit('bucket-0', 1000)).count).toBe(3);
  expect((await store.hit('bucket-1', 1000)).count).toBe(1);
});

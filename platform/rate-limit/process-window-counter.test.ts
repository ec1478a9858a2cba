import { expect, it } from 'vitest';
import { openProcessWindowCounter } from './process-window-counter.ts';

function storeAt(startMs = 1_000_000) {
  let nowMs = startMs;
  const store = openProcessWindowCounter(() => new Date(nowMs));
  return { store, pass: (ms: number) => (nowMs += ms) };
}

it('counts hits in a window that ends when it began plus its length, for each bucket by itself', async () => {
  const { store, pass } = storeAt();
  expect(await store.hit('a', 1000)).toEqual({ count: 1, resetMs: 1000 });
  pass(400);
  expect(await store.hit('a', 1000)).toEqual({ count: 2, resetMs: 600 });
  expect(await store.hit('b', 1000)).toEqual({ count: 1, resetMs: 1000 });
  pass(600);
  expect(await store.hit('a', 1000)).toEqual({ count: 1, resetMs: 1000 });
});

it('keeps a value until its time is over, apart from hits of the same name', async () => {
  const { store, pass } = storeAt();
  await store.hit('a', 1000);
  expect(await store.get('a')).toBeNull();
  await store.set('a', 'text', 500);
  expect(await store.get('a')).toBe('text');
  pass(500);
  expect(await store.get('a')).toBeNull();
});

it('forgets what was used longest ago, so that made-up buckets do not fill the memory', async () => {
  const { store } = storeAt();
  for (let i = 0; i < 9_999; i++) await store.hit(`bucket-${i}`, 1000);
  await store.hit('bucket-0', 1000);
  for (let i = 0; i < 2; i++) await store.hit(`another-${i}`, 1000);
  expect((await store.hit('bucket-0', 1000)).count).toBe(3);
  expect((await store.hit('bucket-1', 1000)).count).toBe(1);
});

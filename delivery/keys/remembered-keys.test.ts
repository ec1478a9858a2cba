import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { ContentKey } from '#domain/playback/content-key.ts';
import { RememberedKeys } from './remembered-keys.ts';

afterEach(() => void vi.restoreAllMocks());

function fakeClock() {
  let nowMs = performance.now();
  vi.spyOn(performance, 'now').mockImplementation(() => nowMs);
  return async (ms: number) => {
    nowMs += ms;
    // lru-cache looks at the clock once a millisecond.
    await sleep(5);
  };
}

const keyOf = (byte: number): ContentKey => ({ kid: '00'.repeat(16), key: Buffer.alloc(16, byte) });

/** A table of content keys that counts its queries, whose answers wait while the test says so. */
function table() {
  const rows = new Map<string, ContentKey>();
  const gates: (() => void)[] = [];
  const state = { queries: 0, isSlow: false };
  const keys = new RememberedKeys({
    find: async (hash) => {
      state.queries += 1;
      const found = rows.get(hash) ?? null;
      if (state.isSlow) await new Promise<void>((resolve) => gates.push(resolve));
      return found;
    },
  });
  return { rows, keys, state, answer: () => gates.shift()?.() };
}

describe('RememberedKeys', () => {
  it('requests for a key at once are one query, and later ones none for five seconds', async () => {
    const advance = fakeClock();
    const { rows, keys, state } = table();
    rows.set('a', keyOf(1));
    expect(await Promise.all([keys.find('a'), keys.find('a')])).toEqual([keyOf(1), keyOf(1)]);
    await advance(4_900);
    expect([await keys.find('a'), keys.cached('a'), state.queries]).toEqual([keyOf(1), keyOf(1), 1]);
    rows.delete('a');
    await advance(200);
    expect([keys.cached('a'), await keys.find('a'), state.queries]).toEqual([null, null, 2]);
  });

  it('C18.12: a slow query lengthens the time for which its key is remembered by nothing', async () => {
    const advance = fakeClock();
    const { rows, keys, state, answer } = table();
    rows.set('a', keyOf(1));
    state.isSlow = true;
    const found = keys.find('a');
    await advance(2_000);
    answer();
    expect(await found).toEqual(keyOf(1));
    await advance(3_100);
    expect(keys.cached('a')).toBeNull();
  });

  it('a media without a key is asked for each time', async () => {
    const { rows, keys, state } = table();
    expect(await keys.find('a')).toBeNull();
    rows.set('a', keyOf(1));
    expect([await keys.find('a'), state.queries]).toEqual([keyOf(1), 2]);
  });

  it.each([
    ['a deleted media has none', null],
    ['a media that is made again has its new one', keyOf(2)],
  ])('C29.11: a key that is dropped while it is read is read again: %s', async (_, after) => {
    const { rows, keys, state, answer } = table();
    rows.set('a', keyOf(1));
    state.isSlow = true;
    const asked = [keys.find('a'), keys.find('a')];
    rows.delete('a');
    if (after !== null) rows.set('a', after);
    state.isSlow = false;
    keys.forget(['a']);
    answer();
    expect(await Promise.all(asked)).toEqual([after, after]);
    expect([keys.cached('a'), state.queries]).toEqual([after, 2]);
  });
});

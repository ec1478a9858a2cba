import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { openPlayback, type Playback } from '#domain/media/playback.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import { PlaybackStates } from './playback-states.ts';

/** The table, which may be away; counts its queries. */
const table = { rows: new Map<string, Playback>(), isAway: false, asked: 0 };
const signed: Playback = { mode: 'signed', generation: 2 };
const warnings: string[] = [];
const log = { warn: (_fields: object, text: string) => void warnings.push(text) } as unknown as Logger;
let states: PlaybackStates;

const answer = async <Answer>(read: () => Answer): Promise<Answer> => {
  if (table.isAway) throw new Error('the database is away');
  return read();
};
const listed = (max: number) =>
  [...table.rows]
    .map(([hash, playback]) => ({ hash, playback }))
    .toSorted((a, b) => Number(b.playback.mode === 'signed') - Number(a.playback.mode === 'signed'))
    .slice(0, max);
const store = {
  all: (max: number) => answer(() => listed(max)),
  changed: (max: number) => answer(() => listed(max)),
  find: (hash: string) => {
    table.asked += 1;
    return answer(() => table.rows.get(hash) ?? openPlayback);
  },
};

beforeEach(() => {
  table.rows.clear();
  Object.assign(table, { isAway: false, asked: 0 });
  warnings.length = 0;
});
afterEach(async () => {
  vi.restoreAllMocks();
  await states.stop();
});

const open = (more: { hasTickets?: boolean; decidedMax?: number } = {}) =>
  (states = new PlaybackStates({ store, log, hasTickets: true, ...more }));

describe('PlaybackStates', () => {
  it('C33.8: what is in memory is asked of no database', async () => {
    table.rows.set('private', signed);
    await open().start();
    expect([states.isOpen('private'), states.isOpen('public')]).toEqual([false, true]);
    expect([states.knownGeneration('private'), states.knownGeneration('public')]).toEqual([2, 0]);
    await expect(states.requireOpen('private')).rejects.toMatchObject({ code: 'not_found' });
    await states.requireOpen('public');
    expect(table.asked).toBe(0);
  });

  it('C33.13: while the database is away, what is known holds, and what is open plays on', async () => {
    table.rows.set('private', signed);
    await open().start();
    table.isAway = true;
    await expect.poll(() => warnings, { timeout: 5_000 }).toEqual(['playback of media not read']);
    expect([states.isOpen('private'), states.isOpen('public')]).toEqual([false, true]);
    expect([await states.generationOf('private'), await states.generationOf('public')]).toEqual([2, 0]);
  });

  it('C33.13: a server with tickets that has read nothing opens nothing, and one without opens all', async () => {
    table.isAway = true;
    await open().start();
    expect(states.isOpen('public')).toBe(false);
    await expect(states.requireOpen('public')).rejects.toMatchObject({ code: 'busy' });
    table.isAway = false;
    await expect.poll(() => states.isOpen('public'), { timeout: 5_000 }).toBe(true);
    await states.stop();
    table.isAway = true;
    await open({ hasTickets: false }).start();
    expect(states.isOpen('public')).toBe(true);
    await states.requireOpen('public');
  });

  it('over its memory the database is asked, once for all who ask within a second', async () => {
    for (const hash of ['a', 'b', 'c']) table.rows.set(hash, signed);
    await open({ decidedMax: 2 }).start();
    expect([states.isOpen('c'), states.knownGeneration('c')]).toEqual([false, null]);
    await expect(states.requireOpen('c')).rejects.toMatchObject({ code: 'not_found' });
    expect(await Promise.all([states.generationOf('c'), states.generationOf('c')])).toEqual([2, 2]);
    await states.requireOpen('public');
    expect(table.asked).toBe(2);
    table.isAway = true;
    await expect(states.requireOpen('unknown')).rejects.toMatchObject({ code: 'busy' });
  });

  it('where the signed ones have room, media that are open need no database', async () => {
    table.rows.set('private', signed);
    for (const hash of ['a', 'b', 'c']) table.rows.set(hash, { mode: 'open', generation: 1 });
    await open({ decidedMax: 3 }).start();
    expect([states.isOpen('c'), states.isOpen('private'), states.knownGeneration('c')]).toEqual([true, false, null]);
    expect(table.asked).toBe(0);
  });
});

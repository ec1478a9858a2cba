import { describe, expect, it } from 'vitest';
import type { PoolLook, QueuedKey } from '#platform/postgres/turn-rows.ts';
import { exampleJob } from '../../testing/example-job.ts';
import { type HeldSlots, PoolTurns } from './pool-turns.ts';

const waits = (key: string): QueuedKey => {
  const ticket = { jobId: `${key}-1`, attempt: 1, queue: 'default', keyId: key } as const;
  return { key, weight: 1, isBackground: false, ticket };
};

/** The turns of a pool in which jobs of `waiting` wait and `running` run. */
function turnsOf(waiting: readonly string[], running: readonly (readonly [id: string, key: string])[] = []) {
  const world = { nowMs: 0, running, held: new Map<string, HeldSlots>(), owed: new Set<string>() };
  const lookAtPool = async (): Promise<PoolLook> => ({
    waiting: waiting.map(waits),
    running: world.running.map(([id, key]) => {
      return { id, attempt: 1, pool: 'default', key, weight: 1, isBackground: false, seconds: 0 };
    }),
    ended: [],
  });
  const turns = new PoolTurns({ jobs: { lookAtPool }, owner: 'kubernetes', now: () => world.nowMs });
  turns.holders = {
    heldBy: (jobId) => world.held.get(jobId),
    isOwed: (_, key) => world.owed.has(key),
    resume: () => false,
  };
  const order = async () => (await turns.order('default')).map(({ key }) => key);
  return { world, turns, order };
}

describe('C36.11: the turns of a key with a long video', () => {
  it('come after those of a key whose video has fewer pods', async () => {
    const { world, order } = turnsOf(
      ['a', 'b'],
      [
        ['a-video', 'a'],
        ['b-video', 'b'],
      ],
    );
    world.held.set('a-video', { slots: 3, wantsMore: true });
    await order();
    world.nowMs = 10_000;
    expect(await order()).toEqual(['b', 'a']);
  });

  it('come as long as the video waits without a slot, and its time does not count', async () => {
    const { world, turns, order } = turnsOf(['b'], [['a-video', 'a']]);
    world.held.set('a-video', { slots: 1, wantsMore: true });
    expect(await order(), 'it has a slot').toEqual(['b']);
    world.held.set('a-video', { slots: 0, wantsMore: true });
    world.owed.add('a');
    expect(turns.runningIn('default')).toEqual([]);
    turns.claimed('default', exampleJob({ id: 'b-0', keyId: 'b' }));
    world.running = [
      ['a-video', 'a'],
      ['b-0', 'b'],
    ];
    world.nowMs = 10_000;
    await order();
    world.nowMs = 20_000;
    expect(await order()).toEqual(['a', 'b']);
    expect(turns.runningIn('default').map(({ key }) => key)).toEqual(['b']);
  });
});

import { rolloutPriority } from './ticket.ts';

/*
 * Turns: which API key's job gets the next slot of a pool.
 *
 * Start-time fair queuing. Each key has a tag: the seconds that its jobs took in the pool, divided by its weight. The
 * key with the lowest tag is next, so keys that always wait get slots in the proportion of their weights. An attempt
 * counts from its claim on: while it runs, with the time since then, and once it has ended, with the processor time
 * that was measured of it. A key that begins to wait is lifted to the lowest tag of those that waited before it: what
 * it did not use while it was idle is not saved up, and what it owes is not forgotten. A key that waits alone gets
 * every slot.
 *
 * Inside a key, priority and age decide.
 */

/** A key that wants slots of a pool. */
export interface WaitingKey {
  /** Empty for what no API key asked for. */
  readonly key: string;
  /** 1 to 100. */
  readonly weight: number;
  /** Nothing but reruns of rollouts: these wait behind all others. */
  readonly isBackground: boolean;
}

/** An attempt of a key: so far, or in all once it has ended. */
export interface Taken {
  readonly key: string;
  readonly weight: number;
  readonly seconds: number;
}

/** What is remembered of the turns of a pool. */
export interface Turns {
  /** The lowest tag that any key waited with, reruns aside; it never falls. */
  readonly now: number;
  /** What ended attempts took, by key: seconds divided by the weight. */
  readonly tags: ReadonlyMap<string, number>;
  /** Who waited at the last look; with nothing but reruns only where all did. */
  readonly waiting: ReadonlySet<string>;
}

/** A look at a pool. */
export interface Look<Waiting extends WaitingKey = WaitingKey> {
  readonly waiting: readonly Waiting[];
  readonly running: readonly Taken[];
  /** Since the last look. */
  readonly ended: readonly Taken[];
}

/** The turns of a pool at which nobody has looked yet. */
export const noTurns: Turns = { now: 0, tags: new Map(), waiting: new Set() };

/**
 * What an attempt is expected to take at least while it runs, so that slots that are free at once go to different keys.
 * It decides the order alone: a key that begins to wait does not pay what others were only expected to take.
 */
const secondsMin = 1;

/** The waiting keys in the order of their turns, and what is remembered for the next look. */
export function takeTurns<Waiting extends WaitingKey>(
  before: Turns,
  { waiting, running, ended }: Look<Waiting>,
): { readonly order: readonly Waiting[]; readonly turns: Turns } {
  const tags = new Map(before.tags);
  const add = (key: string, amount: number) => tags.set(key, (tags.get(key) ?? 0) + amount);
  for (const { key, weight, seconds } of ended) add(key, seconds / weight);
  const [underWay, expected] = [new Map<string, number>(), new Map<string, number>()];
  for (const { key, weight, seconds } of running) {
    underWay.set(key, (underWay.get(key) ?? 0) + seconds / weight);
    expected.set(key, (expected.get(key) ?? 0) + Math.max(0, secondsMin - seconds) / weight);
  }
  const tagOf = ({ key }: WaitingKey) => (tags.get(key) ?? 0) + (underWay.get(key) ?? 0);
  const lowest = (keys: readonly WaitingKey[], least: number) =>
    keys.length === 0 ? least : Math.max(least, Math.min(...keys.map(tagOf)));

  // What reruns wait with says nothing while others wait.
  const submitted = waiting.filter((one) => !one.isBackground);
  const foremost = submitted.length > 0 ? submitted : waiting;
  const isNew = ({ key }: WaitingKey) => !before.waiting.has(key);
  const earlier = lowest(
    foremost.filter((one) => !isNew(one)),
    before.now,
  );
  for (const one of waiting.filter(isNew)) add(one.key, Math.max(0, earlier - tagOf(one)));
  const now = lowest(foremost, earlier);
  // Whoever is not ahead would be lifted when it waits again.
  const keys = new Set(waiting.map(({ key }) => key));
  for (const [key, tag] of tags) if (tag <= now && !keys.has(key) && !underWay.has(key)) tags.delete(key);

  const order = waiting
    .map((one) => ({ one, tag: tagOf(one) + (expected.get(one.key) ?? 0) }))
    .toSorted((a, b) => Number(a.one.isBackground) - Number(b.one.isBackground) || a.tag - b.tag || byKey(a.one, b.one))
    .map(({ one }) => one);
  return { order, turns: { now, tags, waiting: new Set(foremost.map(({ key }) => key)) } };
}

/** Whether a job of this priority waits behind all others, as reruns of rollouts do. */
export function isBackground(priority: number): boolean {
  return priority <= rolloutPriority;
}

/** How many of the slots that are taken are a key's share beside the others that wait; 1 at least. */
export function shareOf({ slots, weight, weightOfAll }: Record<'slots' | 'weight' | 'weightOfAll', number>): number {
  return Math.max(1, Math.round((slots * weight) / weightOfAll));
}

/** How turns are, for a job of a key that waits. */
interface TurnView {
  /** The keys that wait. */
  readonly order: readonly WaitingKey[];
  readonly running: readonly Pick<WaitingKey, 'key'>[];
}

/** Says how many jobs of a key run, what its share is and how many keys wait. */
export function turnMessage(key: string, { order, running }: TurnView): string {
  const weightOfAll = order.reduce((sum, { weight }) => sum + weight, 0);
  const weight = order.find((one) => one.key === key)?.weight ?? 1;
  const ofKey = running.filter((one) => one.key === key).length;
  const share = shareOf({ slots: running.length, weight, weightOfAll: Math.max(weight, weightOfAll) });
  return turnText({ running: ofKey, share, keys: order.length });
}

/** The words for the turns of a key; numbers may be words. */
export function turnText(counts: Readonly<Record<'running' | 'share' | 'keys', number | string>>): string {
  const { running, share, keys } = counts;
  const ofKey = running === 1 ? '1 job of its key runs' : `${running} jobs of its key run`;
  return `${ofKey}, its share is ${share}; ${keys === 1 ? '1 key waits' : `${keys} keys wait`}`;
}

function byKey(a: WaitingKey, b: WaitingKey): number {
  return a.key < b.key ? -1 : 1;
}

import { rolloutPriority } from './ticket.ts';

/*
 * Turns: which API key's job gets the next slot of a pool.
 *
 * Start-time fair queuing. Each key has a tag: the seconds that its jobs took in the pool, divided by its weight. The
 * key with the lowest tag is next, so keys that always wait get slots in the proportion of their weights. An attempt
 * counts from its claim on: while it runs, with the time since then, and once it has ended, with the processor time
 * that was measured of it. A key that begins to wait is lifted to the lowest tag of those that waited before it, as it
 * was when the attempts began that run or ended since the last look: its first job waited for the end of one of these,
 * and that time is made up for, up to a second an attempt. What it did not use while it was idle is not saved up, and
 * what it owes is not forgotten. A key that waits alone gets every slot.
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
  /** The lowest tag that any key waited with as its last attempts began, reruns aside; it never falls. */
  readonly now: number;
  /** What ended attempts took, by key: seconds divided by the weight. */
  readonly tags: ReadonlyMap<string, number>;
  /** Who waited at the last look; with nothing but reruns only where all did. */
  readonly waiting: ReadonlySet<string>;
  /** What the last attempts took on average, of which a second each counts at most. */
  readonly usualSeconds: number;
}

/** A look at a pool. */
export interface Look<Waiting extends WaitingKey = WaitingKey> {
  readonly waiting: readonly Waiting[];
  readonly running: readonly Taken[];
  /** Since the last look. */
  readonly ended: readonly Taken[];
}

/** How much of an attempt counts as its begin. */
const beginSeconds = 1;

/** The turns of a pool at which nobody has looked yet. */
export const noTurns: Turns = { now: 0, tags: new Map(), waiting: new Set(), usualSeconds: beginSeconds };

/** The waiting keys in the order of their turns, and what is remembered for the next look. */
export function takeTurns<Waiting extends WaitingKey>(
  before: Turns,
  { waiting, running, ended }: Look<Waiting>,
): { readonly order: readonly Waiting[]; readonly turns: Turns } {
  const tags = new Map(before.tags);
  for (const { key, weight, seconds } of ended) add(tags, key, seconds / weight);
  const usualSeconds = usualAfter(before.usualSeconds, ended);
  const sums = sumsOf({ running, ended }, usualSeconds);
  const tagOf = ({ key }: WaitingKey) => (tags.get(key) ?? 0) + (sums.soFar.get(key) ?? 0);
  const tagAtBegin = (one: WaitingKey) => tagOf(one) - (sums.begins.get(one.key) ?? 0);
  const lowest = (keys: readonly WaitingKey[], least: number) =>
    keys.length === 0 ? least : Math.max(least, Math.min(...keys.map(tagAtBegin)));

  // What reruns wait with says nothing while others wait.
  const submitted = waiting.filter((one) => !one.isBackground);
  const foremost = submitted.length > 0 ? submitted : waiting;
  const isNew = ({ key }: WaitingKey) => !before.waiting.has(key);
  const earlier = lowest(
    foremost.filter((one) => !isNew(one)),
    before.now,
  );
  for (const one of waiting.filter(isNew)) add(tags, one.key, Math.max(0, earlier - tagOf(one)));
  const now = lowest(foremost, earlier);
  // Whoever is not ahead would be lifted when it waits again.
  const keys = new Set(waiting.map(({ key }) => key));
  for (const [key, tag] of tags) if (tag <= now && !keys.has(key) && !sums.soFar.has(key)) tags.delete(key);

  const order = waiting
    .map((one) => ({ one, tag: tagOf(one) + (sums.expected.get(one.key) ?? 0) }))
    .toSorted((a, b) => Number(a.one.isBackground) - Number(b.one.isBackground) || a.tag - b.tag || byKey(a.one, b.one))
    .map(({ one }) => one);
  return { order, turns: { now, tags, waiting: new Set(foremost.map(({ key }) => key)), usualSeconds } };
}

/**
 * Sums of attempts by key, divided by the weight: what running ones took so far, what the begins took of these and of
 * ended ones, and what running ones are expected to take yet. The last lets slots that are free at once go to different
 * keys. It decides the order alone: a key that begins to wait does not pay what others were only expected to take.
 */
function sumsOf({ running, ended }: Pick<Look, 'running' | 'ended'>, usualSeconds: number) {
  const [soFar, begins, expected] = [1, 2, 3].map(() => new Map<string, number>()) as [Sums, Sums, Sums];
  for (const { key, weight, seconds } of running) {
    add(soFar, key, seconds / weight);
    add(expected, key, Math.max(0, usualSeconds - seconds) / weight);
  }
  for (const { key, weight, seconds } of [...running, ...ended])
    add(begins, key, Math.min(seconds, beginSeconds) / weight);
  return { soFar, begins, expected };
}

type Sums = Map<string, number>;

function add(sums: Sums, key: string, amount: number): void {
  sums.set(key, (sums.get(key) ?? 0) + amount);
}

/** The average after further attempts, each of which moves it by an eighth. */
function usualAfter(before: number, ended: readonly Taken[]): number {
  return ended.reduce((usual, { seconds }) => usual + (Math.min(seconds, beginSeconds) - usual) / 8, before);
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

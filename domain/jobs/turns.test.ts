import { describe, expect, it } from 'vitest';
import { noTurns, type Taken, takeTurns, type Turns, type WaitingKey } from './turns.ts';

interface Arrival {
  readonly key: string;
  readonly at: number;
  readonly seconds: number;
}

interface Begun extends Arrival {
  readonly beganAt: number;
}

const weights: Readonly<Record<string, number>> = { a: 1, b: 2, c: 4 };
const slots = 8;

/** Random numbers that are the same in each run (mulberry32). */
function randomOf(seed: number): () => number {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

/** A pool that runs what arrives: each free slot goes to the key whose turn it is. */
class Pool {
  readonly begun: Begun[] = [];
  readonly #queues = new Map<string, Arrival[]>();
  #running: Begun[] = [];
  #ended: Taken[] = [];
  #turns: Turns = noTurns;

  run(arrivals: readonly Arrival[]): readonly Begun[] {
    const coming = arrivals.toSorted((one, other) => one.at - other.at);
    let next = 0;
    for (let now = 0; ;) {
      for (let one = coming[next]; one !== undefined && one.at <= now; one = coming[next]) {
        this.#queueOf(one.key).push(one);
        next += 1;
      }
      this.#begin(now);
      const times = this.#running.map((one) => one.beganAt + one.seconds);
      const at = Math.min(...times, coming[next]?.at ?? Infinity);
      if (at === Infinity) return this.begun;
      now = at;
      this.#end(now);
    }
  }

  #queueOf(key: string): Arrival[] {
    const queue = this.#queues.get(key) ?? [];
    this.#queues.set(key, queue);
    return queue;
  }

  #begin(now: number): void {
    while (this.#running.length < slots) {
      const waiting: WaitingKey[] = [];
      for (const [key, queue] of this.#queues)
        if (queue.length > 0) waiting.push({ key, weight: weights[key] ?? 1, isBackground: false });
      if (waiting.length === 0) return;
      const running = this.#running.map(({ key, beganAt }) => takenBy(key, now - beganAt));
      const { order, turns } = takeTurns(this.#turns, { waiting, running, ended: this.#ended });
      this.#ended = [];
      this.#turns = turns;
      const one = this.#queueOf(order[0]?.key as string).shift() as Arrival;
      this.#running.push({ ...one, beganAt: now });
      this.begun.push({ ...one, beganAt: now });
    }
  }

  #end(now: number): void {
    for (const { key, beganAt, seconds } of this.#running)
      if (beganAt + seconds <= now) this.#ended.push(takenBy(key, seconds));
    this.#running = this.#running.filter(({ beganAt, seconds }) => beganAt + seconds > now);
  }
}

function takenBy(key: string, seconds: number): Taken {
  return { key, weight: weights[key] ?? 1, seconds };
}

/** The share of the slots' time that each of the keys had between two times. */
function sharesIn(begun: readonly Begun[], keys: readonly string[], from: number, to: number): number[] {
  const timeOf = (key: string) =>
    begun
      .filter((one) => one.key === key)
      .reduce((sum, { beganAt, seconds }) => {
        return sum + Math.max(0, Math.min(to, beganAt + seconds) - Math.max(from, beganAt));
      }, 0);
  const times = keys.map(timeOf);
  const all = times.reduce((sum, each) => sum + each, 0);
  return times.map((time) => time / all);
}

/** Until when all of these keys have waiting jobs. */
function backlogEnd(begun: readonly Begun[], keys: readonly string[]): number {
  return Math.min(...keys.map((key) => Math.max(...lastOf(begun, key).map(({ beganAt }) => beganAt))));
}

function lastOf(begun: readonly Begun[], key: string): readonly Begun[] {
  return begun.filter((one) => one.key === key).slice(-1);
}

function flood(key: string, jobs: number, seconds: () => number, at = 0): Arrival[] {
  return Array.from({ length: jobs }, () => ({ key, at, seconds: seconds() }));
}

function expectShares(shares: readonly number[], keys: readonly string[]): void {
  const all = keys.reduce((sum, key) => sum + (weights[key] ?? 1), 0);
  for (const [index, key] of keys.entries()) {
    const fair = (weights[key] ?? 1) / all;
    expect(Math.abs((shares[index] ?? 0) / fair - 1), `${key}: ${shares.join(', ')}`).toBeLessThan(0.05);
  }
}

const longestWait = (begun: readonly Begun[], key: string) =>
  Math.max(...begun.filter((one) => one.key === key).map(({ at, beganAt }) => beganAt - at));

/** Within which 95 of 100 jobs of a key begin. */
function p95Wait(begun: readonly Begun[], key: string): number {
  const waits = begun.filter((one) => one.key === key).map(({ at, beganAt }) => beganAt - at);
  return waits.toSorted((one, other) => one - other)[Math.ceil(0.95 * waits.length) - 1] ?? Number.NaN;
}

const share = (weight: number) => Math.floor((20_000 * weight) / 7);

describe('shares of keys of the weights 1, 2 and 4, 20,000 jobs each', () => {
  const keys = ['a', 'b', 'c'];

  it('C36.1: are in proportion to the weights under steady load', () => {
    const begun = new Pool().run(keys.flatMap((key) => flood(key, share(weights[key] ?? 1), () => 1)));
    expectShares(sharesIn(begun, keys, 0, backlogEnd(begun, keys)), keys);
  });

  it('C36.1: are in proportion to the weights when jobs come in bursts', () => {
    const random = randomOf(1);
    const bursts = keys.flatMap((key) =>
      Array.from({ length: 20 }, (_, burst) =>
        flood(key, share(weights[key] ?? 1) / 20, () => 0.5 + random(), burst * 100 * random()),
      ).flat(),
    );
    const begun = new Pool().run(bursts);
    const from = 100;
    expectShares(sharesIn(begun, keys, from, Math.min(backlogEnd(begun, keys), 1_500)), keys);
  });

  it('C36.2: a key that sends little beside a flood waits no longer than for two slots', () => {
    const random = randomOf(2);
    const trickle = Array.from({ length: 1_000 }, (_, n) => ({ key: 'b', at: 1 + n * 2, seconds: 0.5 }));
    const begun = new Pool().run([
      ...flood('a', 4_000, () => 0.5 + random()),
      ...flood('c', 15_000, () => 0.5 + random()),
      ...trickle,
    ]);
    expect(longestWait(begun, 'b')).toBeLessThan(1.5);
    expectShares(sharesIn(begun, ['a', 'c'], 0, backlogEnd(begun, ['a', 'c'])), ['a', 'c']);
  });

  it('C36.2: 95 of 100 jobs of a few beside a flood wait at most twice as long as alone, whenever they come', () => {
    const [seconds, long] = [0.4, { key: 'd', at: 0, seconds: 500 }];
    const few = (at: number) => flood('e', 20, () => seconds, at);
    const alone = p95Wait(new Pool().run(few(0)), 'e');
    for (let at = 20.01; at < 20 + seconds; at += 0.01) {
      const begun = new Pool().run([...flood('d', 2_000, () => seconds), long, ...few(at)]);
      expect(p95Wait(begun, 'e'), `from ${at}`).toBeLessThanOrEqual(2 * alone);
    }
  });

  it('C36.1: are in proportion to the weights when jobs take 1 to 1,000 seconds', () => {
    const random = randomOf(3);
    const seconds = () => 1_000 ** random();
    const begun = new Pool().run(keys.flatMap((key) => flood(key, share(weights[key] ?? 1), seconds)));
    expectShares(sharesIn(begun, keys, 0, backlogEnd(begun, keys)), keys);
  });

  it('C36.1: long jobs of one key and short ones of another are shared by time', () => {
    const begun = new Pool().run([...flood('a', 100, () => 1_000), ...flood('c', 10_000, () => 10)]);
    expectShares(sharesIn(begun, ['a', 'c'], 0, backlogEnd(begun, ['a', 'c'])), ['a', 'c']);
  });

  it('C36.3: a key that comes back has its share from then on, and nothing of what it left to others', () => {
    const random = randomOf(4);
    const seconds = () => 0.5 + random();
    const comeAndGo = [0, 1_000, 2_000].flatMap((at) => flood('c', 1_500, seconds, at));
    const begun = new Pool().run([...flood('a', 5_000, seconds), ...flood('b', 10_500, seconds), ...comeAndGo]);
    for (const at of [0, 1_000, 2_000]) expectShares(sharesIn(begun, keys, at + 10, at + 250), keys);
    // In between, the others have it all.
    expectShares(sharesIn(begun, ['a', 'b'], 600, 990), ['a', 'b']);
  });
});

const waiting = (...keys: string[]): WaitingKey[] =>
  keys.map((key) => ({ key, weight: weights[key] ?? 1, isBackground: false }));
const keysOf = (order: readonly WaitingKey[]) => order.map(({ key }) => key);

/** The turns once d begins to wait beside running jobs of a. */
function joinedBeside(running: readonly Taken[]): Turns {
  const { turns } = takeTurns(noTurns, { waiting: waiting('a'), running, ended: [] });
  return takeTurns(turns, { waiting: waiting('a', 'd'), running, ended: [] }).turns;
}

function afterEnds(turns: Turns, ended: readonly Taken[]): string[] {
  return keysOf(takeTurns(turns, { waiting: waiting('a', 'd'), running: [], ended }).order);
}

describe('the order of turns', () => {
  it('C36.4: reruns of rollouts come after every other job, by turns among themselves', () => {
    const [a, ...others] = waiting('a', 'b', 'c') as [WaitingKey, WaitingKey, WaitingKey];
    const look = { running: [takenBy('b', 5)], ended: [] };
    const { order } = takeTurns(noTurns, {
      ...look,
      waiting: [...others.map((one) => ({ ...one, isBackground: true })), a],
    });
    expect(keysOf(order)).toEqual(['a', 'c', 'b']);
  });

  it('C36.1: an attempt counts with what was measured of it once it has ended', () => {
    const first = takeTurns(noTurns, { waiting: waiting('a', 'b'), running: [takenBy('a', 100)], ended: [] });
    expect(keysOf(first.order)).toEqual(['b', 'a']);
    const { order } = takeTurns(first.turns, {
      waiting: waiting('a', 'b'),
      running: [],
      ended: [takenBy('a', 1), takenBy('b', 8)],
    });
    expect(keysOf(order)).toEqual(['a', 'b']);
  });

  it('C36.2: a key that begins to wait is level with running jobs as they began, a second before now at most', () => {
    const brief = Array.from({ length: 8 }, () => takenBy('a', 0.1));
    expect(afterEnds(joinedBeside(brief), [...brief, takenBy('d', 0.7)])).toEqual(['d', 'a']);
    expect(afterEnds(joinedBeside(brief), [...brief, takenBy('d', 0.9)])).toEqual(['a', 'd']);
    const long = [takenBy('a', 100)];
    expect(afterEnds(joinedBeside(long), [...long, takenBy('d', 0.9)])).toEqual(['d', 'a']);
    expect(afterEnds(joinedBeside(long), [...long, takenBy('d', 1.1)])).toEqual(['a', 'd']);
  });

  it('C36.2: slots that are free at once go to different keys, by what attempts took lately', () => {
    const ended = Array.from({ length: 40 }, () => takenBy('a', 0.1));
    const { turns } = takeTurns(noTurns, { waiting: waiting('a', 'd'), running: [], ended });
    // d is four seconds behind: forty jobs that take a tenth of one.
    const next = (running: number) => {
      const look = {
        waiting: waiting('a', 'd'),
        ended: [],
        running: Array.from({ length: running }, () => takenBy('d', 0)),
      };
      return keysOf(takeTurns(turns, look).order)[0];
    };
    expect([next(0), next(30), next(50)]).toEqual(['d', 'd', 'a']);
  });

  it('C36.3: a key gains nothing from the time in which it had reruns alone', () => {
    const reruns = { key: 'a', weight: 1, isBackground: true };
    let { turns } = takeTurns(noTurns, { waiting: [reruns, ...waiting('b')], running: [], ended: [] });
    ({ turns } = takeTurns(turns, { waiting: [reruns, ...waiting('b')], running: [], ended: [takenBy('b', 100)] }));
    const { order } = takeTurns(turns, { waiting: waiting('a', 'b', 'c'), running: [takenBy('a', 2)], ended: [] });
    expect(keysOf(order)).toEqual(['b', 'c', 'a']);
  });

  it('keys that are neither ahead nor waiting are forgotten', () => {
    let { turns } = takeTurns(noTurns, { waiting: waiting('a', 'b'), running: [], ended: [takenBy('a', 5)] });
    ({ turns } = takeTurns(turns, { waiting: waiting('b'), running: [], ended: [takenBy('b', 4)] }));
    expect([...turns.tags.keys()].toSorted()).toEqual(['a', 'b']);
    ({ turns } = takeTurns(turns, { waiting: waiting('b'), running: [], ended: [takenBy('b', 10)] }));
    expect([...turns.tags.keys()]).toEqual(['b']);
  });
});

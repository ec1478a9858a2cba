import { describe, expect, it } from 'vitest';
import { Receivers, requestsMax } from './receivers.ts';

const names = (count: number, of: string) => Array.from({ length: count }, (_, n) => `${of}-${n}.example`);

/** Begins what the hosts are allotted; returns how many requests each got. */
function beginAll(receivers: Receivers, hosts: readonly string[], nowMs = 0): Map<string, number> {
  const allotted = receivers.allot(hosts, nowMs);
  for (const [host, count] of allotted) for (let n = 0; n < count; n++) receivers.begin(host);
  return allotted;
}

const answer = (receivers: Receivers, host: string, durationMs = 20) => {
  receivers.begin(host);
  receivers.end({ host, isAnswered: true, durationMs, nowMs: 0 });
};
const fail = (receivers: Receivers, host: string, nowMs = 0) => {
  receivers.begin(host);
  receivers.end({ host, isAnswered: false, durationMs: 10_000, nowMs });
};
const sum = (allotted: ReadonlyMap<string, number>) => [...allotted.values()].reduce((all, count) => all + count, 0);

describe('the requests of the webhook sender', () => {
  it('a host gets two requests at once until it has answered, then four', () => {
    const receivers = new Receivers();
    expect(receivers.allot(['a'], 0)).toEqual(new Map([['a', 2]]));
    answer(receivers, 'a');
    expect(receivers.allot(['a'], 0)).toEqual(new Map([['a', 4]]));
    expect(beginAll(receivers, ['a'])).toEqual(new Map([['a', 4]]));
    expect(receivers.allot(['a'], 0)).toEqual(new Map());
  });

  it('C21.17: however many hosts hang, a quarter of the requests is left to hosts that answer', () => {
    const receivers = new Receivers();
    answer(receivers, 'good');
    expect(sum(beginAll(receivers, names(500, 'new')))).toBe((requestsMax * 3) / 4);
    expect(receivers.allot(['good'], 0)).toEqual(new Map([['good', 4]]));
  });

  it('C21.17: hosts that failed get a quarter of the requests, so hosts of which nothing is known get theirs', () => {
    const receivers = new Receivers();
    const hanging = names(500, 'hanging');
    for (const host of hanging) fail(receivers, host);
    expect(sum(beginAll(receivers, hanging, 5_000))).toBe(requestsMax / 4);
    expect(receivers.allot(['new'], 5_000)).toEqual(new Map([['new', 2]]));
  });

  it('a host that does not answer backs off as a whole, longer with each attempt, until it answers', () => {
    const receivers = new Receivers();
    fail(receivers, 'a', 0);
    expect(receivers.allot(['a'], 999).size).toBe(0);
    expect(receivers.allot(['a'], 1_000)).toEqual(new Map([['a', 1]]));
    fail(receivers, 'a', 1_000);
    expect(receivers.allot(['a'], 2_999).size).toBe(0);
    for (let n = 0; n < 60; n++) fail(receivers, 'a', 3_000);
    expect(receivers.allot(['a'], 62_999).size).toBe(0);
    expect(receivers.allot(['a'], 63_000)).toEqual(new Map([['a', 1]]));
    answer(receivers, 'a');
    expect(receivers.allot(['a'], 63_000)).toEqual(new Map([['a', 4]]));
  });

  it('the register of receivers says for how long a host has not answered any attempt', () => {
    const receivers = new Receivers();
    const end = (isAnswered: boolean, nowMs: number) => {
      receivers.begin('a');
      return receivers.end({ host: 'a', isAnswered, durationMs: 10, nowMs });
    };
    expect([end(false, 100), end(false, 350), end(true, 400), end(false, 900)]).toEqual([0, 250, null, 0]);
  });

  it('a host that takes seconds to answer gets one request at once, without a pause', () => {
    const receivers = new Receivers();
    answer(receivers, 'slow', 6_000);
    expect(beginAll(receivers, ['slow'])).toEqual(new Map([['slow', 1]]));
    expect(receivers.allot(['slow'], 0).size).toBe(0);
  });

  it.each([
    [4_999, 4],
    [5_000, 1],
  ])('a host that answered after %i ms gets %i requests at once', (durationMs, count) => {
    const receivers = new Receivers();
    answer(receivers, 'a', durationMs);
    expect(receivers.allot(['a'], 0)).toEqual(new Map([['a', count]]));
  });

  it('of more than 10 000 hosts the one that was heard of longest ago is unknown again, unless it is asked', () => {
    const receivers = new Receivers();
    const hosts = names(10_000, 'host');
    for (const host of hosts) answer(receivers, host);
    expect(receivers.allot(['host-0.example'], 0)).toEqual(new Map([['host-0.example', 4]]));
    receivers.begin('host-0.example');
    answer(receivers, 'one more');
    expect(receivers.allot(['host-0.example'], 0)).toEqual(new Map([['host-0.example', 3]]));
    expect(receivers.allot(['host-1.example'], 0)).toEqual(new Map([['host-1.example', 2]]));
    expect(receivers.allot(['host-2.example'], 0)).toEqual(new Map([['host-2.example', 4]]));
    // An answer makes the second the newest, so the third is the one to forget.
    answer(receivers, 'host-2.example');
    answer(receivers, 'another more');
    expect(receivers.allot(['host-2.example'], 0)).toEqual(new Map([['host-2.example', 4]]));
    expect(receivers.allot(['host-3.example'], 0)).toEqual(new Map([['host-3.example', 2]]));
  });
});

/**
 * The sender over the hosts that are due: it looks at 1,000 hosts in the order of their names every half second, and an
 * attempt ends after ten seconds. Returns when the host that is asked about was tried first, in milliseconds.
 */
function firstTryOf(wanted: string, hanging: readonly string[], receivers = new Receivers()): number | null {
  const due = [...hanging, wanted].toSorted();
  let underWay: { host: string; untilMs: number }[] = [];
  let from = 0;
  for (let nowMs = 0; nowMs < 3_600_000; nowMs += 500) {
    const ended = underWay.filter(({ untilMs }) => untilMs <= nowMs);
    underWay = underWay.filter(({ untilMs }) => untilMs > nowMs);
    for (const { host } of ended) receivers.end({ host, isAnswered: false, durationMs: 10_000, nowMs });
    const allotted = beginAll(receivers, due.slice(from, from + 1000), nowMs);
    if (allotted.has(wanted)) return nowMs;
    for (const [host, count] of allotted)
      for (let n = 0; n < count; n++) underWay.push({ host, untilMs: nowMs + 10_000 });
    from = from + 1000 < due.length ? from + 1000 : 0;
  }
  return null;
}

describe('a receiver of which nothing is known', () => {
  it('C21.26: is tried within seconds beside thousands of hosts of another owner that hang', () => {
    const ofOneOwner = Array.from({ length: 5000 }, (_, n) => `n${n}.hanging.example`);
    expect(firstTryOf('hooks.zoo.example', ofOneOwner)).toBeLessThan(5000);
    const addresses = Array.from({ length: 5000 }, (_, n) => `10.${n % 250}.${Math.floor(n / 250)}.1:8080`);
    expect(firstTryOf('hooks.zoo.example', addresses)).toBeLessThan(5000);
  });

  it('C21.26: is tried next when the places are taken by hosts of sites that have others', () => {
    const receivers = new Receivers();
    const sites = Array.from({ length: 200 }, (_, n) => `n${n}.hanging-${n % 4}.example`);
    expect(sum(beginAll(receivers, sites))).toBe((requestsMax * 3) / 4);
    const [host = ''] = sites;
    receivers.end({ host, isAnswered: false, durationMs: 10_000, nowMs: 10_000 });
    expect(receivers.allot([...sites.slice(1), 'hooks.zoo.example'], 10_000).get('hooks.zoo.example')).toBe(1);
  });

  it('C21.26: is tried at once when the hosts that hang are known from before the start', () => {
    const hanging = names(5000, 'hanging');
    const receivers = new Receivers();
    for (const host of hanging) receivers.learn(host, { isAnswered: false, durationMs: 10_000 });
    expect(firstTryOf('zoo.example', hanging, receivers)).toBeLessThan(5000);
  });
});

describe('what was learned of receivers', () => {
  it('is bounded, and what was heard of longest ago is forgotten', () => {
    const receivers = new Receivers();
    for (const host of names(12_000, 'host')) receivers.learn(host, { isAnswered: true, durationMs: 1 });
    expect(receivers.size).toBe(10_000);
    expect(receivers.allot(['host-0.example', 'host-11999.example'], 0)).toEqual(
      new Map([
        ['host-0.example', 2],
        ['host-11999.example', 4],
      ]),
    );
  });
});

import { delayAfter } from '../backoff.ts';

/*
 * Who gets the sender's requests. A host (with its port) is one receiver, in a state by its last attempt:
 *
 * - answering: it answered within seconds. Up to four requests at once.
 * - unknown: nothing was sent to it lately. Two at once; unknown and failing hosts together leave a quarter of all
 *   requests to answering ones, and the hosts of one site leave a quarter of it to others.
 * - failing: it did not answer, or took long. One at once, after a pause that doubles with each unanswered attempt; all
 *   failing hosts together get a quarter of the requests.
 *
 * A site is what one owner names: names of hosts cost nothing below a domain, so sites take turns, and not hosts. No
 * row says who submitted a job. An attempt at an unknown host is no shorter than others: a slow receiver would get its
 * events twice.
 *
 * So neither many receivers that hang nor many events of one of them delay the others.
 */

/** The most requests at once, of this process. */
export const requestsMax = 64;
const perHostMax = { answering: 4, unknown: 2, failing: 1 } as const;
const failingMax = requestsMax / 4;
const notAnsweringMax = (requestsMax * 3) / 4;
const siteMax = (notAnsweringMax * 3) / 4;
/** An answer that takes longer holds up a request as a receiver does that hangs. */
const slowMs = 5_000;
const pause = { baseMs: 1_000, maxMs: 60_000 };
/** The number of hosts that are remembered; beyond it the least recently used are forgotten. */
const hostsMax = 10_000;

type Standing = keyof typeof perHostMax;

interface Receiver {
  readonly standing: Standing;
  readonly requests: number;
  /** Attempts without an answer in a row. */
  readonly failures: number;
  readonly pausedUntilMs: number;
  /** When the first of these attempts ended; null without one. */
  readonly failingSinceMs: number | null;
}

/** An attempt that ended. */
interface EndedRequest {
  readonly host: string;
  readonly isAnswered: boolean;
  readonly durationMs: number;
  readonly nowMs: number;
}

const stranger: Receiver = { standing: 'unknown', requests: 0, failures: 0, pausedUntilMs: 0, failingSinceMs: null };

/** The receivers of one sender; the caller brings the time, in milliseconds. */
export class Receivers {
  readonly #receivers = new Map<string, Receiver>();

  /** How many requests each of these hosts gets now; the first of them first. Hosts that get none are left out. */
  allot(hosts: Iterable<string>, nowMs: number): Map<string, number> {
    const used: Record<Standing, number> = { answering: 0, unknown: 0, failing: 0 };
    const usedBySite = new Map<string, number>();
    for (const [host, { standing, requests }] of this.#receivers) {
      used[standing] += requests;
      if (standing === 'unknown') addTo(usedBySite, siteOf(host), requests);
    }
    const allotted = new Map<string, number>();
    for (const host of this.#inTurns(hosts, usedBySite)) {
      const { standing, requests, pausedUntilMs } = this.#of(host);
      const free = requestsMax - used.answering - used.unknown - used.failing;
      const notAnsweringFree = notAnsweringMax - used.unknown - used.failing;
      const bounds = [perHostMax[standing] - requests, free];
      if (standing !== 'answering') bounds.push(notAnsweringFree);
      if (standing === 'unknown') bounds.push(siteMax - (usedBySite.get(siteOf(host)) ?? 0));
      if (standing === 'failing') bounds.push(nowMs < pausedUntilMs ? 0 : failingMax - used.failing);
      const count = Math.min(...bounds);
      if (count <= 0) continue;
      allotted.set(host, count);
      used[standing] += count;
      if (standing === 'unknown') addTo(usedBySite, siteOf(host), count);
    }
    return allotted;
  }

  /** Records how a host did in an earlier attempt, as when the sender starts; later attempts count for more. */
  learn(host: string, { isAnswered, durationMs }: Pick<EndedRequest, 'isAnswered' | 'durationMs'>): void {
    if (this.#receivers.has(host)) return;
    this.#receivers.set(host, { ...stranger, standing: isAnswered && durationMs < slowMs ? 'answering' : 'failing' });
    this.#forgetOldest();
  }

  /** How many hosts are remembered. */
  get size(): number {
    return this.#receivers.size;
  }

  /** The unknown hosts of a site go behind hosts of sites that have fewer requests; all else keeps its order. */
  #inTurns(hosts: Iterable<string>, usedBySite: ReadonlyMap<string, number>): string[] {
    const turns = new Map<string, number>();
    return [...hosts]
      .map((host) => {
        if (this.#of(host).standing !== 'unknown') return { host, turn: 0 };
        const site = siteOf(host);
        addTo(turns, site, 1);
        return { host, turn: (turns.get(site) ?? 0) - 1 + (usedBySite.get(site) ?? 0) };
      })
      .toSorted((one, other) => one.turn - other.turn)
      .map(({ host }) => host);
  }

  begin(host: string): void {
    const receiver = this.#of(host);
    this.#receivers.set(host, { ...receiver, requests: receiver.requests + 1 });
  }

  /** Returns for how long the host has not answered any attempt; null when it answered this one. */
  end({ host, isAnswered, durationMs, nowMs }: EndedRequest): number | null {
    const receiver = this.#of(host);
    const failures = isAnswered ? 0 : receiver.failures + 1;
    const failingSinceMs = isAnswered ? null : (receiver.failingSinceMs ?? nowMs);
    // Hosts are in the order in which they were heard of.
    this.#receivers.delete(host);
    this.#receivers.set(host, {
      standing: isAnswered && durationMs < slowMs ? 'answering' : 'failing',
      requests: receiver.requests - 1,
      failures,
      pausedUntilMs: isAnswered ? 0 : nowMs + delayAfter(failures, pause),
      failingSinceMs,
    });
    this.#forgetOldest();
    return failingSinceMs === null ? null : nowMs - failingSinceMs;
  }

  #of(host: string): Receiver {
    return this.#receivers.get(host) ?? stranger;
  }

  #forgetOldest(): void {
    if (this.#receivers.size <= hostsMax) return;
    for (const [host, { requests }] of this.#receivers) {
      if (requests > 0) continue;
      this.#receivers.delete(host);
      return;
    }
  }
}

function addTo(counts: Map<string, number>, key: string, count: number): void {
  counts.set(key, (counts.get(key) ?? 0) + count);
}

/**
 * The last two labels of a host's name. Some suffixes have two themselves, whose domains then take turns as one. All
 * addresses are one site: who holds a block of them has more than there are domains.
 */
function siteOf(host: string): string {
  const name = host.replace(/:\d*$/, '');
  if (name.startsWith('[') || /^[\d.]+$/.test(name)) return 'address';
  return /[^.]+\.[^.]+\.?$/.exec(name)?.[0] ?? name;
}

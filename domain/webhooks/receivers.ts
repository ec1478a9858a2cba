import { delayAfter } from '../backoff.ts';

/*
 * Who gets the sender's requests. A host (with its port) is one receiver, in a state by its last attempt:
 *
 * - answering: it answered within seconds. Up to four requests at once.
 * - unknown: nothing was sent to it lately. Two at once; unknown and failing hosts together leave a quarter of all
 *   requests to answering ones.
 * - failing: it did not answer, or took long. One at once, after a pause that doubles with each unanswered attempt; all
 *   failing hosts together get a quarter of the requests.
 *
 * So neither many receivers that hang nor many events of one of them delay the others.
 */

/** The most requests at once, of this process. */
export const requestsMax = 64;
const perHostMax = { answering: 4, unknown: 2, failing: 1 } as const;
const failingMax = requestsMax / 4;
const notAnsweringMax = (requestsMax * 3) / 4;
/** An answer that takes longer holds up a request as a receiver does that hangs. */
const slowMs = 5_000;
const pause = { baseMs: 1_000, maxMs: 60_000 };
/** Of more hosts than this, those that were heard of longest ago are unknown again. */
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
    for (const { standing, requests } of this.#receivers.values()) used[standing] += requests;
    const allotted = new Map<string, number>();
    for (const host of hosts) {
      const { standing, requests, pausedUntilMs } = this.#of(host);
      const free = requestsMax - used.answering - used.unknown - used.failing;
      const notAnsweringFree = notAnsweringMax - used.unknown - used.failing;
      const bounds = [perHostMax[standing] - requests, free];
      if (standing !== 'answering') bounds.push(notAnsweringFree);
      if (standing === 'failing') bounds.push(nowMs < pausedUntilMs ? 0 : failingMax - used.failing);
      const count = Math.min(...bounds);
      if (count <= 0) continue;
      allotted.set(host, count);
      used[standing] += count;
    }
    return allotted;
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
    const [host] = [...this.#receivers].find(([, { requests }]) => requests === 0) ?? [];
    if (host !== undefined) this.#receivers.delete(host);
  }
}

import type { Component } from '../lifecycle/component.ts';
import type { KubeClient } from './client.ts';
import { type Clock, monotonicClock, sleep } from './clock.ts';
import { LeaseRecord } from './lease-record.ts';
import type { Log } from './log.ts';

// One leader among several processes, by a Lease of coordination.k8s.io.
//
//   standby ──the lease is free, or its holder has not renewed it for its whole term──▶ leader
//   leader ──another process holds it, or no renewal succeeded within the deadline──▶ lost ──after onStopped──▶ standby
//   leader ──stop()──▶ onStopped, then the lease is given back ──▶ ended
//
// Times are measured on this machine's monotonic clock alone: a standby counts from when it observed the last renewal,
// and a leader counts its deadline from before it sent the last successful renewal. The deadline is shorter than the
// term, so a leader has stopped before another may begin. A leader that was paused checks the clock before each write
// (`term.guard`). Safety does not depend on the lease: names are deterministic, and resource versions and SQL guard
// writes.

/** One period of leadership. */
export interface LeaderTerm {
  /** Aborted when the term ends: because of `stop()`, or because the lease was lost. */
  readonly signal: AbortSignal;
  /** Whether the lease is certainly valid at this moment, by the clock and not by a timer. */
  isHeld(): boolean;
  /** Throws `NotLeader` unless `isHeld()`. For `KubeClient.guardedBy`. */
  readonly guard: () => void;
}

/** A process that is no longer the leader tried to write. */
export class NotLeader extends Error {
  override readonly name = 'NotLeader';
}

/** The settings of an elector; times in milliseconds. */
export interface LeaderElectorOptions {
  client: KubeClient;
  namespace: string;
  /** The name of the Lease. */
  name: string;
  /** The name of this process: unique, also after a restart. */
  identity: string;
  /**
   * Called when this process becomes the leader; if it throws, the lease is given back. It starts the work and returns.
   */
  onStarted: (term: LeaderTerm) => Promise<void> | void;
  /** Called after each term; once it resolves, the lease is given back or sought again. */
  onStopped: () => Promise<void> | void;
  log: Log;
  /** How long the others wait after the last renewal (15 s). Whole seconds, as the Lease holds it. */
  termMs?: number;
  /** How long a leader continues without a successful renewal (10 s). */
  deadlineMs?: number;
  /** How often a leader renews (5 s). */
  renewEveryMs?: number;
  /** How often a standby checks, and a leader retries a failed renewal (2 s, ±20 %). */
  retryEveryMs?: number;
  clock?: Clock;
  random?: () => number;
}

interface Term {
  /** On our clock, before the last successful renewal was sent. */
  renewedMs: number;
  readonly ending: AbortController;
  cancelDeadline: () => void;
}

/** Acquires and renews the lease, and reports when it is held. */
export class LeaderElector implements Component {
  readonly name: string;
  readonly #options: Required<LeaderElectorOptions>;
  readonly #lease: LeaseRecord;
  readonly #stopping = new AbortController();
  #loop: Promise<void> | undefined;
  #term: Term | undefined;

  constructor(options: LeaderElectorOptions) {
    this.name = `elector of ${options.namespace}/${options.name}`;
    this.#options = {
      termMs: 15_000,
      deadlineMs: 10_000,
      renewEveryMs: 5000,
      retryEveryMs: 2000,
      clock: monotonicClock,
      random: Math.random,
      ...options,
    };
    const { termMs, deadlineMs, renewEveryMs } = this.#options;
    if (deadlineMs >= termMs || renewEveryMs >= deadlineMs || termMs % 1000 !== 0) {
      throw new RangeError('a lease needs renewEveryMs < deadlineMs < termMs, and a term of whole seconds');
    }
    this.#lease = new LeaseRecord(this.#options);
  }

  /** Whether this process is certainly the leader at this moment. */
  get isLeader(): boolean {
    return this.#term !== undefined && this.#isWithinDeadline(this.#term);
  }

  /** Begins to seek the lease and returns at once. A second call is a mistake of the caller and throws. */
  async start(): Promise<void> {
    if (this.#loop) throw new Error(`the ${this.name} was started before`);
    this.#loop = this.#run(this.#stopping.signal);
  }

  /**
   * Ends the term, if there is one, waits for `onStopped`, and gives the lease back, so that no other process waits.
   */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error(`the ${this.name} was stopped`));
    await this.#loop;
  }

  async #run(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      const sentMs = this.#options.clock.nowMs();
      const isTaken = await this.#logged(() => this.#lease.tryTake(stopping), 'take the lease');
      if (isTaken === true) await this.#lead(sentMs, stopping);
      else await this.#pause(this.#options.retryEveryMs, stopping);
    }
  }

  async #lead(renewedMs: number, stopping: AbortSignal): Promise<void> {
    const { onStarted, onStopped, log, name, identity } = this.#options;
    const term: Term = { renewedMs, ending: new AbortController(), cancelDeadline: () => {} };
    const stop = () => term.ending.abort(stopping.reason);
    stopping.addEventListener('abort', stop, { once: true });
    if (stopping.aborted) stop();
    this.#term = term;
    // The lease is renewed until `onStopped` resolves, so that no other process begins before.
    const hasStopped = new AbortController();
    const renewing = this.#keepRenewing(term, hasStopped.signal);
    try {
      if (!term.ending.signal.aborted) await onStarted(this.#termOf(term));
      await aborted(term.ending.signal);
    } catch (error) {
      log.error({ err: error, lease: name, identity }, 'leader could not start and steps down');
      term.ending.abort(error);
    }
    await this.#logged(async () => onStopped(), 'stop leading');
    hasStopped.abort();
    await renewing;
    term.cancelDeadline();
    stopping.removeEventListener('abort', stop);
    this.#term = undefined;
    if (!this.#isWithinDeadline(term)) return;
    await this.#logged(() => this.#lease.release(AbortSignal.timeout(5000)), 'release the lease');
  }

  // Renews until `until` aborts or the lease is lost; it never throws.
  async #keepRenewing(term: Term, until: AbortSignal): Promise<void> {
    const { clock, deadlineMs, renewEveryMs, retryEveryMs, log, name, identity } = this.#options;
    const lose = (reason: string) => {
      term.renewedMs = -Infinity;
      if (!until.aborted) log.warn({ lease: name, identity, reason }, 'leader lease lost');
      term.ending.abort(new NotLeader(`the lease ${name} was lost: ${reason}`));
    };
    const checkDeadline = () => {
      const leftMs = term.renewedMs + deadlineMs - clock.nowMs();
      if (leftMs <= 0) lose('no renewal succeeded in time');
      else term.cancelDeadline = clock.after(leftMs, checkDeadline);
    };
    checkDeadline();
    await this.#pause(renewEveryMs, until);
    while (!until.aborted && this.#isWithinDeadline(term)) {
      const outcome = await this.#logged(() => this.#renew(term), 'renew the lease');
      if (outcome === 'taken') lose('another process holds it');
      await this.#pause(outcome === 'renewed' ? renewEveryMs : retryEveryMs, until);
    }
  }

  async #renew(term: Term): Promise<'renewed' | 'taken'> {
    const { clock, deadlineMs } = this.#options;
    const sentMs = clock.nowMs();
    // Half of the rest, so that a dead connection is given up in time for another try over a new one.
    const timeoutMs = Math.max(1, Math.ceil((term.renewedMs + deadlineMs - sentMs) / 2));
    const outcome = await this.#lease.renew(AbortSignal.timeout(timeoutMs));
    if (outcome === 'renewed') term.renewedMs = sentMs;
    return outcome;
  }

  #termOf(term: Term): LeaderTerm {
    const isHeld = () => this.#term === term && this.#isWithinDeadline(term);
    return {
      signal: term.ending.signal,
      isHeld,
      guard: () => {
        if (!isHeld()) throw new NotLeader(`the lease ${this.#options.name} is not held`);
      },
    };
  }

  #isWithinDeadline(term: Term): boolean {
    return this.#options.clock.nowMs() < term.renewedMs + this.#options.deadlineMs;
  }

  #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    return sleep(clock, delayMs * (0.8 + 0.4 * random()), signal);
  }

  /** Does one step of the election; an error is logged. */
  async #logged<R>(work: () => Promise<R>, step: string): Promise<R | undefined> {
    try {
      return await work();
    } catch (error) {
      const { log, name, identity } = this.#options;
      if (!this.#stopping.signal.aborted)
        log.warn({ err: error, lease: name, identity, step }, 'leader election step failed');
      return undefined;
    }
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

import type { Component } from '../lifecycle/component.ts';
import type { KubeClient } from './client.ts';
import { type Clock, monotonicClock, sleep } from './clock.ts';
import { hasReason } from './errors.ts';
import type { Log } from './log.ts';
import { leases } from './objects.ts';

// One leader among several, by a Lease of coordination.k8s.io.
//
//   standby ──the lease is free, or its holder has not renewed it for its whole term──▶ leader
//   leader ──another holds it, or no renewal came through within the deadline──▶ lost ──after onStopped──▶ standby
//   leader ──stop()──▶ onStopped, then the lease is given back ──▶ ended
//
// Each write carries the resource version that was read, so of two that take a free lease one gets a Conflict. Times are
// judged on this machine's monotonic clock alone: a standby counts a holder's silence from when it saw the last renewal
// itself, and a leader counts its deadline from before it sent the last renewal that came through. As the deadline is
// shorter than the term, a leader has given up before another may begin, unless it was paused; so it looks at the clock
// again before each write (`term.guard`). What slips through even then meets deterministic names, resource versions and
// guarded SQL: safety does not rest on the lease.

/** One time of being leader. */
export interface LeaderTerm {
  /** Aborted when the term ends: because of `stop()`, or because the lease was lost. */
  readonly signal: AbortSignal;
  /** Whether the lease is surely still ours at this moment; by the clock, without waiting for any timer. */
  isHeld(): boolean;
  /** Throws `NotLeader` unless `isHeld()`. For `KubeClient.guardedBy`. */
  readonly guard: () => void;
}

/** A write was about to be made by one who leads no more. */
export class NotLeader extends Error {
  override readonly name = 'NotLeader';
}

/** How an elector behaves; times in milliseconds. */
export interface LeaderElectorOptions {
  client: KubeClient;
  namespace: string;
  /** The name of the Lease. */
  name: string;
  /** Who this is: unique for each process, also after a restart. */
  identity: string;
  /** Called when this becomes the leader; what it throws gives the lease back. It should begin the work, not do it. */
  onStarted: (term: LeaderTerm) => Promise<void> | void;
  /** Called after each term; the lease is given back, or sought again, when it has resolved. */
  onStopped: () => Promise<void> | void;
  log: Log;
  /** How long the others wait after the last renewal (15 s). Whole seconds, as the Lease holds it. */
  termMs?: number;
  /** How long a leader goes on without a renewal coming through (10 s). */
  deadlineMs?: number;
  /** How often a leader renews (5 s). */
  renewEveryMs?: number;
  /** How often a standby looks, and a leader tries again after a failed renewal (2 s, ±20 %). */
  retryEveryMs?: number;
  clock?: Clock;
  random?: () => number;
}

interface ObservedLease {
  resourceVersion: string;
  holder: string;
  transitions: number;
  termMs: number;
  /** When this version of the lease was first seen, on our clock. */
  seenMs: number;
}

interface Held {
  /** On our clock, before the last renewal that came through was sent. */
  renewedMs: number;
  readonly ending: AbortController;
  cancelDeadline: () => void;
}

/** Seeks the lease, keeps it, and says when it is ours. */
export class LeaderElector implements Component {
  readonly name: string;
  readonly #options: Required<LeaderElectorOptions>;
  readonly #stopping = new AbortController();
  #loop: Promise<void> | undefined;
  #sight: ObservedLease | undefined;
  #held: Held | undefined;

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
  }

  /** Whether this is surely the leader at this moment. */
  get isLeader(): boolean {
    return this.#held !== undefined && this.#isWithinDeadline(this.#held);
  }

  /** Begins to seek the lease; it does not wait for it. Twice is a mistake of the caller and throws. */
  async start(): Promise<void> {
    if (this.#loop) throw new Error(`the ${this.name} was started before`);
    this.#loop = this.#run(this.#stopping.signal);
  }

  /** Ends the term, if there is one, waits for `onStopped`, and gives the lease back, so that another need not wait. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error(`the ${this.name} was stopped`));
    await this.#loop;
  }

  async #run(stopping: AbortSignal): Promise<void> {
    while (!stopping.aborted) {
      const held = await this.#trySafely(() => this.#seek(stopping), 'the lease could not be sought');
      if (held) await this.#lead(held, stopping);
      else await this.#pause(this.#options.retryEveryMs, stopping);
    }
  }

  async #lead(held: Held, stopping: AbortSignal): Promise<void> {
    const { onStarted, onStopped, log, name, identity } = this.#options;
    const stop = () => held.ending.abort(stopping.reason);
    stopping.addEventListener('abort', stop, { once: true });
    if (stopping.aborted) stop();
    this.#held = held;
    // The lease is renewed on while the work winds down, so that nobody else begins before it has.
    const windingDown = new AbortController();
    const renewing = this.#keep(held, windingDown.signal);
    try {
      if (!held.ending.signal.aborted) await onStarted(this.#termOf(held));
      await aborted(held.ending.signal);
    } catch (error) {
      log.error({ err: error, lease: name, identity }, 'the leader could not begin its work and steps down');
      held.ending.abort(error);
    }
    await this.#trySafely(async () => onStopped(), 'the leader did not end its work cleanly');
    windingDown.abort();
    await renewing;
    held.cancelDeadline();
    stopping.removeEventListener('abort', stop);
    this.#held = undefined;
    if (this.#isWithinDeadline(held)) await this.#trySafely(() => this.#release(), 'the lease was not given back');
  }

  // Renews until the work has wound down or the lease is lost; it never throws.
  async #keep(held: Held, until: AbortSignal): Promise<void> {
    const { clock, deadlineMs, renewEveryMs, retryEveryMs, log, name, identity } = this.#options;
    const lose = (why: string) => {
      held.renewedMs = -Infinity;
      if (!until.aborted) log.warn({ lease: name, identity }, `the lease is lost: ${why}`);
      held.ending.abort(new NotLeader(`the lease ${name} was lost: ${why}`));
    };
    const watchDeadline = () => {
      const leftMs = held.renewedMs + deadlineMs - clock.nowMs();
      if (leftMs <= 0) lose('no renewal came through in time');
      else held.cancelDeadline = clock.after(leftMs, watchDeadline);
    };
    watchDeadline();
    await this.#pause(renewEveryMs, until);
    while (!until.aborted && this.#isWithinDeadline(held)) {
      const outcome = await this.#trySafely(() => this.#renew(held), 'the lease could not be renewed');
      if (outcome === 'taken') lose('another holds it');
      await this.#pause(outcome === 'renewed' ? renewEveryMs : retryEveryMs, until);
    }
  }

  async #renew(held: Held): Promise<'renewed' | 'taken'> {
    const { clock, deadlineMs, identity } = this.#options;
    const sentMs = clock.nowMs();
    // Half of what is left, so that a dead connection is given up in time for another try over a new one.
    const signal = AbortSignal.timeout(Math.max(1, Math.ceil((held.renewedMs + deadlineMs - sentMs) / 2)));
    try {
      await this.#write({ renewTime: now() }, signal);
    } catch (error) {
      if (!hasReason(error, 'Conflict', 'NotFound')) throw error;
      // Perhaps our own renewal before this one arrived and only its answer was lost.
      const sight = await this.#look(signal);
      if (sight?.holder !== identity) return 'taken';
      await this.#write({ renewTime: now() }, signal);
    }
    held.renewedMs = sentMs;
    return 'renewed';
  }

  // One try to become the leader.
  async #seek(signal: AbortSignal): Promise<Held | undefined> {
    const { clock, identity, termMs, client, namespace, name } = this.#options;
    const sentMs = clock.nowMs();
    const sight = await this.#look(signal);
    const taking = {
      holderIdentity: identity,
      acquireTime: now(),
      renewTime: now(),
      leaseDurationSeconds: termMs / 1000,
    };
    try {
      if (!sight) {
        const spec = { ...taking, leaseTransitions: 0 };
        this.#see(await client.create(leases, { metadata: { namespace, name }, spec }, { signal }));
      } else {
        // A holder of our own name is ourselves, before we gave up: nobody else needs the rest of that term.
        const isFree = sight.holder === '' || sight.holder === identity;
        if (!isFree && clock.nowMs() < sight.seenMs + sight.termMs) return undefined;
        await this.#write({ ...taking, leaseTransitions: sight.transitions + 1 }, signal);
      }
    } catch (error) {
      // Another was quicker.
      if (hasReason(error, 'Conflict', 'AlreadyExists')) return undefined;
      throw error;
    }
    return { renewedMs: sentMs, ending: new AbortController(), cancelDeadline: () => {} };
  }

  async #release(): Promise<void> {
    await this.#write({ holderIdentity: '', leaseDurationSeconds: 1, renewTime: now() }, AbortSignal.timeout(5000));
  }

  async #look(signal: AbortSignal): Promise<ObservedLease | undefined> {
    const { client, namespace, name } = this.#options;
    try {
      return this.#see(await client.get(leases, { namespace, name }, { signal }));
    } catch (error) {
      if (!hasReason(error, 'NotFound')) throw error;
      this.#sight = undefined;
      return undefined;
    }
  }

  async #write(spec: object, signal: AbortSignal): Promise<void> {
    const { client, namespace, name } = this.#options;
    const patch = { metadata: { resourceVersion: this.#sight?.resourceVersion }, spec };
    this.#see(await client.mergePatch(leases, { namespace, name }, patch, { signal }));
  }

  #see(lease: (typeof leases)['example']): ObservedLease {
    const resourceVersion = lease?.metadata?.resourceVersion ?? '';
    if (this.#sight?.resourceVersion === resourceVersion) return this.#sight;
    const { holderIdentity, leaseTransitions, leaseDurationSeconds } = lease?.spec ?? {};
    this.#sight = {
      resourceVersion,
      holder: holderIdentity ?? '',
      transitions: leaseTransitions ?? 0,
      termMs: leaseDurationSeconds === undefined ? this.#options.termMs : leaseDurationSeconds * 1000,
      seenMs: this.#options.clock.nowMs(),
    };
    return this.#sight;
  }

  #termOf(held: Held): LeaderTerm {
    const isHeld = () => this.#held === held && this.#isWithinDeadline(held);
    return {
      signal: held.ending.signal,
      isHeld,
      guard: () => {
        if (!isHeld()) throw new NotLeader(`the lease ${this.#options.name} is not held`);
      },
    };
  }

  #isWithinDeadline(held: Held): boolean {
    return this.#options.clock.nowMs() < held.renewedMs + this.#options.deadlineMs;
  }

  #pause(delayMs: number, signal: AbortSignal): Promise<void> {
    const { clock, random } = this.#options;
    return sleep(clock, delayMs * (0.8 + 0.4 * random()), signal);
  }

  async #trySafely<R>(work: () => Promise<R>, problem: string): Promise<R | undefined> {
    try {
      return await work();
    } catch (error) {
      const { log, name, identity } = this.#options;
      if (!this.#stopping.signal.aborted) log.warn({ err: error, lease: name, identity }, problem);
      return undefined;
    }
  }
}

async function aborted(signal: AbortSignal): Promise<void> {
  if (signal.aborted) return;
  await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
}

// A Lease wants microseconds; this clock has milliseconds.
function now(): string {
  return new Date().toISOString().replace('Z', '000Z');
}

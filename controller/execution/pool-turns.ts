import type { Job } from '#domain/jobs/job.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { isBackground, noTurns, type Taken, takeTurns, type Turns, type WaitingKey } from '#domain/jobs/turns.ts';
import type { JobStore } from '#platform/postgres/job-store.ts';
import type { CountedAttempt, PoolLook, QueuedKey } from '#platform/postgres/turn-rows.ts';

interface PoolTurnsOptions {
  readonly jobs: Pick<JobStore, 'lookAtPool'>;
  /** Begins the lease owners of the attempts that are counted. */
  readonly owner: string;
  /** Milliseconds. */
  readonly now: () => number;
}

/** A key that waits for a slot of a pool, with the ticket of its first job; null: only jobs wait that gave theirs up. */
export interface KeyInTurn extends WaitingKey {
  readonly ticket: Ticket | null;
}

/** The slots of a job that may have several, or none. */
export interface HeldSlots {
  readonly slots: number;
  readonly wantsMore: boolean;
}

/** The jobs of a process that do not hold one slot each. */
export interface SlotHolders {
  /** Undefined for a job that holds one. */
  heldBy(jobId: string): HeldSlots | undefined;
  /** Whether a job of this key gave its slot of the pool up, and waits for the next turn of the key. */
  isOwed(pool: string, key: string): boolean;
  /** Gives a free slot of the pool to such a job; whether one took it. */
  resume(pool: string, key: string): boolean;
}

const oneSlotEach: SlotHolders = { heldBy: () => undefined, isOwed: () => false, resume: () => false };

/** The remembered state of a pool. */
interface Pool {
  turns: Turns;
  waiting: readonly QueuedKey[];
  readAtMs: number;
  /** Keys whose first job of this look has been claimed, or cannot be. */
  used: Set<string>;
  /** Since the last call of `order`. */
  ended: Taken[];
}

/** An attempt that runs, as the last look saw it. */
interface Running extends CountedAttempt {
  readonly seenAtMs: number;
}

/** For so long a look counts: a key that begins to wait beside others is seen after it. */
const lookMs = 200;

/**
 * Whose turn it is in each pool (domain/jobs/turns.ts), for the jobs that one process claims. What the process claims
 * is shared fairly, and so is what all processes claim together, without a table that all of them would write. A
 * process that starts knows its running attempts by their rows, and of ended ones nothing.
 */
export class PoolTurns {
  holders: SlotHolders = oneSlotEach;
  readonly #options: PoolTurnsOptions;
  readonly #pools = new Map<string, Pool>();
  /** The attempts that run, by job and attempt. */
  readonly #running = new Map<string, Running>();
  /** One look at a time, or an attempt that a later look has counted would be taken to run still. */
  #looking: Promise<void> = Promise.resolve();

  constructor(options: PoolTurnsOptions) {
    this.#options = options;
  }

  /**
   * The keys that wait in a pool, in the order of their turns.
   *
   * @param asking a job that waits, whose key the last look may not have seen
   */
  async order(pool: string, asking?: Ticket): Promise<readonly KeyInTurn[]> {
    const lookAfterMs = this.#options.now() - lookMs;
    await this.#lookUnless(pool, ({ readAtMs }) => readAtMs > lookAfterMs);
    const order = this.#order(pool, asking);
    const [first] = order;
    // The key of `asking` begins that job.
    if (
      first === undefined ||
      (asking !== undefined && first.key === (asking.keyId ?? '')) ||
      !this.#poolOf(pool).used.has(first.key)
    )
      return order;
    await this.#lookUnless(pool, ({ used }) => !used.has(first.key));
    return this.#order(pool, asking);
  }

  #order(pool: string, asking: Ticket | undefined): readonly KeyInTurn[] {
    const state = this.#poolOf(pool);
    const running = [...this.#running.values()].filter((attempt) => attempt.pool === pool);
    const waiting = this.#withHolders(running, withKeyOf(asking, state.waiting));
    const { order, turns } = takeTurns(state.turns, { waiting, running, ended: state.ended });
    Object.assign(state, { turns, ended: [] } satisfies Partial<Pool>);
    return order.filter(({ key, ticket }) => ticket !== null || this.holders.isOwed(pool, key));
  }

  /** A job was claimed that takes a slot of the pool. */
  claimed(pool: string, { id, attempt, keyId, priority }: Pick<Job, 'id' | 'attempt' | 'keyId' | 'priority'>): void {
    const key = keyId ?? '';
    const weight = this.#poolOf(pool).waiting.find((one) => one.key === key)?.weight ?? 1;
    const counted = { pool, key, weight, isBackground: isBackground(priority), seconds: 0 };
    this.#running.set(nameOf({ id, attempt }), { id, attempt, ...counted, seenAtMs: this.#options.now() });
  }

  /** The attempts that have slots of a pool. */
  runningIn(pool: string): readonly Pick<CountedAttempt, 'key' | 'weight'>[] {
    const hasSlot = ({ id }: Running) => this.holders.heldBy(id)?.slots !== 0;
    return [...this.#running.values()].filter((attempt) => attempt.pool === pool && hasSlot(attempt));
  }

  /** The first job of a key has been claimed, or cannot be: the pool is looked at when it is its turn again. */
  forget(pool: string, key: string): void {
    this.#poolOf(pool).used.add(key);
  }

  /** Adds the keys of running jobs that want more slots: these do not begin to wait anew when one has to be given. */
  #withHolders(running: readonly Running[], waiting: readonly KeyInTurn[]): readonly KeyInTurn[] {
    const keys = new Map(waiting.map((one) => [one.key, one]));
    for (const { id, key, weight, isBackground: isLast } of running)
      if (this.holders.heldBy(id)?.wantsMore === true && !keys.has(key))
        keys.set(key, { key, weight, isBackground: isLast, ticket: null });
    return [...keys.values()];
  }

  async #lookUnless(pool: string, isRecent: (state: Pool) => boolean): Promise<void> {
    if (isRecent(this.#poolOf(pool))) return;
    const earlier = this.#looking.catch(() => undefined);
    this.#looking = earlier.then(() => (isRecent(this.#poolOf(pool)) ? undefined : this.#look(pool)));
    await this.#looking;
  }

  #poolOf(name: string): Pool {
    const pool = this.#pools.get(name) ?? {
      turns: noTurns,
      waiting: [],
      readAtMs: -Infinity,
      used: new Set(),
      ended: [],
    };
    this.#pools.set(name, pool);
    return pool;
  }

  async #look(pool: string): Promise<void> {
    const { jobs, owner, now } = this.#options;
    const readAtMs = now();
    const known = [...this.#running.values()];
    const seen = await jobs.lookAtPool(pool, { owner, known });
    this.#count(known, seen, readAtMs);
    const looked: Partial<Pool> = { waiting: seen.waiting, readAtMs, used: new Set() };
    Object.assign(this.#poolOf(pool), looked);
  }

  #count(known: readonly Running[], { running, ended }: PoolLook, nowMs: number): void {
    const still = new Set(running.map(nameOf));
    const ends = new Map(ended.map((one) => [nameOf(one), one]));
    for (const attempt of known) {
      const name = nameOf(attempt);
      if (still.has(name) || !this.#running.delete(name)) continue;
      // Of a row that is gone nothing more is known.
      const { measured = null, seconds = null } = ends.get(name) ?? {};
      const taken = measured ?? Math.min(seconds ?? attempt.seconds, this.#secondsAt(attempt, nowMs));
      this.#poolOf(attempt.pool).ended.push({ ...attempt, seconds: taken });
    }
    for (const { seconds, ...attempt } of running) {
      const earlier = this.#running.get(nameOf(attempt));
      const counted =
        earlier === undefined || seconds === null
          ? (earlier?.seconds ?? seconds ?? 0)
          : this.#secondsAt(earlier, nowMs);
      const pool = earlier?.pool ?? attempt.pool;
      this.#running.set(nameOf(attempt), { ...attempt, pool, seconds: counted, seenAtMs: nowMs });
    }
  }

  /** The seconds that an attempt took, if it has run since it was seen. */
  #secondsAt({ id, seconds, seenAtMs }: Running, nowMs: number): number {
    return seconds + (Math.max(0, nowMs - seenAtMs) / 1_000) * (this.holders.heldBy(id)?.slots ?? 1);
  }
}

function withKeyOf(asking: Ticket | undefined, waiting: readonly QueuedKey[]): readonly KeyInTurn[] {
  if (asking === undefined) return waiting;
  const { keyId: key = '', priority = 0 } = asking;
  if (waiting.some((one) => one.key === key)) return waiting;
  return [...waiting, { key, weight: 1, isBackground: isBackground(priority), ticket: asking }];
}

function nameOf({ id, attempt }: Pick<CountedAttempt, 'id' | 'attempt'>): string {
  return `${id}:${attempt}`;
}

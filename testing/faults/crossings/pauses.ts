import { setTimeout as sleep } from 'node:timers/promises';
import type { PoolClient } from 'pg';
import type { Database } from '#platform/postgres/database.ts';
import type { Random } from '../random.ts';

// Actors are frozen before a statement or a request to the bucket, also within a transaction that holds locks: most
// for no time, some long enough that everybody else overtakes them.

export interface Pauses {
  /** Resolves when the next step may be taken; undefined: at once. */
  next(): Promise<void> | undefined;
  /** From now on nothing pauses. */
  end(): void;
}

export function pausesOf(random: Random): Pauses {
  let isEnded = false;
  const lengthMs = () => {
    const share = random();
    if (share < 0.8) return 0;
    if (share < 0.93) return random() * 10;
    if (share < 0.985) return 10 + random() * 70;
    return share < 0.996 ? 80 + random() * 500 : 1_000 + random() * 2_000;
  };
  return {
    next: () => {
      const ms = isEnded ? 0 : lengthMs();
      return ms === 0 ? undefined : sleep(ms);
    },
    end: () => void (isEnded = true),
  };
}

type Query = (...parameters: unknown[]) => unknown;

/** Lets each statement of the pool's connections pause. */
export function pauseStatements({ pool }: Database, pauses: () => Pauses): void {
  pool.on('connect', (client: PoolClient) => {
    const patched = client as unknown as { query: Query };
    const query = patched.query.bind(client);
    patched.query = (...parameters) => {
      const pause = pauses().next();
      if (pause === undefined) return query(...parameters);
      // The pool itself passes a function that takes the answer.
      if (typeof parameters.at(-1) === 'function') return void pause.then(() => query(...parameters));
      return pause.then(() => query(...parameters));
    };
  });
}

/** The same object, some of whose methods may pause before they begin. */
export function pausing<Target extends object>(
  target: Target,
  names: readonly (keyof Target)[],
  pauses: () => Pauses,
): Target {
  return new Proxy(target, {
    get(_, name) {
      const value: unknown = Reflect.get(target, name);
      if (typeof value !== 'function') return value;
      const method = value.bind(target) as Query;
      if (!names.includes(name as keyof Target)) return method;
      return (...parameters: unknown[]) => {
        const pause = pauses().next();
        return pause === undefined ? method(...parameters) : pause.then(() => method(...parameters));
      };
    },
  });
}

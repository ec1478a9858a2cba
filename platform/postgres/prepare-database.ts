import { DatabaseError } from 'pg';
import { backoffMs, pause } from '../lifecycle/backoff.ts';
import type { Component } from '../lifecycle/component.ts';
import type { Logger } from '../telemetry/logger.ts';
import type { Database } from './database.ts';
import { migrate } from './migrate.ts';

interface PrepareOptions {
  readonly database: Database;
  /** Makes the tables that others keep in the same database, such as those of a queue. */
  readonly migrateMore?: () => Promise<void>;
  readonly log: Logger;
  /** Aborted when the process is to end: ends the wait. */
  readonly signal: AbortSignal;
}

/** The database as a part of the start. */
export interface DatabasePreparation {
  /** Its start waits for the database and migrates it; components that need the tables start after it. */
  readonly component: Component;
  /** The readiness check: rejects until the tables are there, and while the server does not answer. */
  readonly check: (signal: AbortSignal) => Promise<void>;
}

const retry = { baseMs: 500, maxMs: 10_000 };

/** Waits at the start for a database that is away or that another process migrates, instead of ending the process. */
export function prepareDatabase({
  database,
  migrateMore = () => Promise.resolve(),
  log,
  signal,
}: PrepareOptions): DatabasePreparation {
  let isMigrated = false;
  /** Why the last try to migrate failed. */
  let failure: unknown = Object.assign(new Error('the database is not migrated yet'), { code: 'NOT_MIGRATED' });
  const start = async () => {
    for (let failures = 1; !signal.aborted && !isMigrated; failures++) {
      try {
        await migrate(database, { log, signal });
        await migrateMore();
        isMigrated = true;
        if (failures > 1) log.info({}, 'database answers, continuing the start');
      } catch (error) {
        if (signal.aborted) return;
        if (!isAway(error)) throw explained(error);
        failure = error;
        const delayMs = Math.round(backoffMs(failures, retry));
        log.warn({ err: error, retry_in_ms: delayMs }, 'database does not answer, waiting to start');
        await pause(delayMs, signal);
      }
    }
  };
  return {
    component: { name: 'database', start, stop: () => Promise.resolve() },
    async check(aborted) {
      if (!isMigrated) throw failure;
      await database.ping(aborted);
    },
  };
}

/** Whether time alone may help: a connection that failed, a server that starts, stops or has no free connection. */
function isAway(error: unknown): boolean {
  if (error instanceof DatabaseError) return /^(?:08|53|57)/.test(error.code ?? '');
  const { code, message } = error as NodeJS.ErrnoException;
  return /^E[A-Z]+$/.test(code ?? '') || /timeout|terminated/i.test(message);
}

/** The part of `DATABASE_URL` that the server refuses, by SQLSTATE classes 28 and 3D; null for any other error. */
export function refusedPartOf(error: unknown): 'credentials' | 'database' | null {
  if (!(error instanceof DatabaseError)) return null;
  if (error.code?.startsWith('28') === true) return 'credentials';
  return error.code?.startsWith('3D') === true ? 'database' : null;
}

function explained(error: unknown): unknown {
  if (refusedPartOf(error) === null) return error;
  const advice = 'expected the user, the password and the name of an existing database';
  const { message } = error as Error;
  return new Error(`DATABASE_URL is refused by the server (${message}): ${advice}`, { cause: error });
}

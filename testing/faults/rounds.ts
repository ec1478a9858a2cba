import { writeFile } from 'node:fs/promises';
import type { DueKind } from '#domain/work/due.ts';
import type { Database } from '#platform/postgres/database.ts';
import { dueRowsOf } from '#platform/postgres/due-kinds.ts';
import { until } from '../controller-rig.ts';
import { roundsOf } from './plan.ts';
import type { Supervised } from './processes.ts';

/** A round that removes nothing for so long was disturbed. */
const stalledMs = 1_500;
const patienceMs = 60_000;

interface Drain {
  /** Assignments that make rows due. */
  readonly change: string;
  /** A condition; by default all open rows are changed. */
  readonly only?: string;
}

interface RoundDependencies {
  readonly database: Database;
  readonly folder: string;
  readonly workers: readonly Supervised[];
}

/** Rounds of periodic tasks that come when they are asked for. */
export function openRounds({ database, folder, workers }: RoundDependencies) {
  let count = 0;
  const ask = async () => {
    await Promise.all(workers.map((worker) => worker.isThere()));
    await writeFile(roundsOf(folder), String((count += 1)));
  };
  /**
   * Changes the open rows of a kind of due work, so that they are due, and lets the workers look for them, until none
   * is open.
   */
  const drain = async (kind: DueKind, { change, only = 'true' }: Drain) => {
    const { table, where } = dueRowsOf[kind];
    const countOpen = async () => (await database.pool.query(`select from ${table} where ${where}`)).rowCount;
    const begin = async () => {
      await database.pool.query(`update ${table} set ${change} where ${where} and ${only}`);
      await ask();
    };
    await begin();
    let [left, changedAt] = [await countOpen(), Date.now()];
    await until(
      async () => {
        const now = await countOpen();
        // A round that was disturbed leaves rows that are due much later.
        const isStalled = now === left && Date.now() - changedAt > stalledMs;
        if (isStalled) await begin();
        if (isStalled || now !== left) [left, changedAt] = [now, Date.now()];
        return now;
      },
      (now) => now === 0,
      patienceMs,
    );
  };
  return {
    drain,
    /** Makes every ended job due, and waits until the worker has removed its working objects. */
    cleanUp: () => drain('cleanup', { change: `finished_at = finished_at - interval '3 hours', cleanup_after = null` }),
    /** Makes every job that is cleaned up older than the retention times, and waits until the worker has removed it. */
    async expire(): Promise<void> {
      await drain('revision_retention', { change: `${older('replaced_at')}, retention_after = null` });
      await drain('job_retention', { change: `${older('finished_at')}, retention_after = null` });
    },
  };
}

const older = (column: string) => `${column} = ${column} - interval '40 days'`;

import { writeFile } from 'node:fs/promises';
import type { Database } from '#platform/postgres/database.ts';
import { until } from '../controller-rig.ts';
import { roundsOf } from './plan.ts';
import type { Supervised } from './processes.ts';

/** A round that removes nothing for so long was disturbed. */
const stalledMs = 1_500;
const patienceMs = 60_000;

const unswept = 'finished_at is not null and swept_at is null';
const replaced = 'replaced_at is not null and revision_deleted_at is null';

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
  const countDue = async (due: string) => (await database.pool.query(`select 1 from jobs where ${due}`)).rowCount;
  /** Changes the rows that are due, and lets the workers look for them, until there are none. */
  const untilDone = async (due: string, change: string) => {
    const begin = async () => {
      await database.pool.query(`update jobs set ${change} where ${due}`);
      await ask();
    };
    await begin();
    let [left, changedAt] = [await countDue(due), Date.now()];
    await until(
      async () => {
        const now = await countDue(due);
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
    /** Lets every periodic task run again now. */
    askForRound: ask,
    /** Makes every ended job due, and waits until the worker has removed its working objects. */
    cleanUp: () => untilDone(unswept, "finished_at = finished_at - interval '3 hours', cleanup_after = null"),
    /** Makes every job that is cleaned up older than the retention times, and waits until the worker has removed it. */
    async expire(): Promise<void> {
      await untilDone(replaced, `${older('replaced_at')}, retention_after = null`);
      await untilDone('swept_at is not null', `${older('finished_at')}, retention_after = null`);
    },
  };
}

const older = (column: string) => `${column} = ${column} - interval '40 days'`;

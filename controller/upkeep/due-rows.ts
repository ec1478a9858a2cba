import { pause } from '#platform/lifecycle/backoff.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';

/** Rows that become due, such as jobs to clean up. */
export interface DueRows<Row> {
  /** Takes rows that no other call gets for some time; fewer than `limit` only when no more are due. */
  readonly claim: (limit: number) => Promise<readonly Row[]>;
  /**
   * Works on one row. Returns the keys of objects that are the row's alone, to be deleted before it is marked; null
   * when nothing more can be done for now. A row that is not marked is due again later.
   */
  readonly handle: (row: Row, signal: AbortSignal) => Promise<readonly string[] | null>;
  /** Notes that the work on these rows is done. */
  readonly mark?: (rows: readonly Row[]) => Promise<unknown>;
  readonly onFailure: (row: Row, error: unknown) => unknown;
  readonly media?: Pick<ObjectStore, 'delete'>;
  readonly signal: AbortSignal;
  /** 100 by default. */
  readonly pageSize?: number;
}

interface HandledRow<Row> {
  readonly row: Row;
  readonly keys: readonly string[];
}

const pageSizeDefault = 100;
/** After so many failures in a row, the bucket or the database is away. */
const failuresMax = 100;
/** Many at once, since most of the time goes into waiting for the bucket. */
const rowsAtOnce = 32;
/** The rate of each task in each process, so that a backlog of years takes little of the database from submissions. */
const rowsPerSecondMax = 550;

/**
 * Works through all rows that are due, a page at a time. One that fails delays no other. When a hundred in a row fail,
 * the rest waits for the next round.
 */
export async function workThrough<Row>(due: DueRows<Row>): Promise<void> {
  const { claim, signal, pageSize = pageSizeDefault } = due;
  let failuresInARow = 0;
  for (let goesOn = true; goesOn && !signal.aborted;) {
    const nextPageAtMs = performance.now() + (pageSize / rowsPerSecondMax) * 1000;
    const rows = await claim(pageSize);
    const failures = await workOn(rows, due);
    failuresInARow = failures === rows.length ? failuresInARow + failures : 0;
    goesOn = rows.length === pageSize && failuresInARow < failuresMax;
    if (goesOn) await pause(Math.max(0, nextPageAtMs - performance.now()), signal);
  }
}

/** A task whose rounds work through the rows of a kind. */
export function dueTask<Row>(name: string, rows: Omit<DueRows<Row>, 'signal'>): PeriodicTask {
  return { name, work: (signal) => workThrough({ ...rows, signal }) };
}

/** Repeats what changes or deletes at most `limit` rows, and returns how many, until fewer are left. */
export async function inPages(
  changePage: (limit: number) => Promise<number>,
  signal: AbortSignal,
  limit = pageSizeDefault,
): Promise<void> {
  while (!signal.aborted && (await changePage(limit)) === limit);
}

/** Rows whose work takes long, each in a slot of its own. */
export interface SlottedRows<Row> {
  /** Takes rows for slots that are free; so many are not. */
  readonly claim: (running: number) => Promise<readonly Row[]>;
  /** Works on one row; throws nothing. */
  readonly handle: (row: Row) => Promise<void>;
  /** How long after a claim without rows the next one follows, unless a slot is freed before. */
  readonly pollEveryMs: number;
  readonly stopping: AbortSignal;
}

/** Works on rows in slots until `stopping` aborts; resolves when all work that has begun has ended. */
export async function workInSlots<Row>({ claim, handle, pollEveryMs, stopping }: SlottedRows<Row>): Promise<void> {
  const running = new Set<Promise<void>>();
  let freed = new AbortController();
  while (!stopping.aborted) {
    // A promise would keep what waited for it, and the work on a row may take hours.
    freed = new AbortController();
    const rows = await claim(running.size);
    for (const row of rows) {
      const work = handle(row).finally(() => {
        running.delete(work);
        freed.abort();
      });
      running.add(work);
    }
    if (rows.length === 0) await pause(pollEveryMs, AbortSignal.any([stopping, freed.signal]));
  }
  await Promise.all(running);
}

/** Returns how many of the rows failed. */
async function workOn<Row>(rows: readonly Row[], due: DueRows<Row>): Promise<number> {
  const { handle, onFailure, signal } = due;
  const handled: HandledRow<Row>[] = [];
  let failures = 0;
  /** Null where it failed. */
  const settle = async <Result>(row: Row, result: Promise<Result>): Promise<Result | null> => {
    try {
      return await result;
    } catch (error) {
      failures += 1;
      await onFailure(row, error);
      return null;
    }
  };
  const rest = rows.values();
  const handleRest = async () => {
    for (const row of rest) {
      if (signal.aborted) return;
      const keys = await settle(row, handle(row, signal));
      if (keys !== null) handled.push({ row, keys });
    }
  };
  await Promise.all(Array.from({ length: rowsAtOnce }, handleRest));
  // One request and one statement for all rows. When they fail, each row by itself: a bad one stops no other.
  await finish(handled, due).catch(async () => {
    for (const one of handled) await settle(one.row, finish([one], due));
  });
  return failures;
}

async function finish<Row>(handled: readonly HandledRow<Row>[], { media, mark }: DueRows<Row>): Promise<void> {
  if (handled.length === 0) return;
  const keys = handled.flatMap((one) => one.keys);
  if (keys.length > 0) await media?.delete(keys);
  await mark?.(handled.map(({ row }) => row));
}

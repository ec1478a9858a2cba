import { setTimeout as sleep } from 'node:timers/promises';
import { KnownProblem } from '#domain/errors.ts';
import { ImportInterruption } from '#domain/imports/file-answer.ts';
import { ImportFailure } from '#domain/imports/import.ts';
import { retryAfterMs } from '#domain/retry-after.ts';
import { removeImported } from '#jobs/imports/remove.ts';
import type { Component } from '#platform/lifecycle/component.ts';
import type { ClaimedImport } from '#platform/postgres/import-store.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { Metrics } from '#platform/telemetry/metrics.ts';
import { workInSlots } from '../upkeep/due-rows.ts';
import { ImportTurns } from './import-turns.ts';
import { LeaseLost, transfer, type TransferDependencies } from './transfer.ts';

export interface ImportWorkerDependencies extends Omit<TransferDependencies, 'countBytes'> {
  readonly metrics: Pick<Metrics, 'imports' | 'importBytes'>;
  readonly log: Logger;
  readonly clock: () => Date;
  readonly leaseMs: number;
  /** For tests: the wait before each further attempt that follows one without progress. */
  readonly backoffMs?: readonly number[];
}

const pollEveryMs = 1_000;
/** Six attempts in a row may store nothing. */
const backoffMsDefault = [1_000, 10_000, 60_000, 300_000, 900_000];
const storageBackoffMs = 30_000;

/**
 * Fetches imports, `IMPORT_CONCURRENCY` at once, each under a lease that it renews. A worker that stops gives its
 * imports up for another one at once; of a worker that dies they are due when the lease lapses. An attempt that cannot
 * renew its lease ends itself before another worker may begin.
 */
export function importWorker(dependencies: ImportWorkerDependencies): Component {
  const stopping = new AbortController();
  let ended = Promise.resolve();
  return {
    name: 'import worker',
    start() {
      ended = run(dependencies, stopping.signal);
      return Promise.resolve();
    },
    async stop() {
      stopping.abort(new Error('the worker stops'));
      await ended;
    },
  };
}

function run(dependencies: ImportWorkerDependencies, stopping: AbortSignal): Promise<void> {
  const { rows, settings, log, leaseMs } = dependencies;
  const turns = new ImportTurns(() => performance.now());
  const claim = async (running: number): Promise<readonly ClaimedImport[]> => {
    const free = settings.concurrency - running;
    if (free === 0) return [];
    try {
      const due = await rows.dueKeys();
      const shares = turns.shares(due, free);
      const claimed = shares.size === 0 ? [] : await rows.claim(shares, leaseMs);
      for (const { id, keyId } of claimed) turns.begun(id, keyId, due);
      return claimed;
    } catch (error) {
      log.warn({ err: error }, 'due imports query failed');
      return [];
    }
  };
  const handle = (row: ClaimedImport) => attemptAt(row, dependencies, stopping).finally(() => turns.ended(row.id));
  return workInSlots({ claim, handle, pollEveryMs, stopping });
}

/** One attempt, and what follows it. It throws nothing: what cannot be written is due again after the lease. */
async function attemptAt(
  row: ClaimedImport,
  dependencies: ImportWorkerDependencies,
  stopping: AbortSignal,
): Promise<void> {
  const { log, metrics, leaseMs } = dependencies;
  const ending = new AbortController();
  const lease = keepLease(row, dependencies, { leaseMs, ending });
  const countBytes = (bytes: number) => metrics.importBytes.inc(bytes);
  try {
    if (row.isLate) throw new ImportFailure('deadline_exceeded');
    await transfer(row, { ...dependencies, countBytes }, AbortSignal.any([stopping, ending.signal]));
    metrics.imports.inc({ outcome: 'completed' });
    log.info({ import_id: row.id, source: row.source }, 'import completed');
  } catch (thrown) {
    const error: unknown = ending.signal.aborted ? ending.signal.reason : thrown;
    await endAttempt(row, error, { dependencies, stopping }).catch((failure: unknown) =>
      log.warn({ err: failure, import_id: row.id }, 'import attempt not recorded'),
    );
  } finally {
    lease.end();
  }
}

async function endAttempt(
  row: ClaimedImport,
  error: unknown,
  { dependencies, stopping }: { readonly dependencies: ImportWorkerDependencies; readonly stopping: AbortSignal },
): Promise<void> {
  const { rows, log, metrics } = dependencies;
  const { id, url } = row;
  // Also of a cancelled import: from now on what it stored may be removed.
  if (error instanceof LeaseLost || stopping.aborted) return rows.release(row, { delayMs: 0, failures: 0 });
  if (error instanceof KnownProblem && error.code === 'storage_error') {
    log.warn({ err: error, import_id: id }, 'import interrupted');
    metrics.imports.inc({ outcome: 'interrupted' });
    return rows.release(row, { delayMs: storageBackoffMs, failures: 0 });
  }
  const failures = await failuresBefore(row, dependencies);
  const failure = failureOf(error, failures, dependencies);
  if (failure === null) {
    log.warn({ err: error, import_id: id }, 'import interrupted');
    metrics.imports.inc({ outcome: 'interrupted' });
    return rows.release(row, { delayMs: delayMsOf(error, failures, dependencies), failures: 1 });
  }
  const { code, httpStatus } = failure;
  if (!(await rows.fail(row, { url, code, httpStatus }))) return;
  log.warn({ import_id: id, host: new URL(url).host, code, status_code: httpStatus }, 'import failed');
  metrics.imports.inc({ outcome: 'failed' });
  await cleanUp(id, dependencies);
}

/** Attempts in a row before this one that stored nothing; none, if this one has stored something. */
async function failuresBefore(row: ClaimedImport, { rows }: ImportWorkerDependencies): Promise<number> {
  return (await rows.find(row.id))?.failures ?? row.failures;
}

/** Why the import ends; null: another attempt follows. */
function failureOf(
  error: unknown,
  failures: number,
  { backoffMs = backoffMsDefault }: ImportWorkerDependencies,
): ImportFailure | null {
  if (error instanceof ImportFailure) return error;
  if (failures < backoffMs.length) return null;
  return new ImportFailure('unavailable', error instanceof ImportInterruption ? error.httpStatus : null);
}

function delayMsOf(
  error: unknown,
  failures: number,
  { clock, backoffMs = backoffMsDefault }: ImportWorkerDependencies,
): number {
  const header = error instanceof ImportInterruption ? error.retryAfter : null;
  const asked = header === null ? 0 : retryAfterMs(header, clock());
  return Math.max(backoffMs[failures] ?? 0, asked);
}

async function cleanUp(id: string, { rows, bucket, log }: ImportWorkerDependencies): Promise<void> {
  const row = await rows.find(id);
  if (row === null) return;
  await removeImported({ rows, bucket }, row).catch((error: unknown) =>
    log.warn({ err: error, import_id: id }, 'import not removed'),
  );
}

/** Renews the lease three times in its duration; the attempt ends without an answer in time, and at its deadline. */
function keepLease(
  row: ClaimedImport,
  { rows, log }: ImportWorkerDependencies,
  { leaseMs, ending }: { readonly leaseMs: number; readonly ending: AbortController },
): { end(): void } {
  const ended = new AbortController();
  const lost = () => ending.abort(new LeaseLost('the lease could not be renewed'));
  const renew = async () => {
    let lapse = setTimeout(lost, leaseMs * 0.9);
    while (!ended.signal.aborted) {
      await sleep(leaseMs / 3, undefined, { signal: ended.signal }).catch(() => undefined);
      if (ended.signal.aborted) break;
      try {
        const startedAt = performance.now();
        const state = await rows.renew(row, leaseMs);
        if (state === 'late') ending.abort(new ImportFailure('deadline_exceeded'));
        if (state === 'lost') lost();
        clearTimeout(lapse);
        lapse = setTimeout(lost, leaseMs * 0.9 - (performance.now() - startedAt));
      } catch (error) {
        log.warn({ err: error, import_id: row.id }, 'import lease renewal failed');
      }
    }
    clearTimeout(lapse);
  };
  void renew();
  return { end: () => ended.abort() };
}

import { removeImported } from '#jobs/imports/remove.ts';
import type { ImportStore } from '#platform/postgres/import-store.ts';
import type { UploadBucket } from '#platform/storage/upload-bucket.ts';
import type { Logger } from '#platform/telemetry/logger.ts';
import type { PeriodicTask } from '../periodic-component.ts';

interface CleanupDependencies {
  readonly rows: ImportStore;
  readonly bucket: UploadBucket;
  readonly log: Logger;
}

const pageSize = 100;
/** How long the row of an ended import answers `GET /api/imports/{id}`. */
const keptMs = 30 * 86_400_000;

/** Removes what failed and cancelled imports stored, and rows of old ones. */
export function importCleanupTask(dependencies: CleanupDependencies): PeriodicTask {
  return { name: 'import cleanup', work: (signal) => cleanUpImports(dependencies, signal) };
}

/** One round of it. An import that cannot be removed now is due again in the next round. */
export async function cleanUpImports(dependencies: CleanupDependencies, signal: AbortSignal): Promise<void> {
  const { rows, log } = dependencies;
  for (let goesOn = true; goesOn && !signal.aborted;) {
    const ended = await rows.listToCleanUp(pageSize);
    let failures = 0;
    for (const row of ended) {
      if (signal.aborted) return;
      await removeImported(dependencies, row).catch((error: unknown) => {
        failures += 1;
        log.warn({ err: error, import_id: row.id }, 'import not removed');
      });
    }
    goesOn = ended.length === pageSize && failures === 0;
  }
  while (!signal.aborted && (await rows.deleteOld(keptMs, pageSize)) === pageSize);
}

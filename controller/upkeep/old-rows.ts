import type { DueKind } from '#domain/work/due.ts';
import type { PeriodicTask } from '#platform/lifecycle/periodic-component.ts';
import type { DueWorkStore } from '#platform/postgres/due-work.ts';
import { inPages } from './due-rows.ts';

const dayMs = 86_400_000;

/** How long rows stay of which nothing is left but to be read. */
export const keptRows = {
  /** An ended upload answers `GET /api/uploads/{id}`. */
  upload_retention: 30 * dayMs,
  /** An ended import answers `GET /api/imports/{id}`. */
  import_retention: 30 * dayMs,
  /** Which versions of objects were submitted by events of the bucket; longer than any sender repeats an event. */
  bucket_event_retention: 90 * dayMs,
  /** Events of `PURGE_HOOK_URL` name the hash of a deleted media; what the receiver answered can be seen. */
  purge_event_retention: 30 * dayMs,
} as const satisfies Partial<Record<DueKind, number>>;

/** A task for each kind of old rows, so that none waits for another. */
export function oldRowsTasks({ dueWork }: { readonly dueWork: DueWorkStore }): PeriodicTask[] {
  return (Object.keys(keptRows) as (keyof typeof keptRows)[]).map((kind) => ({
    name: kind.replaceAll('_', ' '),
    work: (signal) => inPages((limit) => dueWork.delete(kind, { delayMs: keptRows[kind], limit }), signal),
  }));
}

const hourMs = 3_600_000;

/**
 * The work that happens later or again, by its kind, the labels of `svc_due_work`: work that has been due for longer
 * than this is late, and an alert fires. `platform/postgres/due-kinds.ts` says which rows are meant.
 */
export const lateAfterMs = {
  cleanup: 3 * hourMs,
  revision_retention: 3 * hourMs,
  job_retention: 3 * hourMs,
  media_expiry: hourMs,
  media_deletion: hourMs,
  upload_expiry: hourMs,
  upload_removal: 3 * hourMs,
  upload_retention: 3 * hourMs,
  // It waits while `IMPORT_CONCURRENCY` others run.
  import: 3 * hourMs,
  import_removal: 3 * hourMs,
  import_retention: 3 * hourMs,
  rollout: hourMs,
  // Those of a receiver that hangs are due for hours, until they are given up.
  webhook: 3 * hourMs,
  purge_event_retention: 3 * hourMs,
  bucket_event_retention: 3 * hourMs,
  lapsed_lease: hourMs / 4,
  // Every waiting job, in turn: of very many it takes hours.
  missing_ticket: 3 * hourMs,
} as const satisfies Readonly<Record<string, number>>;

export type DueKind = keyof typeof lateAfterMs;
export const dueKinds = Object.keys(lateAfterMs) as readonly DueKind[];

/** `due`: its time has come. `late`: it has been due for longer than its kind allows. */
export const dueStates = ['due', 'late'] as const;
export type DueState = (typeof dueStates)[number];

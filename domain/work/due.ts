const hourMs = 3_600_000;

/**
 * What happens later or again, by its kind: the labels of `svc_due_work`. Work that has been due for `lateAfterMs` is
 * late, and an alert fires. Its rows and how they are claimed stand in `platform/postgres/due-kinds.ts`.
 */
export const dueWork = {
  /** A finished job's working objects and revisions that never became public. */
  cleanup: { lateAfterMs: 3 * hourMs },
  /** A stream that a later one replaced. */
  revision_retention: { lateAfterMs: 3 * hourMs },
  job_retention: { lateAfterMs: 3 * hourMs },
  media_expiry: { lateAfterMs: hourMs },
  media_deletion: { lateAfterMs: hourMs },
  upload_expiry: { lateAfterMs: hourMs },
  /** What an ended upload stored. */
  upload_removal: { lateAfterMs: 3 * hourMs },
  upload_retention: { lateAfterMs: 3 * hourMs },
  /** An import that begins or goes on: it waits while `IMPORT_CONCURRENCY` others run. */
  import: { lateAfterMs: 3 * hourMs },
  /** What a failed or cancelled import stored. */
  import_removal: { lateAfterMs: 3 * hourMs },
  import_retention: { lateAfterMs: 3 * hourMs },
  rollout: { lateAfterMs: hourMs },
  /** Those of a receiver that hangs are due for hours, until they are given up. */
  webhook: { lateAfterMs: 3 * hourMs },
  purge_event_retention: { lateAfterMs: 3 * hourMs },
  bucket_event_retention: { lateAfterMs: 3 * hourMs },
  /** The lease of a worker that died. */
  lapsed_lease: { lateAfterMs: hourMs / 4 },
  /** A waiting job whose ticket may be lost. */
  missing_ticket: { lateAfterMs: hourMs / 4 },
} as const satisfies Readonly<Record<string, { readonly lateAfterMs: number }>>;

export type DueKind = keyof typeof dueWork;
export const dueKinds = Object.keys(dueWork) as readonly DueKind[];

/** `due`: its time has come. `late`: it has been due for longer than its kind allows. */
export const dueStates = ['due', 'late'] as const;
export type DueState = (typeof dueStates)[number];

import type { Job } from '#domain/jobs/job.ts';

/** The fields of a row that a following MediaJob shows. */
export type RowState = Pick<Job, 'id' | 'status' | 'attempt' | 'progress'>;

/**
 * MediaJobs that follow the row of an equal job. No watch reports changes of that row, so the rows of all followers are
 * polled in one query.
 */
export class Followers {
  readonly #stateOf = new Map<string, RowState>();

  /** The MediaJob of this key shows `row`. */
  follow(key: string, { id, status, attempt, progress }: RowState): void {
    this.#stateOf.set(key, { id, status, attempt, progress });
  }

  forget(key: string): void {
    this.#stateOf.delete(key);
  }

  /** The ids of the followed rows. */
  jobIds(): string[] {
    return [...new Set([...this.#stateOf.values()].map(({ id }) => id))];
  }

  /** The keys of the MediaJobs whose row has changed. */
  changed(rows: readonly RowState[]): string[] {
    const current = new Map(rows.map((row) => [row.id, row]));
    return [...this.#stateOf].flatMap(([key, known]) => {
      const row = current.get(known.id);
      const isSame = row?.status === known.status && row.attempt === known.attempt && row.progress === known.progress;
      return isSame ? [] : [key];
    });
  }
}

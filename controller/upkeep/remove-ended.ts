import { type DueRows, inPages, workThrough } from './due-rows.ts';

interface EndedRows<Row> extends DueRows<Row> {
  /** Deletes up to `limit` rows that ended long ago; how many. */
  readonly deleteOld: (limit: number) => Promise<number>;
}

/** Removes what ended uploads or imports stored, and their old rows. */
export async function removeEnded<Row>({ deleteOld, ...due }: EndedRows<Row>): Promise<void> {
  await workThrough(due);
  await inPages(deleteOld, due.signal);
}

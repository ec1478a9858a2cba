import { type DueRows, workThrough } from './due-rows.ts';

interface EndedRows<Row> extends DueRows<Row> {
  /** Deletes up to `limit` rows that ended long ago; how many. */
  readonly deleteOld: (limit: number) => Promise<number>;
}

const pageSize = 100;

/** Removes what ended uploads or imports stored, and their old rows. */
export async function removeEnded<Row>({ deleteOld, ...due }: EndedRows<Row>): Promise<void> {
  await workThrough(due);
  while (!due.signal.aborted && (await deleteOld(pageSize)) === pageSize);
}

interface EndedRows<Row> {
  /** Up to `limit` rows whose objects are still to be removed. */
  readonly list: (limit: number) => Promise<readonly Row[]>;
  /** Removes what a row stored, and notes that. */
  readonly remove: (row: Row) => Promise<void>;
  readonly onFailure: (row: Row, error: unknown) => void;
  /** Deletes up to `limit` rows that ended long ago; how many. */
  readonly deleteOld: (limit: number) => Promise<number>;
  readonly signal: AbortSignal;
}

const pageSize = 100;

/**
 * Removes what ended uploads or imports stored, and their old rows. One that cannot be removed now is due again in the
 * next round.
 */
export async function removeEnded<Row>({ list, remove, onFailure, deleteOld, signal }: EndedRows<Row>): Promise<void> {
  for (let goesOn = true; goesOn && !signal.aborted;) {
    const ended = await list(pageSize);
    let failures = 0;
    for (const row of ended) {
      if (signal.aborted) return;
      await remove(row).catch((error: unknown) => {
        failures += 1;
        onFailure(row, error);
      });
    }
    goesOn = ended.length === pageSize && failures === 0;
  }
  while (!signal.aborted && (await deleteOld(pageSize)) === pageSize);
}

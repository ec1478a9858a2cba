import type { Database } from './database.ts';

const note = 'select note_delivered($1, $2)';

/** Bytes of streams that were sent, in the usage of days. */
export class DeliveredStore {
  readonly #database: Pick<Database, 'pool'>;

  constructor(database: Pick<Database, 'pool'>) {
    this.#database = database;
  }

  /** Adds bytes by the hash of their media; '' stands for media that are not told apart. */
  async add(bytesOf: ReadonlyMap<string, number>): Promise<void> {
    await this.#database.pool.query(note, [[...bytesOf.keys()], [...bytesOf.values()]]);
  }
}

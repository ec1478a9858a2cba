import { hash } from 'node:crypto';
import type { BucketEvent } from '#domain/bucket-events/notification.ts';
import type { Database } from './database.ts';

type ObjectVersion = Pick<BucketEvent, 'bucket' | 'key' | 'version'>;

/** The versions of objects that were submitted, with their jobs. */
export class BucketEventStore {
  readonly #database: Database;

  constructor(database: Database) {
    this.#database = database;
  }

  /** The job of a version; null when none was submitted for it. */
  async find(version: ObjectVersion): Promise<string | null> {
    const { rows } = await this.#database.pool.query<{ jobId: string }>(
      'select job_id as "jobId" from bucket_events where id = $1',
      [idOf(version)],
    );
    return rows[0]?.jobId ?? null;
  }

  /** Notes the job of a version; the first one stays. */
  async note(version: ObjectVersion, jobId: string): Promise<void> {
    await this.#database.pool.query(
      'insert into bucket_events (id, job_id) values ($1, $2) on conflict (id) do nothing',
      [idOf(version), jobId],
    );
  }
}

function idOf({ bucket, key, version }: ObjectVersion): Buffer {
  return hash('sha256', JSON.stringify([bucket, key, version]), 'buffer');
}

import { hash } from 'node:crypto';
import type { BucketEvent } from '#domain/bucket-events/notification.ts';
import type { Database } from './database.ts';
import { isUuid } from './uuid.ts';

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

  /** The title that an upload or import of the object was given; null: none, or it came another way. */
  async titleOf(key: string): Promise<string | null> {
    // Their keys have their id before the name (domain/uploads/upload-key.ts).
    const id = key.split('/').at(-2) ?? '';
    if (!isUuid(id)) return null;
    const { rows } = await this.#database.pool.query<{ title: string | null }>(
      'select title from uploads where id = $1 and source = $2 union all select title from imports where id = $1 and source = $2',
      [id, key],
    );
    return rows[0]?.title ?? null;
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

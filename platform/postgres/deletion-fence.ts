import type { PoolClient } from 'pg';
import { jobTypeNames, jobTypeRow } from '#domain/job-types/index.ts';
import { unitKindRow } from '#domain/work/unit.ts';
import type { Database } from './database.ts';

const typesWithChunks = jobTypeNames.filter((type) => unitKindRow(jobTypeRow(type).firstUnit).follows.length > 0);
/** The most unfinished jobs of one hash: while there are more, nothing of it is deleted. */
export const unfinishedMax = 1_000;
/** Far less than the server leaves to an idle transaction, and far more than a look at the bucket takes. */
const heldMsMax = 20_000;

/** The transaction's lock under which streams of a hash are published, one after another, and their objects deleted. */
export const lockHash = 'select pg_advisory_xact_lock(hashtextextended($1, 0))';
// In one order, so that two transactions never wait for each other.
const lockHashes = `
  select pg_advisory_xact_lock(key) from (
    select distinct hashtextextended(hash, 0) as key from unnest($1::text[]) as hash order by key) as keys`;

// Jobs of one source are compared by its version alone: what else decides a chunked encode is only known to the runner.
// A job counts from its submission on, so its claim needs no lock. One that is submitted while a page is deleted finds
// chunks without a source, and its next attempt splits again.
const mayContinue = `
  with own as (select source_etag from jobs where id = $1), unfinished as (
    select type = any($3::text[]) and jobs.source_etag is not distinct from own.source_etag and id <> $1 as is_like
    from jobs, own where hash = $2 and swept_at is null and finished_at is null limit ${unfinishedMax + 1}
  )
  select exists (select from unfinished where is_like) or (select count(*) from unfinished) > ${unfinishedMax}
    or exists (
      select from jobs, own
      where hash = $2 and swept_at is null and finished_at >= now() - $4 * interval '1 millisecond'
        and id <> $1 and type = any($3::text[]) and jobs.source_etag is not distinct from own.source_etag
    ) as is_so`;
const namedLater = `
  select exists (
    select from jobs where hash = $2 and stream_rev = $3 and id <> $1 and replaced_at is null and not results_expired
  ) or exists (
    select from jobs
    where hash = $2 and stream_rev = $3 and id <> $1 and not results_expired
      and replaced_at >= coalesce(now() - $4::float8 * interval '1 millisecond', '-infinity')
  ) as is_so`;
// It gives its idempotency key up, so an equal request makes a new job.
const expire = `
  update jobs set results_expired = true, idempotency_key = 'expired ' || id where id = $1 and not results_expired`;

const held = 'select hash from media where hash = any($1) and legal_hold';

const isBeingDeleted = 'select exists (select from media_deletions where id = $1 and finished_at is null) as is_so';

/** A job of the locked hash, about whose objects is asked. */
interface JobOfHash {
  readonly jobId: string;
  readonly hash: string;
}

/** The rows of a locked hash: no stream of it becomes public and no hold begins meanwhile. */
export class LockedHash {
  readonly #client: PoolClient;
  readonly #lockedAtMs = performance.now();

  constructor(client: PoolClient) {
    this.#client = client;
  }

  /** Whether another job may go on with the job's chunked encode: it has not ended, or not `graceMs` ago. */
  mayBeContinued({ jobId, hash }: JobOfHash, graceMs = 0): Promise<boolean> {
    return this.#is(mayContinue, [jobId, hash, typesWithChunks, graceMs]);
  }

  /** Whether another job's results name the revision; with `retentionMs`, unless they were replaced longer ago. */
  isNamed({ jobId, hash }: JobOfHash, rev: string, retentionMs: number | null): Promise<boolean> {
    return this.#is(namedLater, [jobId, hash, rev, retentionMs]);
  }

  /** Whether a legal hold keeps everything of the hash. */
  async isHeld(hash: string): Promise<boolean> {
    return (await this.heldOf([hash])).has(hash);
  }

  /** Which of the hashes a legal hold keeps. */
  async heldOf(hashes: readonly string[]): Promise<ReadonlySet<string>> {
    const { rows } = await this.#client.query<{ hash: string }>(held, [hashes]);
    return new Set(rows.map(({ hash }) => hash));
  }

  /** Whether the deletion of the hash has not ended, so that nothing new was made under it. */
  isBeingDeleted(deletionId: string): Promise<boolean> {
    return this.#is(isBeingDeleted, [deletionId]);
  }

  /** Notes that the job's results name objects which are about to be deleted. */
  async expireResults(jobId: string): Promise<void> {
    await this.#client.query(expire, [jobId]);
  }

  /** @throws Error when so much time has passed, as in a process that was frozen, that the lock may be lost */
  assertHeld(): void {
    const heldMs = performance.now() - this.#lockedAtMs;
    if (heldMs > heldMsMax) throw new Error(`the lock of the hash was taken ${Math.round(heldMs)} ms ago`);
  }

  async #is(text: string, parameters: readonly unknown[]): Promise<boolean> {
    const { rows } = await this.#client.query<{ is_so: boolean }>(text, [...parameters]);
    return rows[0]?.is_so === true;
  }
}

/**
 * Deletes objects that jobs of one hash share, under the lock of the hash, a page at a time. Each page is decided
 * again, so that a job that is submitted meanwhile counts from the next page on.
 */
export class DeletionFence {
  readonly #database: Database;
  readonly #waiting: (() => void)[] = [];
  #free: number;

  constructor(database: Database) {
    this.#database = database;
    this.#free = Math.max(1, Math.floor(database.pool.options.max / 4));
  }

  /**
   * Runs `work`, which must end within seconds: it occupies a connection, and publishing waits for it. A quarter of the
   * connections at most, so that a slow bucket, or many jobs of one hash, leave the others to leases and reports.
   */
  underLock<T>(hash: string, work: (locked: LockedHash) => Promise<T>): Promise<T> {
    return this.underLocks([hash], work);
  }

  /** The same for all of the hashes at once. */
  async underLocks<T>(hashes: readonly string[], work: (locked: LockedHash) => Promise<T>): Promise<T> {
    if (this.#free > 0) this.#free -= 1;
    else await new Promise<void>((begin) => this.#waiting.push(begin));
    try {
      return await this.#database.transaction(async (client) => {
        await client.query(lockHashes, [hashes]);
        return work(new LockedHash(client));
      });
    } finally {
      const next = this.#waiting.shift();
      if (next === undefined) this.#free += 1;
      else next();
    }
  }
}

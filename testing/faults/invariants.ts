import { hashOfKey, isBelowRevision, revisionOf, videoFolder, videoRoot } from '#domain/media/object-keys.ts';
import type { ContentKey } from '#domain/playback/content-key.ts';
import { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import { secrets } from '../programs.ts';
import { clearObjects } from './encrypted-objects.ts';
import { keyChanges, keysOf, type RecordedWrite, recordedWrites, rowChanges } from './history.ts';
import * as library from './library-invariants.ts';
import * as objects from './object-invariants.ts';
import { changesOf, type CheckedJob, failureOf, outagesOf, sourceOf, waitsOf } from './row-invariants.ts';
import { rolledBackHashes, rolloutsOf } from './rollout-invariants.ts';
import { usageOf } from './usage-invariants.ts';
import type { World } from './world.ts';

// What holds whatever happened (docs/reference/invariants.md). The checker knows no scenario: it reads what is stored,
// what was sent, and every change and write that the history has.

interface CheckOptions {
  /** After so many counted failures a job may have failed; by default no number is enough. */
  readonly triesMax?: number;
  /** How many encrypted streams are decoded, since that takes long. */
  readonly decodedMax?: number;
}

/** Checks the jobs of one run, and remembers what they published for the runs after it. */
export class Checker {
  readonly #world: World;
  readonly #keys: ContentKeyStore;
  /** The ETag of each object below a revision, as it was first seen. */
  readonly #published = new Map<string, string>();

  constructor(world: World) {
    this.#world = world;
    this.#keys = new ContentKeyStore(world.database, { encryptionKeys: [secrets.ENCRYPTION_KEY] });
  }

  /** @returns a line for each violation */
  async check(jobIds: readonly string[], options: CheckOptions = {}): Promise<string[]> {
    const { triesMax = Infinity, decodedMax = 0 } = options;
    const { database, media, facts, folder } = this.#world;
    const unreadable = await this.#unreadable(jobIds);
    if (unreadable.length > 0) return unreadable;
    const all = await this.#jobs();
    const jobs = all.filter(({ id }) => jobIds.includes(id));
    const writes = recordedWrites(folder);
    const changes = Map.groupBy(await rowChanges(database, jobIds), ({ job_id: id }) => id);
    const violations = jobIds.filter((id) => !changes.has(id)).map((id) => `I2: the accepted job ${id} has no row`);
    for (const job of jobs) {
      const ofJob = changes.get(job.id) ?? [];
      violations.push(...failureOf(job, triesMax), ...changesOf(ofJob), ...outagesOf(ofJob, facts));
      violations.push(...sourceOf(job, facts), ...(await this.#webhooksOf(job)));
      violations.push(...(await objects.objectsOf(job, media)), ...(await objects.manifestOf(job, media)));
    }
    let left = decodedMax;
    for (const hash of new Set(jobs.map((job) => job.hash))) {
      const ofHash = all.filter((job) => job.hash === hash);
      if (ofHash.some((job) => job.encrypted && job.stream_rev !== null)) left -= 1;
      violations.push(...(await this.#mediaOf(hash, { jobs: ofHash, writes, decodes: left >= 0 && decodedMax > 0 })));
    }
    violations.push(...(await this.#equalKeys()), ...(await this.#remains(all)), ...(await this.#removed(all, writes)));
    violations.push(...(await library.deletionsOf(this.#world)), ...(await library.uploadsOf(this.#world)));
    violations.push(...library.announcedOf(this.#world), ...(await library.rerunsOf(this.#world)));
    violations.push(...(await rolloutsOf(database, media)), ...(await usageOf(this.#world)));
    return [...violations, ...waitsOf(facts), ...(await this.#secretsIn(jobs))];
  }

  /** By when they were asked for: a rerun is as old as the job that it makes again. */
  async #jobs(): Promise<CheckedJob[]> {
    const { rows } = await this.#world.database.pool.query<CheckedJob>(
      `with recursive asked as (
         select id, created_at as asked_at from jobs where rerun_of_job_id is null
         union all select again.id, asked_at from jobs as again join asked on again.rerun_of_job_id = asked.id
       )
       select id, type, hash, source, source_etag, status, attempt, failures, error, results, callback_url, stream_rev,
         results::text as results_text, results_expired as is_expired, swept_at is not null as is_swept,
         coalesce((options->>'encrypt')::boolean, (options->'transcode'->>'encrypt')::boolean, false) as encrypted
       from jobs left join asked using (id) order by coalesce(asked_at, created_at), created_at, id`,
    );
    return rows;
  }

  /** Half of a surrogate pair is text to `json`, and to no reader. */
  async #unreadable(ids: readonly string[]): Promise<string[]> {
    const { rows } = await this.#world.database.pool.query<{ id: string }>(
      `select id from jobs where id = any($1) and not (coalesce(results::text, '{}') is json
         and pg_input_is_valid(coalesce(results::text, '{}'), 'jsonb'))`,
      [ids],
    );
    return rows.map(({ id }) => `I22: the results of ${id} are no Unicode`);
  }

  async #equalKeys(): Promise<string[]> {
    const { rows } = await this.#world.database.pool.query<{ idempotency_key: string }>(
      `select idempotency_key from jobs where status not in ('failed', 'cancelled') and not results_expired
       group by idempotency_key having count(*) > 1`,
    );
    return rows.map(({ idempotency_key: key }) => `I3: several live jobs have the key ${key}`);
  }

  /** At least one webhook for each receiver, of one id and body. */
  async #webhooksOf({ id, status, callback_url: first }: CheckedJob): Promise<string[]> {
    if (first === null || status === 'cancelled') return [];
    const further = await this.#world.database.pool.query<{ url: string }>(
      'select url from job_callbacks where job_id = $1',
      [id],
    );
    return [first, ...further.rows.map(({ url }) => url)].flatMap((url) => {
      const sent = this.#world.deliveries.filter((delivery) => delivery.url === url && delivery.body.includes(id));
      if (sent.length === 0) return [`I7: no webhook came to ${url} of the ${status} job ${id}`];
      const kinds = new Set(sent.map((delivery) => `${delivery.id} ${delivery.body}`));
      return kinds.size === 1 ? [] : [`I7: the webhooks of ${id} to ${url} differ: ${[...kinds].join(' | ')}`];
    });
  }

  /** The stream of a hash: whole, unchanged, of the right job, encrypted by one key. */
  async #mediaOf(hash: string, given: { jobs: CheckedJob[]; writes: RecordedWrite[]; decodes: boolean }) {
    const { jobs, writes, decodes } = given;
    const { media } = this.#world;
    const { master, missing } = await objects.reachable(hash, media);
    const violations = missing.map((line) => `I5: ${line}`);
    const isRolledBack = (await rolledBackHashes(this.#world.database)).has(hash);
    if (!isRolledBack) violations.push(...objects.masterNames(master, jobs));
    for await (const { key, etag } of media.list(`${videoRoot(hash)}/`)) {
      if (!isBelowRevision(key)) continue;
      const before = this.#published.get(key) ?? etag;
      this.#published.set(key, before);
      if (before !== etag) violations.push(`I6: ${key} has changed`);
    }
    const key = await this.#keys.find(hash);
    const encrypted = jobs.filter((job) => job.encrypted && job.stream_rev !== null);
    for (const { stream_rev: rev } of encrypted) {
      if (key === null) violations.push(`I17: the encrypted media ${hash} has no key`);
      else violations.push(...(await clearObjects(videoFolder(hash, rev ?? ''), key, { media, decodes })));
    }
    violations.push(...(await this.#keyOf(hash, encrypted, writes)));
    for (const { stream_rev: rev } of jobs)
      if (rev !== null) violations.push(...(await objects.chunksOf(hash, rev, media)));
    // A write without an answer may have been done.
    const mayStay = new Set(writes.flatMap((write) => keysOf(write, 'put').flatMap(revOfManifest)));
    return [...violations, ...(await objects.leftOf(hash, jobs, { media, master, mayStay }))];
  }

  /** One key, stored before anything is encrypted by it. */
  async #keyOf(hash: string, encrypted: readonly CheckedJob[], writes: readonly RecordedWrite[]): Promise<string[]> {
    const changes = await keyChanges(this.#world.database, hash);
    if (new Set(changes.map(({ kid }) => kid)).size > 1) return [`I17: the media ${hash} has had several keys`];
    const storedAt = changes[0]?.at.getTime() ?? Infinity;
    const early = encrypted.filter(({ stream_rev: rev }) =>
      writes.some((write) => write.at < storedAt && keysOf(write, 'put').some((key) => key.includes(`/${rev}/video/`))),
    );
    return early.map(({ id }) => `I17: the job ${id} was packaged before its key was stored`);
  }

  async #remains(all: readonly CheckedJob[]): Promise<string[]> {
    const { media } = this.#world;
    const known = new Set(all.map(({ hash }) => hash));
    const lines = (await this.#world.remains()).map((what) => `I12: ${what} is left`);
    for (const root of ['videos/', 'images/'])
      for (const key of await objects.keysBelow(media, root))
        if (!known.has(hashOfKey(key))) lines.push(`I12: no job is left of ${key}`);
    if (all.length === 0 || !all.every((job) => job.is_swept)) return lines;
    return [
      ...lines,
      ...(await objects.keysBelow(media, 'work/')).map((key) => `I19: the working object ${key} is left`),
    ];
  }

  /** Checks that what was removed is named by no results and no playlist that are answered. */
  async #removed(all: readonly CheckedJob[], writes: readonly RecordedWrite[]): Promise<string[]> {
    const named = all.filter((job) => job.status === 'completed' && !job.is_expired);
    const revs = new Map(named.flatMap((job) => (job.stream_rev === null ? [] : [[job.stream_rev, job.id]])));
    const lines: string[] = [];
    for (const key of new Set(writes.flatMap((write) => (write.isSent ? keysOf(write, 'delete') : [])))) {
      const job = revs.get(/^videos\/.*\/([0-9a-f]{16})\//.exec(key)?.[1] ?? '');
      if (job !== undefined && (await this.#world.media.head(key)) === null)
        lines.push(`I16: ${key} of the job ${job} was removed`);
    }
    return lines;
  }

  /** Neither in a log, nor in a row, nor in an object. */
  async #secretsIn(jobs: readonly CheckedJob[]): Promise<string[]> {
    const { media, database } = this.#world;
    const hashes = [...new Set(jobs.map(({ hash }) => hash))];
    const keys = (await Promise.all(hashes.map((hash) => this.#keys.find(hash)))).filter((key) => key !== null);
    const hidden = [...Object.entries(secrets), ...keys.flatMap(formsOf)] as const;
    const rows = await database.pool.query<{ text: string }>(
      `select jobs::text as text from jobs where id = any($1) union all select webhook_events::text from webhook_events
       where job_id = any($1) union all select content_keys::text from content_keys where hash = any($2)`,
      [jobs.map(({ id }) => id), hashes],
    );
    const texts: [string, string | Buffer][] = [['a log', this.#world.output()]];
    texts.push(...rows.rows.map(({ text }): [string, string] => ['a row', text]));
    const roots = [...hashes.map((hash) => `${videoRoot(hash)}/`), ...jobs.map(({ id }) => `work/${id}/`)];
    for (const root of roots)
      for (const key of await objects.keysBelow(media, root))
        texts.push([key, (await objects.bytesAt(media, key)) ?? Buffer.alloc(0)]);
    const uncaught = this.#world.output().includes('uncaught error') ? ['I27: a process ended by a bug'] : [];
    const found = texts.flatMap(([where, text]) =>
      hidden.filter(([, secret]) => text.includes(secret as string)).map(([name]) => `I10: ${name} is in ${where}`),
    );
    return [...uncaught, ...found];
  }
}

function formsOf({ key, kid }: ContentKey): [string, string | Buffer][] {
  return [key, key.toString('hex'), key.toString('base64')].map((form) => [`the content key ${kid}`, form]);
}

/** The revision of the attempt whose result manifest a key is. */
function revOfManifest(key: string): string[] {
  const [, job, attempt] = /^work\/([0-9a-f-]{36})\/(\d+)\/result\.json$/.exec(key) ?? [];
  return job === undefined ? [] : [revisionOf(job, Number(attempt))];
}

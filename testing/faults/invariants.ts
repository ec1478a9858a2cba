import { posix } from 'node:path';
import { isFinal, type JobStatus } from '#domain/jobs/status.ts';
import { isBelowRevision, masterKey, videoRoot } from '#domain/media/object-keys.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { secrets } from '../programs.ts';
import { brokenSource } from './scenarios.ts';
import { type RowChange, rowChanges } from './history.ts';
import type { World } from './world.ts';

// What holds whatever happened (docs/reference/invariants.md). The checker knows no scenario: it reads what is stored,
// what was sent, and every change that the database has written down.

interface CheckedJob {
  readonly id: string;
  readonly hash: string;
  readonly source: string;
  readonly status: JobStatus;
  readonly results: unknown;
  readonly callback_url: string | null;
  readonly encrypted: boolean;
}

/** Checks the jobs of one run, and remembers what they published for the runs after it. */
export class Checker {
  readonly #world: World;
  /** The ETag of each object below a revision, as it was first seen. */
  readonly #published = new Map<string, string>();

  constructor(world: World) {
    this.#world = world;
  }

  /** @returns a line for each violation */
  async check(jobIds: readonly string[]): Promise<string[]> {
    const jobs = await this.#jobs(jobIds);
    const perJob = await Promise.all(
      jobs.map(async (job) => [
        ...failureOf(job),
        ...changesOf(await rowChanges(this.#world.database, job.id)),
        ...(await objectsOf(job, this.#world.media)),
        ...this.#webhooksOf(job),
      ]),
    );
    const perHash = await Promise.all(
      [...new Set(jobs.map(({ hash }) => hash))].map(async (hash) => [
        ...(await masterOf(
          hash,
          jobs.some((job) => job.hash === hash && job.encrypted),
          this.#world.media,
        )),
        ...(await this.#bytesOf(hash)),
      ]),
    );
    const lost = jobIds
      .filter((id) => !jobs.some((job) => job.id === id))
      .map((id) => `I2: the accepted job ${id} has no row`);
    return [
      ...lost,
      ...(await this.#keys()),
      ...this.#secrets(),
      ...(await this.#remains()),
      ...perJob.flat(),
      ...perHash.flat(),
    ];
  }

  async #jobs(ids: readonly string[]): Promise<CheckedJob[]> {
    const { rows } = await this.#world.database.pool.query<CheckedJob>(
      `select id, hash, source, status, results, callback_url, coalesce((options->>'encrypt')::boolean, false) as encrypted
       from jobs where id = any($1)`,
      [ids],
    );
    return rows;
  }

  async #keys(): Promise<string[]> {
    const { rows } = await this.#world.database.pool.query<{ idempotency_key: string }>(
      `select idempotency_key from jobs where status not in ('failed', 'cancelled') and not results_expired
       group by idempotency_key having count(*) > 1`,
    );
    return rows.map(({ idempotency_key: key }) => `I3: several live jobs have the key ${key}`);
  }

  #webhooksOf({ id, status, callback_url: url }: CheckedJob): string[] {
    if (url === null || status === 'cancelled') return [];
    const sent = this.#world.deliveries.filter(({ body }) => body.includes(id));
    if (sent.length === 0) return [`I7: no webhook came of the ${status} job ${id}`];
    const kinds = new Set(sent.map((delivery) => `${delivery.id} ${delivery.body}`));
    return kinds.size === 1 ? [] : [`I7: the webhooks of ${id} differ: ${[...kinds].join(' | ')}`];
  }

  /** Objects below a revision never change. */
  async #bytesOf(hash: string): Promise<string[]> {
    const violations: string[] = [];
    for await (const { key, etag } of this.#world.media.list(`${videoRoot(hash)}/`)) {
      if (!isBelowRevision(key)) continue;
      const before = this.#published.get(key) ?? etag;
      this.#published.set(key, before);
      if (before !== etag) violations.push(`I6: ${key} has changed`);
    }
    return violations;
  }

  async #remains(): Promise<string[]> {
    const { rows } = await this.#world.database.pool.query<{ hash: string }>('select distinct hash from jobs');
    const known = new Set(rows.map(({ hash }) => hash));
    const lines = (await this.#world.remains()).map((what) => `I12: ${what} is left`);
    for (const root of ['videos/', 'images/'])
      for await (const { key } of this.#world.media.list(root))
        if (!known.has(key.split('/')[2] ?? '')) lines.push(`I12: no job is left of ${key}`);
    return lines;
  }

  #secrets(): string[] {
    const output = this.#world.output();
    return Object.entries(secrets)
      .filter(([, secret]) => output.includes(secret))
      .map(([name]) => `I10: ${name} is in a log`);
  }
}

/** One fault is no reason to fail: only a source that cannot be read is. */
function failureOf({ id, source, status }: CheckedJob): string[] {
  return status === 'failed' && source !== brokenSource ? [`I2: the job ${id} failed`] : [];
}

/** One final status, never left; progress that never falls within an attempt. */
function changesOf(changes: readonly RowChange[]): string[] {
  const violations: string[] = [];
  for (const change of changes) {
    const { job_id: id, old_status: before, new_status: after } = change;
    if (before !== null && isFinal(before as JobStatus) && after !== null && after !== before)
      violations.push(`I1: the job ${id} went from ${before} to ${after}`);
    const isSameAttempt = change.old_attempt === change.new_attempt;
    if (isSameAttempt && (change.new_progress ?? 0) < (change.old_progress ?? 0))
      violations.push(`I8: the progress of ${id} fell from ${change.old_progress} to ${change.new_progress}`);
  }
  const last = changes.at(-1)?.new_status;
  if (last === undefined || last === null || !isFinal(last as JobStatus)) violations.push(`I2: a job ended as ${last}`);
  return violations;
}

/** Every object that the results name is there and is not empty. */
async function objectsOf(job: CheckedJob, media: ObjectStore): Promise<string[]> {
  if (job.status !== 'completed') return [];
  const keys = [...new Set(JSON.stringify(job.results).match(/(videos|images)\/[^"]+/g) ?? [])];
  if (keys.length === 0) return [`I4: the results of ${job.id} name no object`];
  const found = await Promise.all(keys.map(async (key) => ({ key, info: await media.head(key) })));
  return found
    .filter(({ info }) => info === null || info.sizeBytes === 0)
    .map(({ key }) => `I4: the results of ${job.id} name ${key}, which is not there`);
}

/** A master that can be read leads to objects that are there, and in an encrypted stream to no clear track. */
async function masterOf(hash: string, isEncrypted: boolean, media: ObjectStore): Promise<string[]> {
  const violations: string[] = [];
  const seen = new Set<string>();
  const visit = async (key: string, from: string): Promise<void> => {
    if (seen.has(key)) return;
    seen.add(key);
    const object = await media.get(key);
    if (object === null) return void violations.push(`I5: ${from} names ${key}, which is not there`);
    const bytes = Buffer.concat((await object.body.toArray()) as Buffer[]);
    if (bytes.length === 0) violations.push(`I5: ${key} is empty`);
    if (!key.endsWith('.m3u8')) return;
    const text = bytes.toString('utf8');
    const isMedia = text.includes('#EXTINF');
    if (isMedia && !text.includes('#EXT-X-ENDLIST')) violations.push(`I5: ${key} has no end`);
    for (const target of targetsOf(text)) await visit(posix.join(posix.dirname(key), target), key);
    if (isEncrypted || text.includes('#EXT-X-KEY')) violations.push(...(await clearInits(key, text, media)));
  };
  if ((await media.head(masterKey(hash))) !== null) await visit(masterKey(hash), 'the address of the stream');
  return violations;
}

/** Relative addresses of a playlist, but the addresses of keys. */
function targetsOf(playlist: string): string[] {
  const lines = playlist.split('\n').map((line) => line.trim());
  const uris = lines.flatMap((line) => {
    if (line === '' || /^#EXT-X-(SESSION-)?KEY/.test(line)) return [];
    if (!line.startsWith('#')) return [line];
    const uri = /URI="([^"]+)"/.exec(line)?.[1];
    return uri === undefined ? [] : [uri];
  });
  return uris.filter((uri) => !/^[a-z]+:/.test(uri)).map((uri) => uri.replace(/\?.*$/, ''));
}

/** An init segment of an encrypted track says so: `encv` or `enca`, and the scheme `cbcs`. */
async function clearInits(key: string, playlist: string, media: ObjectStore): Promise<string[]> {
  const uri = /#EXT-X-MAP:URI="([^"]+)"/.exec(playlist)?.[1];
  if (uri === undefined) return [];
  const path = posix.join(posix.dirname(key), uri);
  const object = await media.get(path);
  const bytes = object === null ? Buffer.alloc(0) : Buffer.concat((await object.body.toArray()) as Buffer[]);
  return /enc[va]/.test(bytes.toString('latin1')) && bytes.includes('cbcs') ? [] : [`I9: ${path} is clear`];
}

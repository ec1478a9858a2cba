import { createHash, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { until } from '../controller-rig.ts';
import type { World } from './world.ts';

// What callers do beside submitting single jobs. Each repeats what is not answered, as callers do.

const patienceMs = 60_000;

/** Deletes a media, and waits until nothing of it is left. */
export async function deleteMedia(world: World, hash: string): Promise<void> {
  await beginDeletion(world, hash);
  await deletionEnded(world, hash);
}

export async function beginDeletion(world: World, hash: string): Promise<void> {
  const { status } = await world.insist('DELETE', `/api/media/${hash}`);
  if (status < 300 && !world.facts.deletions.has(hash)) world.facts.deletions.set(hash, Date.now());
}

/** Waits until nothing of a media is left. */
export async function deletionEnded(world: World, hash: string): Promise<void> {
  const { pool } = world.database;
  // A deletion that was disturbed is due again much later.
  const bringOn = `update media_deletions set due_at = now()
    where hash = $1 and finished_at is null and due_at > now() + interval '1 minute'`;
  const ended = 'select 1 from media_deletions where hash = $1 and finished_at is not null';
  await until(
    async () => {
      await pool.query(bringOn, [hash]);
      return (await pool.query(ended, [hash])).rowCount;
    },
    (count) => count === 1,
    patienceMs,
  );
}

interface BegunUpload {
  readonly upload_id: string;
  readonly source: string;
  readonly parts: readonly { readonly url: string }[];
}

/** @param announced its SHA-256, by default the right one */
export async function beginUpload(world: World, bytes: Buffer, announced = sha256Of(bytes)): Promise<BegunUpload> {
  const given = { name: 'upload.png', size: bytes.length, content_type: 'image/png', sha256: announced };
  const { status, body } = await world.insist('POST', '/api/uploads', given);
  if (status !== 201) throw new Error(`upload refused: ${JSON.stringify(body)}`);
  return body as unknown as BegunUpload;
}

const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** Puts its only part. */
export async function putPart(world: World, { parts }: BegunUpload, bytes: Buffer): Promise<void> {
  const { href, pathname, search } = new URL(parts[0]?.url ?? '');
  const isOfService = pathname.startsWith('/api/');
  await until(
    // The server may have been started again, at another port.
    () =>
      fetch(isOfService ? world.processes[0]?.url() + pathname + search : href, {
        method: 'PUT',
        body: new Uint8Array(bytes),
      }).then(
        ({ status }) => status,
        () => 500,
      ),
    (status) => status === 200,
    patienceMs,
  );
}

/** @returns the status of the last answer */
export async function completeUpload(world: World, { upload_id: id }: BegunUpload): Promise<number> {
  for (;;) {
    const { status } = await world.insist('POST', `/api/uploads/${id}/complete`);
    if (status !== 202) return status;
    await sleep(100);
  }
}

/** @returns its key, once it has completed */
export async function uploadFile(world: World, bytes: Buffer): Promise<string> {
  const upload = await beginUpload(world, bytes);
  await putPart(world, upload, bytes);
  const status = await completeUpload(world, upload);
  if (status !== 200) throw new Error(`upload not completed: ${status}`);
  return upload.source;
}

/** Lets time run out for open uploads, and waits until what every ended one stored is removed. */
export async function expireUploads(world: World): Promise<void> {
  await world.drain('upload_expiry', { change: `expires_at = now() - interval '1 second'` });
  await world.drain('upload_removal', { change: 'due_at = now()', only: `due_at > now() + interval '1 minute'` });
}

interface BegunImport {
  readonly import_id: string;
  readonly source: string;
}

/** @param announced its SHA-256, by default none */
export async function beginImport(world: World, name: string, announced?: string): Promise<BegunImport> {
  const url = `${world.files.url}/${randomUUID()}/${name}`;
  const { status, body } = await world.insist('POST', '/api/imports', { url, ...(announced && { sha256: announced }) });
  if (status !== 202) throw new Error(`import refused: ${JSON.stringify(body)}`);
  return body as unknown as BegunImport;
}

/** @returns the status with which it ended */
export async function importEnded(world: World, { import_id: id }: BegunImport): Promise<string> {
  const status = async () => (await world.insist('GET', `/api/imports/${id}`)).body.status ?? '';
  return until(status, (now) => ['completed', 'failed', 'cancelled'].includes(now), patienceMs);
}

/** Waits until every import has ended, and what those that did not complete stored is removed. */
export async function cleanUpImports(world: World): Promise<void> {
  const later = { change: 'due_at = now()', only: `due_at > now() + interval '5 seconds'` };
  await world.drain('import', later);
  await world.drain('import_removal', later);
}

/** Announces a version of an object, as its bucket does. @returns the ids of jobs that the answer names */
export async function announce(world: World, key: string, version: string): Promise<string[]> {
  const record = {
    eventName: 's3:ObjectCreated:Put',
    s3: { bucket: { name: 'source' }, object: { key, eTag: version } },
  };
  const { status, body } = await world.insist('POST', '/api/events/s3', { Records: [record] });
  const { jobs = [] } = body as { readonly jobs?: readonly { readonly job_id: string | null }[] };
  const ids = jobs.flatMap(({ job_id: id }) => id ?? []);
  if (ids.length === 0) throw new Error(`announced for nothing: ${status} ${JSON.stringify(body)}`);
  const known = world.facts.announced.get(`${key} ${version}`) ?? new Set<string>();
  world.facts.announced.set(`${key} ${version}`, new Set([...known, ...ids]));
  return ids;
}

/** Submits several jobs at once until each has an answer. @returns the ids of those that were accepted */
export async function submitBatch(world: World, jobs: readonly object[]): Promise<string[]> {
  for (const givesUpAt = Date.now() + patienceMs; ;) {
    const { body } = await world.insist('POST', '/api/jobs/batch', { jobs });
    const entries = (body as { readonly jobs?: readonly BatchEntry[] }).jobs ?? [];
    if (entries.length > 0 && entries.every(({ status }) => status < 500))
      return [...new Set(entries.flatMap(({ job }) => job?.job_id ?? []))];
    if (Date.now() > givesUpAt) throw new Error(`batch not accepted: ${JSON.stringify(body)}`);
    await sleep(100);
  }
}

interface BatchEntry {
  readonly status: number;
  readonly job?: { readonly job_id: string };
}

/** @returns the id of the job that makes another one again */
export async function rerun(world: World, id: string): Promise<string> {
  const { body } = await world.insist('POST', `/api/jobs/${id}/rerun`, { reason: 'a test' });
  if (body.job_id === undefined) throw new Error(`rerun refused: ${JSON.stringify(body)}`);
  return body.job_id;
}

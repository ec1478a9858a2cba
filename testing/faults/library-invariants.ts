import { createHash } from 'node:crypto';
import { mediaFolders } from '#domain/library/deletion.ts';
import { workRoot } from '#domain/media/object-keys.ts';
import { bytesAt, keysBelow } from './object-invariants.ts';
import type { World } from './world.ts';

// What holds of deleted media, uploads, imports, announced objects and reruns (docs/reference/invariants.md).

/** Servers of delivery learn of a deletion within this time. */
const noticedMs = 3_000;

/** A deleted media answers 410, and nothing of it is stored. */
export async function deletionsOf(world: World): Promise<string[]> {
  const { pool } = world.database;
  const { rows } = await pool.query<{ hash: string }>(
    'select hash from media_deletions where finished_at is not null and lifted_at is null',
  );
  const violations: string[] = [];
  for (const { hash } of rows) {
    const jobs = await pool.query<{ id: string }>('select id from jobs where hash = $1', [hash]);
    const folders = [...mediaFolders(hash), ...jobs.rows.map(({ id }) => `${workRoot(id)}/`)];
    for (const folder of folders)
      for (const key of await keysBelow(world.media, folder)) violations.push(`I28: ${key} of a deleted media is left`);
    const keys = await pool.query('select 1 from content_keys where hash = $1', [hash]);
    if (keys.rowCount !== 0) violations.push(`I28: the content key of the deleted media ${hash} is left`);
    const status = await streamStatus(world, hash);
    if (status !== 410) violations.push(`I28: the stream of the deleted media ${hash} answers ${status}`);
  }
  return violations;
}

/**
 * The streams that still answer after the deletion of their media was accepted, unless PostgreSQL is or was just away.
 */
export async function playedAfterDeletion(world: World): Promise<string[]> {
  const { deletions, database } = world.facts;
  const areLearnt = () => database.faults === 0 && Date.now() - database.backAt > noticedMs;
  if (!areLearnt()) return [];
  const due = [...deletions].filter(([, at]) => Date.now() - at > noticedMs);
  const statuses = await Promise.all(due.map(([hash]) => streamStatus(world, hash).catch(() => 0)));
  if (!areLearnt()) return [];
  return due.flatMap(([hash], index) =>
    statuses[index] === 200 ? [`I28: the stream of ${hash} is played after its deletion was accepted`] : [],
  );
}

async function streamStatus(world: World, hash: string): Promise<number> {
  const answer = await fetch(`${world.processes[0]?.url()}/stream/${hash}/master.m3u8`);
  await answer.body?.cancel();
  return answer.status;
}

interface UploadRow {
  readonly kind: 'upload' | 'import';
  readonly id: string;
  readonly source: string;
  readonly size: number;
  readonly sha256: string | null;
  readonly etag: string | null;
  readonly status: string;
  readonly multipart_id: string | null;
  readonly is_cleaned_up: boolean;
}

const inKind = (kind: UploadRow['kind']) => `
  select '${kind}' as kind, id, source, size_bytes::float8 as size, sha256, etag, status, multipart_id,
    cleaned_up_at is not null as is_cleaned_up from ${kind}s`;

/** The object of a completed upload or import is as announced; of one that ended otherwise nothing is left. */
export async function uploadsOf({ database, source, parts }: World): Promise<string[]> {
  const { rows } = await database.pool.query<UploadRow>(`${inKind('upload')} union all ${inKind('import')}`);
  const violations: string[] = [];
  for (const upload of rows) {
    const { kind, id, source: key, status } = upload;
    const info = await source.head(key);
    if (status === 'completed') {
      const bytes = (await bytesAt(source, key)) ?? Buffer.alloc(0);
      const isWhole = bytes.length === upload.size && info?.etag === upload.etag;
      const isAnnounced = upload.sha256 === null || sha256Of(bytes) === upload.sha256;
      if (!isWhole || !isAnnounced)
        violations.push(`I29: the object of the completed ${kind} ${id} is not as announced`);
    }
    if (!upload.is_cleaned_up) continue;
    const multipart = upload.multipart_id === null ? null : { key, id: upload.multipart_id };
    const stored = multipart === null ? [] : ((await parts?.list(multipart)) ?? []);
    if (info !== null || stored.length > 0) violations.push(`I30: the ${status} ${kind} ${id} left what it stored`);
  }
  const known = new Set(rows.map((row) => row.source));
  for (const key of await keysBelow(source, 'uploads/'))
    if (!known.has(key)) violations.push(`I30: no upload or import is known of ${key}`);
  return violations;
}

const sha256Of = (bytes: Buffer) => createHash('sha256').update(bytes).digest('hex');

/** Each version of an object that the bucket announces makes one job. */
export function announcedOf({ facts }: World): string[] {
  return [...facts.announced]
    .filter(([, ids]) => ids.size > 1)
    .map(([version, ids]) => `I31: ${version} was announced, and made the jobs ${[...ids].join(', ')}`);
}

/** Reruns of one job are not active at the same time. */
export async function rerunsOf({ database }: World): Promise<string[]> {
  const { rows } = await database.pool.query<{ one: string; other: string }>(
    `with life as (
       select jobs.id, rerun_of_job_id as of,
         (select min(at) from recorded_changes where job_id = jobs.id) as begins,
         (select min(at) from recorded_changes where job_id = jobs.id
            and new_status in ('completed', 'failed', 'cancelled')) as ends
       from jobs where rerun_of_job_id is not null
     )
     select one.id as one, other.id as other from life one join life other on one.of = other.of and one.id <> other.id
     where one.begins <= other.begins and other.begins < coalesce(one.ends, 'infinity')`,
  );
  return rows.map(({ one, other }) => `I32: the equal reruns ${one} and ${other} were active at the same time`);
}

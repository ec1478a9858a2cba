import { randomBytes } from 'node:crypto';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { describe, expect, inject, it, type TestContext } from 'vitest';
import { readStorageSettings } from '#platform/config/storage-settings.ts';
import { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import { DeletionFence } from '#platform/postgres/deletion-fence.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { cleanupTask } from '../../controller/upkeep/cleanup.ts';
import { openFleet } from '../../testing/fleet.ts';
import { sample } from '../../testing/media.ts';

// Where the clear video of an encrypted stream lies at rest, watched in the folders of a real S3 server.

/** A bucket that is looked at while a job runs. */
interface WatchedBucket {
  /** Every key that was ever there, of those with a part of the clear video. */
  readonly clearKeys: Set<string>;
  readonly keys: Set<string>;
}

describe.skipIf(!inject('postgres') || !inject('redis') || !inject('s3')?.dir)('an encrypted long video', () => {
  it('C24.11: WORK_BUCKET holds every working object, so that no clear byte is ever in the media bucket', async (context) => {
    const { media, work, sources, left } = await encode(context);
    expect([...(media?.clearKeys ?? [])]).toEqual([]);
    expect([...(media?.keys ?? [])].filter((key) => !key.startsWith('videos/'))).toEqual([]);
    expect(media?.keys.size).toBeGreaterThan(10);
    expect([...(work?.keys ?? [])].filter((key) => !key.startsWith('work/'))).toEqual([]);
    expect(work?.clearKeys.size).toBeGreaterThan(0);
    expect([sources, left]).toEqual([[], []]);
  });
});

/** Encodes the video; what the buckets held meanwhile, and what they hold after its cleanup. */
async function encode(context: TestContext) {
  const fleet = await openFleet(context);
  const { endpoint, dir, accessKeyId, secretAccessKey } = inject('s3')!;
  if (dir === null) throw new Error('the S3 server has no folder');
  const [mediaBucket, workBucket] = ['media', 'work'].map(
    (kind) => `clear-${kind}-${randomBytes(4).toString('hex')}`,
  ) as [string, string];
  for (const bucket of [mediaBucket, workBucket]) await mkdir(join(dir, bucket));
  const env = {
    MEDIA_BUCKET: mediaBucket,
    MEDIA_S3_ENDPOINT: endpoint,
    MEDIA_S3_ACCESS_KEY_ID: accessKeyId,
    MEDIA_S3_SECRET_ACCESS_KEY: secretAccessKey,
    CHUNK_LENGTH: '6s',
    WORK_BUCKET: workBucket,
  };
  const clip = '-f lavfi -i testsrc2=s=192x108:r=10:d=20 -f lavfi -i sine=f=440:r=48000:d=20';
  const path = await sample('clear.mp4', `${clip} -c:v libx264 -g 20 -pix_fmt yuv420p -c:a aac`);
  await fleet.addSource('clip.mp4', path);
  const parts = partsOf(await readFile(path));
  const watches = [mediaBucket, workBucket].map((bucket) => watch(join(dir, bucket), parts));
  const worker = await fleet.start('worker', env);
  const id = await fleet.submit('video:transcode', 'clip.mp4', { options: { encrypt: true } });
  expect(await fleet.finished(id)).toMatchObject({ status: 'completed', attempt: 1 });
  const [media, work] = await Promise.all(watches.map((each) => each.stop()));
  await worker.end();
  const store = openObjectStore(readStorageSettings(env, 'MEDIA'));
  const sources = await keysIn(store.list('work/'), '.nut');
  await fleet.database.pool.query(`update jobs set finished_at = now() - interval '1 day'`);
  const { database } = fleet;
  const stores = { cleanup: new CleanupStore(database), fence: new DeletionFence(database), media: store };
  const log = createLogger({ level: 'silent', name: 'test' });
  const cleanup = cleanupTask({ ...stores, log, graceMs: 1000 });
  await cleanup.work(new AbortController().signal);
  const left = await Promise.all([mediaBucket, workBucket].map((bucket) => filesIn(join(dir, bucket))));
  await store.close();
  return { media, work, sources, left: left.flat().filter((key) => key.startsWith('work/')) };
}

async function keysIn(objects: AsyncIterable<{ readonly key: string }>, end: string): Promise<string[]> {
  const keys: string[] = [];
  for await (const { key } of objects) if (key.endsWith(end)) keys.push(key);
  return keys;
}

/** Pieces of a file from all over it, each long enough to be in no other file by chance. */
function partsOf(bytes: Buffer): Buffer[] {
  return Array.from({ length: 100 }, (_, index) => {
    const at = Math.floor((bytes.length * (index + 1)) / 102);
    return bytes.subarray(at, at + 24);
  });
}

/** The keys of a bucket that is a folder; the server writes hidden files beside them. */
async function filesIn(dir: string): Promise<string[]> {
  const entries = await readdir(dir, { recursive: true, withFileTypes: true });
  const files = entries
    .filter((entry) => entry.isFile())
    .map((entry) => relative(dir, join(entry.parentPath, entry.name)));
  return files.filter((file) => !file.startsWith('.'));
}

/** Looks at every object of a bucket again and again. */
function watch(dir: string, parts: readonly Buffer[]) {
  const found: WatchedBucket = { clearKeys: new Set(), keys: new Set() };
  const stopping = new AbortController();
  const look = async () => {
    while (!stopping.signal.aborted) {
      for (const key of await filesIn(dir).catch(() => [])) {
        if (found.keys.has(key)) continue;
        const bytes = await readFile(join(dir, key)).catch(() => null);
        if (bytes === null) continue;
        found.keys.add(key);
        if (parts.some((part) => bytes.includes(part))) found.clearKeys.add(key);
      }
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
  };
  const looking = look();
  const stop = async () => {
    stopping.abort();
    await looking;
    return found;
  };
  return { stop };
}

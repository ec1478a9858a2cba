import { randomUUID } from 'node:crypto';
import { rm } from 'node:fs/promises';
import { mediaProfilesSchema } from '#domain/media/profiles.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import { type Database, openDatabase } from '#platform/postgres/database.ts';
import { DeletedMediaStore } from '#platform/postgres/deleted-media-store.ts';
import { DeletionFence } from '#platform/postgres/deletion-fence.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { MediaDeletionStore } from '#platform/postgres/media-deletion-store.ts';
import { MediaStore } from '#platform/postgres/media-store.ts';
import { PoolStore } from '#platform/postgres/pool-store.ts';
import { ProfileStore } from '#platform/postgres/profile-store.ts';
import { RetentionStore } from '#platform/postgres/retention-store.ts';
import { RolloutStore } from '#platform/postgres/rollout-store.ts';
import { UploadStore } from '#platform/postgres/upload-store.ts';
import type { TicketQueue } from '#platform/queue/ticket-queue.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { openUploadBucket } from '#platform/storage/upload-bucket.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { makeFolders } from '../../controller-rig.ts';
import { secrets } from '../../programs.ts';
import { pick, type Random } from '../random.ts';
import { watchDeadlocks } from './deadlocks.ts';
import { type Pauses, pauseStatements, pausesOf, pausing } from './pauses.ts';

// The product's use cases on a real database and on folders, with actors that are frozen at random. Two things are
// stood in for: an encode is a stream of three small objects, and the queue is a list of tickets, which are taken in any
// order, late, and twice.

const requests = ['head', 'get', 'put', 'putNew', 'delete', 'readStart'] as const;

/** One deletion and one publication at a time occupy a connection each while they are frozen. */
const connections = 70;

export const sources = ['a.mp4', 'b.mp4', 'c.mp4'];

export type Ground = Awaited<ReturnType<typeof openGround>>;

export async function openGround(databaseUrl: string, random: Random) {
  const folders = await makeFolders('reelwright-crossings-');
  const state: { pauses: Pauses } = { pauses: pausesOf(random) };
  const pauses = () => state.pauses;
  const database = openDatabase(databaseUrl, { maxConnections: connections, connectionTimeoutMs: 30_000 });
  pauseStatements(database, pauses);
  /** The connection that looks on, and is never frozen. */
  const watching = openDatabase(databaseUrl, { maxConnections: 6 });
  const deadlocks = watchDeadlocks([database, watching]);
  const bucket = (name: 'source' | 'media') => openObjectStore({ bucket: name, dir: folders[name] });
  const [source, media] = [bucket('source'), bucket('media')];
  for (const key of sources) await source.put(key, Buffer.alloc(10, 1), { contentType: 'video/mp4' });
  const uploads = openUploadBucket({
    store: { bucket: 'source', dir: folders.source },
    publicEndpoint: undefined,
    prefix: 'uploads/',
    expiryMs: 3_600_000,
    openMax: 10_000,
  });
  const tickets = new Map<string, Ticket>();
  return {
    /** Not paused. */
    source,
    media,
    watching,
    deadlocks,
    uploads: {
      ...uploads,
      objects: pausing(uploads.objects, requests, pauses),
      parts: pausing(uploads.parts, ['list', 'complete', 'abort'], pauses),
    },
    /** From now on no actor is frozen. */
    thaw: () => state.pauses.end(),
    /** From now on they are again. */
    freeze: () => void (state.pauses = pausesOf(random)),
    tickets,
    d: dependenciesOf(database, { source, media: pausing(media, requests, pauses), queue: queueOf(tickets) }),
    async close(): Promise<void> {
      for (const each of [uploads, source, media, database, watching]) await each.close();
      await rm(folders.dir, { recursive: true, force: true });
    },
  };
}

function dependenciesOf<Stores extends object>(database: Database, stores: Stores) {
  return {
    ...stores,
    database,
    jobs: new JobStore(database),
    rollouts: new RolloutStore(database),
    library: new MediaStore(database),
    profiles: new ProfileStore(database),
    pools: new PoolStore(database),
    deletions: new MediaDeletionStore(database),
    deleted: new DeletedMediaStore(database),
    fence: new DeletionFence(database),
    cleanup: new CleanupStore(database),
    retention: new RetentionStore(database),
    uploadRows: new UploadStore(database),
    keys: new ContentKeyStore(database, { encryptionKeys: [secrets.ENCRYPTION_KEY] }),
    metrics: new Metrics(),
    randomUuid: () => randomUUID(),
    clock: () => new Date(),
    isStorageAway: () => false,
    purgeHookUrl: 'http://cdn.example/',
    log: createLogger({ level: (process.env['RIG_LOG'] as 'info' | undefined) ?? 'silent', name: 'test' }),
    config: {
      maxFileSizeBytes: 1e9,
      largeVideoThresholdBytes: 1e8,
      repairMissing: false,
      mediaProfiles: mediaProfilesSchema.parse({ profiles: { small: { crf: 30 }, other: { crf: 28 } } }),
    },
  };
}

const idOf = ({ jobId, attempt }: Pick<Ticket, 'jobId' | 'attempt'>) => `${jobId}:${attempt}`;

function queueOf(tickets: Map<string, Ticket>): TicketQueue {
  return {
    add: async (ticket) => void tickets.set(idOf(ticket), ticket),
    remove: async (ticket) => void tickets.delete(idOf(ticket)),
    reader: () => {
      throw new Error('no reader');
    },
    depth: async () => ({}) as never,
    ping: async () => undefined,
    close: async () => undefined,
  };
}

/** A ticket of those that wait; some stay, and are taken again. */
export function takeTicket(tickets: Map<string, Ticket>, random: Random): Ticket | undefined {
  if (tickets.size === 0) return undefined;
  const [id, ticket] = pick(random, [...tickets]);
  if (random() < 0.9) tickets.delete(id);
  return ticket;
}

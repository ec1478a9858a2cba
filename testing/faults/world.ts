import { randomBytes } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { JobType } from '#domain/job-types/index.ts';
import { isAlive } from '#platform/commands/is-alive.ts';
import { openDatabase } from '#platform/postgres/database.ts';
import { openFolderMultipart } from '#platform/storage/folder/folder-multipart.ts';
import type { MultipartStore } from '#platform/storage/multipart-store.ts';
import type { ObjectStore } from '#platform/storage/object-store.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { checkout } from '../checkout.ts';
import { makeFolders, until, workspacesIn } from '../controller-rig.ts';
import { migratedDatabase } from '../databases.ts';
import { hastyVariables, secrets } from '../programs.ts';
import { startRedis } from '../servers.ts';
import { folderVariable, hasFired, type RunPlan, writePlan } from './plan.ts';
import { durationOf } from './duration.ts';
import { openFiles } from './files.ts';
import { recordRows } from './history.ts';
import { plantedFile } from './planted-bugs.ts';
import { type Supervised, supervised } from './processes.ts';
import { openReceiver } from './receiver.ts';
import { openRounds } from './rounds.ts';

// The service as separate processes that are started again when they end, a receiver of webhooks, and a caller that
// repeats what is not answered, as callers do.

export type World = Awaited<ReturnType<typeof openWorld>>;

/** The facts that the harness itself did or saw, which rows and objects cannot say. */
export interface Facts {
  /** When requests to a bucket failed, all of them or some, in milliseconds of the clock. */
  readonly outages: { readonly from: number; readonly to: number; readonly isWhole: boolean }[];
  /** Faults of PostgreSQL under way, and when the last one ended, in milliseconds of the epoch. */
  readonly database: { faults: number; backAt: number };
  /** The versions of sources, by ETag. */
  readonly sources: Map<string, { readonly key: string; readonly durationSec: number }>;
  /** Why jobs waited, as their callers saw it. */
  readonly waits: {
    readonly at: number;
    readonly id: string;
    readonly code: string | null;
    readonly message: string;
  }[];
  /** Media whose deletion was accepted, by the time of the answer. */
  readonly deletions: Map<string, number>;
  /** The jobs that answers named for each version of an object that the bucket announced. */
  readonly announced: Map<string, Set<string>>;
}

/** The prefix of objects that are submitted when the bucket announces them. */
export const announcedPrefix = 'announced/';

/** How long a caller goes on repeating a request, and how long the open jobs and webhooks may stay as they are. */
const patienceMs = 60_000;
/** By then all must have ended, also where something changes all the time. */
const settledWithinMs = 10 * patienceMs;

/**
 * The servers and folders that the service stands on. The checker reads them without the faults that the service meets.
 */
export interface Ground {
  readonly dir: string;
  readonly work: string;
  /** `DATABASE_URL` and the others. */
  readonly variables: Readonly<Record<string, string>>;
  readonly databaseUrl: string;
  readonly source: ObjectStore;
  readonly media: ObjectStore;
  /** The store of uploads to the source bucket; null where they are off. */
  readonly parts: MultipartStore | null;
  readonly close: () => Promise<void>;
}

interface WorldOptions {
  readonly env?: Readonly<Record<string, string>>;
  readonly workers?: number;
  /** The bug that every process has. */
  readonly planted?: string;
  readonly ground?: Ground;
}

/** A database, a Redis, and folders as buckets. */
async function calmGround(): Promise<Ground> {
  const { dir, source, media, work } = await makeFolders('reelwright-faults-');
  const testDatabase = await migratedDatabase();
  const redis = await startRedis();
  return {
    dir,
    work,
    variables: {
      ...hastyVariables({ databaseUrl: testDatabase.url, redisUrl: redis.url, source, media, work }),
      UPLOAD_BUCKET: `file:${source}`,
      EVENT_RULES: JSON.stringify([{ prefix: announcedPrefix, type: 'video:cover' }]),
    },
    databaseUrl: testDatabase.url,
    source: openObjectStore({ bucket: 'source', dir: source }),
    media: openObjectStore({ bucket: 'media', dir: media }),
    parts: openFolderMultipart(source),
    close: async () => {
      await testDatabase.drop();
      await redis.stop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

export async function openWorld({ env = {}, workers: count = 1, planted, ground: given }: WorldOptions = {}) {
  const ground = given ?? (await calmGround());
  const { dir, work, media } = ground;
  const folder = join(dir, 'faults');
  const receiver = await openReceiver();
  const files = await openFiles();
  const database = openDatabase(ground.databaseUrl);
  await recordRows(database);
  writePlan(folder, { run: 0, fault: null });
  if (planted !== undefined) await writeFile(join(folder, plantedFile), planted);
  const base = {
    ...ground.variables,
    CHUNK_LENGTH: '6s',
    API_RATE_LIMIT_PER_MINUTE: '100000',
    WEBHOOK_BACKOFF: '0s,500ms,500ms,1s,1s',
    JOB_RETENTION: '30d',
    REVISION_RETENTION: '10d',
    ...(ground.parts === null ? {} : { IMPORT_HOSTS: files.host, IMPORT_ALLOWED_CIDRS: '127.0.0.1/32' }),
    NODE_OPTIONS: `--import ${pathToFileURL(join(checkout, 'testing/faults/preload.ts')).href}`,
    [folderVariable]: folder,
    ...env,
  };
  const server = await supervised('server', base);
  const workers = await Promise.all(Array.from({ length: count }, () => supervised('worker', base)));
  const processes = [server, ...workers];
  const facts: Facts = {
    outages: [],
    database: { faults: 0, backAt: 0 },
    sources: new Map(),
    waits: [],
    deletions: new Map(),
    announced: new Map(),
  };
  const hashes = new Set<string>();
  let run = 0;

  const request = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${server.url()}${path}`, {
      method,
      headers: { 'x-api-key': secrets.API_KEY, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      signal: AbortSignal.timeout(10_000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return {
      status: answer.status,
      body: (await answer.json().catch(() => ({}))) as { readonly job_id?: string; readonly status?: string },
    };
  };
  /** Repeats a request until it has an answer that is not the service's fault. */
  const insist = async (method: string, path: string, body?: object) => {
    for (const deadline = Date.now() + patienceMs; ;) {
      const answer = await request(method, path, body).catch(() => null);
      if (answer !== null && answer.status < 500) return answer;
      if (Date.now() > deadline) throw new Error(`${method} ${path} is not answered: ${JSON.stringify(answer)}`);
      await sleep(100);
    }
  };

  const rounds = openRounds({ database, folder, workers });
  return {
    database,
    folder,
    media,
    source: ground.source,
    parts: ground.parts,
    work,
    processes,
    workers,
    receiver,
    files,
    facts,
    /** The hashes of every media so far. */
    hashes,
    deliveries: receiver.deliveries,
    begin(plan: RunPlan): void {
      run = plan.run;
      writePlan(folder, plan);
    },
    /** Whether the fault of this run has happened. */
    hasFired: () => hasFired(folder, run),
    /** A source, or another version of one. */
    async addSource(key: string, file: string): Promise<void> {
      await ground.source.put(key, await readFile(file), { contentType: 'application/octet-stream' });
      const etag = (await ground.source.head(key))?.etag ?? '';
      facts.sources.set(etag, { key, durationSec: await durationOf(file) });
    },
    insist,
    request,
    /** @returns the id of the job */
    async submit(type: JobType, key: string, more: Submission = {}): Promise<string> {
      const { hash = newHash(), options = {}, receiver: to = '' } = more;
      hashes.add(hash);
      const body = { type, hash, source: key, options, callback_url: receiver.url + to };
      const answer = await insist('POST', '/api/jobs', body);
      if (answer.body.job_id === undefined) throw new Error(`refused: ${JSON.stringify(answer)}`);
      return answer.body.job_id;
    },
    status: async (id: string) => (await insist('GET', `/api/jobs/${id}`)).body.status,
    /**
     * Waits until every job has ended, and every webhook was sent or given up. Throws where none of them changes for
     * `patienceMs`, or not all have ended within `withinMs`.
     */
    async settle(withinMs = settledWithinMs): Promise<void> {
      let [last, movedAt] = ['', 0];
      await until(
        () => openRows(database),
        (open) => {
          if (open.jobs.length === 0 && open.events === 0) return true;
          const now = JSON.stringify(open);
          if (now !== last) [last, movedAt] = [now, Date.now()];
          if (Date.now() - movedAt > patienceMs) throw new Error(`nothing moved for ${patienceMs} ms: ${now}`);
          return false;
        },
        withinMs,
      );
    },
    ...rounds,
    /** Sets a process's clock ahead. */
    skew: (process: Supervised, ms: number) => writeFile(join(folder, `skew-${process.current().pid}`), String(ms)),
    output: () => processes.map(({ output }) => output()).join(''),
    /** The remains elsewhere of jobs that have ended: a line for each object. */
    remains: async (): Promise<string[]> => [],
    /** Ends the processes. @returns the workspaces and processes that they left */
    async stop(): Promise<string[]> {
      const pids = (await Promise.all(processes.map(({ current }) => current().descendants()))).flat();
      await Promise.all(processes.map((program) => program.stop()));
      return [...(await workspacesIn(work)), ...pids.filter(isAlive).map((pid) => `process ${pid}`)];
    },
    async close(): Promise<void> {
      await database.close();
      receiver.close();
      await files.close();
      await ground.close();
    },
  };
}

/** A name that no media had. */
export const newHash = () => `media-${randomBytes(4).toString('hex')}`;

interface Submission {
  readonly hash?: string;
  readonly options?: object;
  /** The path of its receiver; by default the root. */
  readonly receiver?: string;
}

async function openRows(database: ReturnType<typeof openDatabase>) {
  const jobs = await database.pool.query<{ id: string; status: string }>(
    `select id, type, status, attempt, phase, progress, waiting_reason from jobs
     where status in ('queued', 'processing') order by id`,
  );
  const events = await database.pool.query<{ count: number }>(
    `select (select count(*) from jobs where callback_status = 'pending')::int
       + (select count(*) from webhook_events where next_attempt_at is not null)::int as count`,
  );
  return { jobs: jobs.rows, events: events.rows[0]?.count ?? 0 };
}

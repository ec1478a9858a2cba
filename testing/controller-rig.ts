import { randomBytes, randomUUID } from 'node:crypto';
import { mkdir, mkdtemp, readdir, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { JobType } from '#domain/job-types/index.ts';
import { jobTypes } from '#domain/job-types/index.ts';
import type { Job } from '#domain/jobs/job.ts';
import { isFinal } from '#domain/jobs/status.ts';
import type { Ticket } from '#domain/jobs/ticket.ts';
import { type Config, loadConfig } from '#platform/config/config.ts';
import { runComponents } from '#platform/lifecycle/run-components.ts';
import { ContentKeyStore } from '#platform/postgres/content-key-store.ts';
import { openDatabase } from '#platform/postgres/database.ts';
import type { NewJob } from '#platform/postgres/job-row.ts';
import { MediaDeletionStore } from '#platform/postgres/media-deletion-store.ts';
import { ImportStore } from '#platform/postgres/import-store.ts';
import { JobStore } from '#platform/postgres/job-store.ts';
import { PoolStore } from '#platform/postgres/pool-store.ts';
import { ProfileStore } from '#platform/postgres/profile-store.ts';
import { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import { DeletionFence } from '#platform/postgres/deletion-fence.ts';
import { DueWorkStore } from '#platform/postgres/due-work.ts';
import { MediaStore } from '#platform/postgres/media-store.ts';
import { RolloutStore } from '#platform/postgres/rollout-store.ts';
import { RetentionStore } from '#platform/postgres/retention-store.ts';
import { UploadStore } from '#platform/postgres/upload-store.ts';
import { WebhookEventStore } from '#platform/postgres/webhook-event-store.ts';
import { openPostgresTicketQueue } from '#platform/queue/postgres-ticket-queue.ts';
import { openRedisTicketQueue } from '#platform/queue/redis-ticket-queue.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { ticketOf } from '#jobs/submission/enqueue.ts';
import { controllerComponents } from '../controller/controller.ts';
import { TaskEndpoint } from '../controller/execution/task-requests.ts';
import type { ControllerDependencies } from '../controller/dependencies.ts';
import { compileCacheName } from '../controller/process/workspaces.ts';
import { migratedDatabase } from './databases.ts';
import { newJobOf } from './new-job.ts';

// Workers in this process, with the scripted runner as their children, on a database and folders of the test's own.

/** A line of the scripted runner's notes. */
export interface Note {
  readonly what: 'begin' | 'end' | 'spy';
  readonly step: string;
  readonly job: string;
  readonly attempt: number;
  /** The folder for temporary files: each kept runner and each workspace has its own. */
  readonly tmpdir: string;
  readonly at: number;
  readonly code?: number;
  readonly names?: readonly string[];
  /** The content of the workspace at the beginning. */
  readonly found?: readonly string[];
  readonly environments?: number;
  readonly isConnected?: boolean;
  /** The compile caches that the step can write to. */
  readonly caches?: readonly string[];
}

export type Rig = Awaited<ReturnType<typeof openRig>>;

const scriptedRunner = join(import.meta.dirname, '../test/fixtures/scripted-runner.ts');

/** Everything that the workers share. `variables` are added to each worker's environment. */
export async function openRig(variables: Record<string, string> = {}) {
  const { dir, source, media, work } = await makeFolders('reelwright-rig-');
  const notesFile = join(dir, 'notes');
  const testDatabase = await migratedDatabase();
  const config = configOf({
    DATABASE_URL: testDatabase.url,
    SOURCE_BUCKET: `file:${source}`,
    MEDIA_BUCKET: `file:${media}`,
    WORK_DIR: work,
    ...variables,
  });
  const log = createLogger({ level: (process.env['RIG_LOG'] as 'info' | undefined) ?? 'silent', name: 'test' });
  const database = openDatabase(testDatabase.url);
  const jobs = new JobStore(database);
  const profiles = new ProfileStore(database);
  const queue =
    config.redis.kind === 'redis'
      ? openRedisTicketQueue({ url: config.redis.url, log })
      : openPostgresTicketQueue({ databaseUrl: testDatabase.url, log });
  const mediaStore = openObjectStore(config.media);
  const sourceStore = openObjectStore(config.source);
  const workers = new Set<{ stop: () => Promise<void> }>();
  const shared = {
    log,
    jobs,
    profiles,
    poolCopy: new PoolStore(database),
    queue,
    media: mediaStore,
    source: sourceStore,
    webhookEvents: new WebhookEventStore(database),
    cleanup: new CleanupStore(database),
    fence: new DeletionFence(database),
    retention: new RetentionStore(database),
    deletions: new MediaDeletionStore(database),
    library: new MediaStore(database),
    rollouts: new RolloutStore(database),
    uploads: null,
    uploadRows: new UploadStore(database),
    importRows: new ImportStore(database),
    dueWork: new DueWorkStore(database),
    contentKeys: new ContentKeyStore(database, { encryptionKeys: config.encryptionKeys }),
    clock: () => new Date(),
    randomUuid: () => randomUUID(),
    random: () => 0,
    taskEndpoint: new TaskEndpoint(),
    runner: { program: process.execPath, script: scriptedRunner, variables: { PATH: process.env['PATH'] ?? '' } },
  };

  /** Starts a worker; `stop` is the graceful one. */
  const startWorker = (overrides: Partial<Config> = {}, replaced: Partial<ControllerDependencies> = {}) => {
    const stopping = new AbortController();
    const metrics = new Metrics();
    const components = controllerComponents({ ...shared, ...replaced, metrics, config: { ...config, ...overrides } });
    const ended = runComponents(components, { log, stopTimeoutMs: 10_000, signal: stopping.signal });
    ended.catch(() => undefined);
    const worker = {
      metrics,
      stop: async () => {
        workers.delete(worker);
        stopping.abort();
        await ended;
      },
    };
    workers.add(worker);
    return worker;
  };

  const newJob = (what: string, more: Partial<NewJob> & { type?: JobType } = {}): NewJob => {
    const type = more.type ?? 'video:cover';
    const request = { type, hash: `hash-${randomBytes(4).toString('hex')}`, source: `${notesFile.slice(1)}/${what}` };
    const options = jobTypes[type].options.parse({});
    return { ...newJobOf({ ...request, options }), ...more };
  };

  /** On a machine under load the queue may not answer within its two seconds; adding a ticket twice changes nothing. */
  const addTicket = async (ticket: Ticket, triesLeft = 4): Promise<void> => {
    try {
      await queue.add(ticket);
    } catch (error) {
      if (triesLeft === 0) throw error;
      await addTicket(ticket, triesLeft - 1);
    }
  };

  const { find, finished } = readerOf(jobs);

  return {
    config,
    database,
    databaseUrl: testDatabase.url,
    jobs,
    profiles,
    queue,
    source: sourceStore,
    media: mediaStore,
    webhookEvents: shared.webhookEvents,
    cleanup: shared.cleanup,
    fence: shared.fence,
    retention: shared.retention,
    log,
    startWorker,
    find,
    /** Inserts a job and, unless `ticket` is false, adds its ticket. */
    async submit(what: string, more: Partial<NewJob> & { type?: JobType; ticket?: boolean } = {}): Promise<string> {
      const { ticket = true, ...rest } = more;
      const { job } = await jobs.insertOrFind(newJob(what, rest));
      if (ticket) await addTicket(ticketOf(job));
      return job.id;
    },
    finished,
    /** Ends the wait of a job that is to run later: waits until its attempt has that number, and makes it due. */
    async nowDue(id: string, attempt: number): Promise<void> {
      const delayed = 'update jobs set not_before = now() where id = $1 and attempt = $2 and not_before > now()';
      await until(
        async () => (await database.pool.query(delayed, [id, attempt])).rowCount,
        (count) => count === 1,
      );
      const ticket = { jobId: id, attempt, queue: (await find(id)).queue };
      // Whether the worker added its delayed ticket before or adds it afterwards, this one comes first.
      await queue.remove(ticket);
      await addTicket(ticket);
    },
    /** The scripted runner's notes, in order. */
    async notes(): Promise<Note[]> {
      const text = await readFile(notesFile, 'utf8').catch(() => '');
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Note);
    },
    workspaces: () => workspacesIn(work),
    /** The processes of a job's steps. In a namespace of its own a process has another id than the one it notes. */
    processesOf: (id: string) => processesWith(`"job_id":"${id}"`),
    async close(): Promise<void> {
      await Promise.all([...workers].map((worker) => worker.stop()));
      await queue.close();
      // The connections of a queue that was closed by force end a moment later; dropping the database would cut them.
      const open = `select 1 from pg_stat_activity where datname = current_database() and application_name = 'reelwright-queue'`;
      await until(
        async () => (await database.pool.query(open)).rowCount,
        (count) => count === 0,
      );
      await mediaStore.close();
      await sourceStore.close();
      await database.close();
      await testDatabase.drop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** The folders of a test: the two buckets and the workspaces. */
export async function makeFolders(prefix: string) {
  const dir = await mkdtemp(join(tmpdir(), prefix));
  const folders = { source: join(dir, 'source'), media: join(dir, 'media'), work: join(dir, 'work') };
  for (const folder of Object.values(folders)) await mkdir(folder);
  return { dir, ...folders };
}

/** The workspaces below a folder: all that workers made there but their compile caches. */
export async function workspacesIn(folder: string): Promise<string[]> {
  return (await readdir(folder)).filter((name) => !name.includes(compileCacheName));
}

/** Reads jobs that must exist, at once or once they are final. */
export function readerOf(jobs: Pick<JobStore, 'find'>) {
  const find = async (id: string): Promise<Job> => {
    const job = await jobs.find(id);
    if (job === null) throw new Error(`no job ${id}`);
    return job;
  };
  const finished = (id: string, timeoutMs = 200_000) =>
    until(
      () => find(id),
      ({ status }) => isFinal(status),
      timeoutMs,
    );
  return { find, finished };
}

/** A worker's configuration from an environment that has every variable that a worker needs. */
export function configOf(variables: Record<string, string>): Config {
  const loaded = loadConfig(
    {
      REDIS_URL: 'embedded:',
      WEBHOOK_SECRET: 'a webhook secret of the tests',
      ENCRYPTION_KEY: 'an encryption key of the tests',
      BASE_URL: 'https://media.example',
      WORKER_METRICS_PORT: '0',
      LEASE_DURATION: '2s',
      SWEEP_INTERVAL: '300ms',
      TICKET_AGE: '1s',
      ...variables,
    },
    ['--mode=worker'],
  );
  if ('faults' in loaded) throw new Error(loaded.faults.join('; '));
  return loaded.config as Config;
}

/** The ids of all processes of this machine whose environment contains `text`. */
export async function processesWith(text: string): Promise<number[]> {
  const pids = (await readdir('/proc')).filter((name) => /^\d+$/.test(name)).map(Number);
  const environments = await Promise.all(pids.map((pid) => readFile(`/proc/${pid}/environ`, 'utf8').catch(() => '')));
  return pids.filter((_pid, index) => environments[index]?.includes(text));
}

/** Reads a value until `isExpected` holds, and returns it. @throws Error after `timeoutMs` */
export async function until<T>(
  read: () => Promise<T> | T,
  isExpected: (value: T) => boolean,
  timeoutMs = 60_000,
): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await read();
    if (isExpected(value)) return value;
    if (Date.now() > deadline)
      throw new Error(`not within ${timeoutMs} ms; the last value was ${JSON.stringify(value)}`);
    await sleep(25);
  }
}

/** The most jobs of a queue that ran at once, by the runner's notes of `process`. */
export function mostAtOnce(notes: readonly Note[], isCounted: (note: Note) => boolean = () => true): number {
  let now = 0;
  let most = 0;
  for (const note of notes.filter((one) => one.step === 'process' && isCounted(one))) {
    now += note.what === 'begin' ? 1 : -1;
    most = Math.max(most, now);
  }
  return most;
}

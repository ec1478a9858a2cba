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
import { JobStore } from '#platform/postgres/job-store.ts';
import { CleanupStore } from '#platform/postgres/cleanup-store.ts';
import { WebhookEventStore } from '#platform/postgres/webhook-event-store.ts';
import { openPostgresTicketQueue } from '#platform/queue/postgres-ticket-queue.ts';
import { openRedisTicketQueue } from '#platform/queue/redis-ticket-queue.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { createLogger } from '#platform/telemetry/logger.ts';
import { Metrics } from '#platform/telemetry/metrics.ts';
import { controllerComponents } from '../controller/controller.ts';
import { migratedDatabase } from './databases.ts';
import { newJobOf } from './new-job.ts';

// Workers in this process, with the scripted runner as their children, on a database and folders of the test's own.

/** A line of the scripted runner's notes. */
export interface Note {
  readonly what: 'begin' | 'end';
  readonly step: string;
  readonly job: string;
  readonly attempt: number;
  readonly pid: number;
  readonly at: number;
  readonly code?: number;
  readonly names?: readonly string[];
}

export type Rig = Awaited<ReturnType<typeof openRig>>;

const scriptedRunner = join(import.meta.dirname, '../test/fixtures/scripted-runner.ts');

/** Everything that workers share. `variables` are added to each worker's environment. */
export async function openRig(variables: Record<string, string> = {}) {
  const dir = await mkdtemp(join(tmpdir(), 'reelwright-rig-'));
  const [source, media, work] = ['source', 'media', 'work'].map((name) => join(dir, name)) as [string, string, string];
  for (const folder of [source, media, work]) await mkdir(folder);
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
  const queue =
    config.redis.kind === 'redis'
      ? openRedisTicketQueue({ url: config.redis.url, log })
      : openPostgresTicketQueue({ databaseUrl: testDatabase.url, log });
  const mediaStore = openObjectStore(config.media);
  const workers = new Set<{ stop: () => Promise<void> }>();
  const shared = {
    log,
    jobs,
    queue,
    media: mediaStore,
    webhookEvents: new WebhookEventStore(database),
    leftovers: new CleanupStore(database),
    contentKeys: new ContentKeyStore(database, { encryptionKeys: config.encryptionKeys }),
    clock: () => new Date(),
    randomUuid: () => randomUUID(),
    random: () => 0,
    runner: { program: process.execPath, script: scriptedRunner, variables: { PATH: process.env['PATH'] ?? '' } },
  };

  /** Starts a worker; `stop` is the graceful one. */
  const startWorker = (overrides: Partial<Config> = {}) => {
    const stopping = new AbortController();
    const metrics = new Metrics();
    const parts = controllerComponents({ ...shared, metrics, config: { ...config, ...overrides } });
    const ended = runComponents(parts, { log, stopTimeoutMs: 10_000, signal: stopping.signal });
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

  /** A machine under load may keep the queue from answering in its two seconds; adding a ticket twice changes nothing. */
  const addTicket = async (ticket: Ticket, triesLeft = 4): Promise<void> => {
    try {
      await queue.add(ticket);
    } catch (error) {
      if (triesLeft === 0) throw error;
      await addTicket(ticket, triesLeft - 1);
    }
  };

  const find = async (id: string): Promise<Job> => {
    const job = await jobs.find(id);
    if (job === null) throw new Error(`no job ${id}`);
    return job;
  };

  return {
    config,
    database,
    databaseUrl: testDatabase.url,
    jobs,
    queue,
    media: mediaStore,
    webhookEvents: shared.webhookEvents,
    leftovers: shared.leftovers,
    log,
    startWorker,
    find,
    /** Inserts a job, and adds its ticket unless told. */
    async submit(what: string, more: Partial<NewJob> & { type?: JobType; ticket?: boolean } = {}): Promise<string> {
      const { ticket = true, ...rest } = more;
      const { job } = await jobs.insertOrFind(newJob(what, rest));
      if (ticket) await addTicket({ jobId: job.id, attempt: 1, queue: job.queue });
      return job.id;
    },
    finished: (id: string, timeoutMs = 30_000) =>
      until(
        () => find(id),
        (job) => isFinal(job.status),
        timeoutMs,
      ),
    /** What the scripted runner noted, in order. */
    async notes(): Promise<Note[]> {
      const text = await readFile(notesFile, 'utf8').catch(() => '');
      return text
        .split('\n')
        .filter((line) => line !== '')
        .map((line) => JSON.parse(line) as Note);
    },
    workspaces: () => readdir(work),
    async close(): Promise<void> {
      await Promise.all([...workers].map((worker) => worker.stop()));
      await queue.close();
      // A queue that was closed by force has connections that end a moment later; dropping the database would cut them.
      const left = `select 1 from pg_stat_activity where datname = current_database() and application_name = 'reelwright-queue'`;
      await until(
        async () => (await database.pool.query(left)).rowCount,
        (count) => count === 0,
      );
      await mediaStore.close();
      await database.close();
      await testDatabase.drop();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

/** A worker's configuration out of an environment that has all that a worker needs. */
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

/** Asks until `isIt`; the answer then. @throws Error after `timeoutMs` */
export async function until<T>(ask: () => Promise<T> | T, isIt: (value: T) => boolean, timeoutMs = 15_000): Promise<T> {
  const deadline = Date.now() + timeoutMs;
  for (;;) {
    const value = await ask();
    if (isIt(value)) return value;
    if (Date.now() > deadline) throw new Error(`not within ${timeoutMs} ms; the last was ${JSON.stringify(value)}`);
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

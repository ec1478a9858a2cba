import { randomBytes } from 'node:crypto';
import { copyFile, rm } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { once } from 'node:events';
import { type AddressInfo } from 'node:net';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { pathToFileURL } from 'node:url';
import type { JobType } from '#domain/job-types/index.ts';
import { isAlive } from '#platform/commands/is-alive.ts';
import { openDatabase } from '#platform/postgres/database.ts';
import { openObjectStore } from '#platform/storage/open.ts';
import { checkout } from '../checkout.ts';
import { makeFolders, until, workspacesIn } from '../controller-rig.ts';
import { migratedDatabase } from '../databases.ts';
import { hastyVariables, secrets, startProgram } from '../programs.ts';
import { startRedis } from '../servers.ts';
import { folderVariable, type RunPlan, writePlan } from './plan.ts';
import { recordRows } from './history.ts';

// The service as separate processes that are started again when they end, a receiver of webhooks, and a caller that
// repeats what is not answered, as callers do.

/** A webhook as it came. */
export interface Delivery {
  readonly id: string;
  readonly body: string;
}

export type World = Awaited<ReturnType<typeof openWorld>>;

const unswept = 'finished_at is not null and swept_at is null';
const replaced = 'replaced_at is not null and revision_deleted_at is null';

/** How long a caller goes on repeating a request, and everything may take to settle after a fault. */
const patienceMs = 60_000;

export async function openWorld(env: Readonly<Record<string, string>> = {}) {
  const { dir, source, media, work } = await makeFolders('reelwright-faults-');
  const folder = join(dir, 'faults');
  const testDatabase = await migratedDatabase();
  const redis = await startRedis();
  const receiver = await openReceiver();
  const database = openDatabase(testDatabase.url);
  await recordRows(database);
  writePlan(folder, { run: 0, fault: null });
  const base = {
    ...hastyVariables({ databaseUrl: testDatabase.url, redisUrl: redis.url, source, media, work }),
    CHUNK_LENGTH: '6s',
    API_RATE_LIMIT_PER_MINUTE: '100000',
    WEBHOOK_BACKOFF: '0s,500ms,500ms,1s,1s',
    JOB_RETENTION: '30d',
    REVISION_RETENTION: '10d',
    NODE_OPTIONS: `--import ${pathToFileURL(join(checkout, 'testing/faults/preload.ts')).href}`,
    [folderVariable]: folder,
    ...env,
  };
  const server = await supervised('server', base);
  const worker = await supervised('worker', base);

  const request = async (method: string, path: string, body?: object) => {
    const answer = await fetch(`${server.url()}${path}`, {
      method,
      headers: { 'x-api-key': secrets.API_KEY, ...(body === undefined ? {} : { 'content-type': 'application/json' }) },
      signal: AbortSignal.timeout(10_000),
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
    return {
      status: answer.status,
      body: (await answer.json()) as { readonly job_id?: string; readonly status?: string },
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

  /** Changes the rows that are due, and starts the worker again, until there are none. */
  const untilDone = (due: string, change: string) =>
    until(
      async () => {
        await database.pool.query(`update jobs set ${change} where ${due}`);
        await worker.restart();
        await sleep(1_500);
        return (await database.pool.query(`select 1 from jobs where ${due}`)).rowCount;
      },
      (left) => left === 0,
      patienceMs,
    );

  return {
    database,
    folder,
    media: openObjectStore({ bucket: 'media', dir: media }),
    deliveries: receiver.deliveries,
    begin: (plan: RunPlan) => writePlan(folder, plan),
    addSource: (key: string, file: string) => copyFile(file, join(source, key)),
    insist,
    /** @returns the id of the job */
    async submit(type: JobType, key: string, more: { hash?: string; options?: object } = {}): Promise<string> {
      const hash = more.hash ?? `media-${randomBytes(4).toString('hex')}`;
      const body = { type, hash, source: key, options: more.options ?? {}, callback_url: receiver.url };
      const answer = await insist('POST', '/api/jobs', body);
      if (answer.body.job_id === undefined) throw new Error(`refused: ${JSON.stringify(answer)}`);
      return answer.body.job_id;
    },
    status: async (id: string) => (await insist('GET', `/api/jobs/${id}`)).body.status,
    /** Waits until every job has ended, and every webhook was sent or given up. */
    async settle(): Promise<void> {
      await until(
        () => openRows(database),
        ({ jobs, events }) => jobs.length === 0 && events === 0,
        patienceMs,
      );
    },
    /** Makes every ended job due, and waits until the worker has removed its working objects. */
    cleanUp: () => untilDone(unswept, "finished_at = finished_at - interval '3 hours', cleanup_after = null"),
    /** Makes every job that is cleaned up older than the retention times, and waits until the worker has removed it. */
    async expire(): Promise<void> {
      await untilDone(replaced, `${older('replaced_at')}, retention_after = null`);
      await untilDone('swept_at is not null', `${older('finished_at')}, retention_after = null`);
    },
    output: () => `${server.output()}${worker.output()}`,
    /** What jobs that have ended left elsewhere: a line for each object. */
    remains: async (): Promise<string[]> => [],
    /** Ends the processes. @returns the workspaces that they left */
    async stop(): Promise<string[]> {
      await Promise.all([server.stop(), worker.stop()]);
      return workspacesIn(work);
    },
    async close(): Promise<void> {
      await database.close();
      await testDatabase.drop();
      await redis.stop();
      receiver.close();
      await rm(dir, { recursive: true, force: true });
    },
  };
}

const older = (column: string) => `${column} = ${column} - interval '40 days'`;

async function openRows(database: ReturnType<typeof openDatabase>) {
  const jobs = await database.pool.query<{ id: string; status: string }>(
    `select id, type, status, attempt, phase, waiting_reason from jobs where status in ('queued', 'processing')`,
  );
  const events = await database.pool.query<{ count: number }>(
    `select count(*)::int as count from jobs where callback_status = 'pending'`,
  );
  return { jobs: jobs.rows, events: events.rows[0]?.count ?? 0 };
}

/** A process that is started again whenever it ends, until it is stopped. */
async function supervised(mode: 'server' | 'worker', env: Record<string, string>) {
  let output = '';
  const stopping = new AbortController();
  const start = () => startProgram({ args: [`--mode=${mode}`], env, waits: false });
  let current = await start();
  const supervise = async () => {
    while (!stopping.signal.aborted) {
      await current.ended;
      output += current.output();
      if (!stopping.signal.aborted) current = await start();
    }
  };
  const supervising = supervise();
  const end = async () => {
    const { pid, ended, signal } = current;
    if (isAlive(pid)) signal('SIGTERM');
    await ended;
  };
  return {
    url: () => current.url,
    output: () => output + current.output(),
    /** Ends it; it is started again. */
    restart: end,
    async stop(): Promise<void> {
      stopping.abort();
      await end();
      await supervising;
      // One that was just started.
      await end();
    },
  };
}

async function openReceiver() {
  const deliveries: Delivery[] = [];
  const receive = async (request: IncomingMessage, response: ServerResponse) => {
    deliveries.push({ id: String(request.headers['webhook-id']), body: await bodyOf(request) });
    response.writeHead(204).end();
  };
  const receiver = createServer((request, response) => void receive(request, response));
  receiver.listen(0, '127.0.0.1');
  await once(receiver, 'listening');
  return {
    deliveries,
    url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
    close: () => receiver.close(),
  };
}

async function bodyOf(request: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of request) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString('utf8');
}
